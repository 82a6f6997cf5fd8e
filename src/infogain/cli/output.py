"""Files that commands write: whether they can be is found out before the work, and none is replaced unasked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from infogain.errors import InputError

OVERWRITE = click.option("--overwrite", is_flag=True, help="replace files that exist")


def check_file(path: Path | None, overwrite: bool = True) -> None:
    if path and not path.parent.is_dir():
        raise InputError(f"a file to write needs a folder that exists; {path.parent} is none. Make it first.")
    if path:
        _keep([path], overwrite)


def make_folder(folder: Path | None, names: Iterable[str], overwrite: bool) -> None:
    """A folder for files of these names."""
    if folder:
        _keep([folder / name for name in names], overwrite)
        folder.mkdir(parents=True, exist_ok=True)


def _keep(paths: list[Path], overwrite: bool) -> None:
    if not overwrite and (held := [path for path in paths if path.exists()]):
        raise InputError(f"{held[0]} exists, and what it holds would be lost. Name another place, or add --overwrite.")
