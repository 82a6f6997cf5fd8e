"""Checks on files that commands write: made before the work begins, so that nothing is replaced unasked or lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from infogain.errors import InputError
from infogain.evals.run_comparison import flat
from infogain.options import Plain

OVERWRITE = click.option("--overwrite", is_flag=True, help="replace files that exist")


def check_file(path: Path | None, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that is there and may not be replaced."""
    check_folder_of(path)
    if path:
        _keep([path], overwrite)


def check_folder_of(path: Path | None) -> None:
    """Refuse a file whose folder does not exist; the file itself may be there."""
    if path and not path.parent.is_dir():
        raise InputError(f"a file to write needs a folder that exists; {path.parent} is none. Make it first.")


def make_folder(folder: Path | None, names: Iterable[str], overwrite: bool) -> None:
    """Make a folder for files of these names; refuse it if one of them is there."""
    if folder:
        _keep([folder / name for name in names], overwrite)
        folder.mkdir(parents=True, exist_ok=True)


def check_record(path: Path, about: Plain, overwrite: bool) -> None:
    """Refuse to replace a JSON record that is `about` something else; one of the same question may be made anew."""
    if overwrite or not path.exists():
        return
    try:
        held = json.loads(path.read_bytes())
    except ValueError:
        raise would_be_lost(path) from None
    there, now = flat({name: held.get(name) for name in about}), flat(about)
    if other := [name for name in {**now, **there} if now.get(name) != there.get(name)]:
        raise would_be_lost(path, f"it is of another {other[0]}")


def would_be_lost(path: Path, why: str = "") -> InputError:
    """The error of a file that is in the way; `why` it is not what the command would go on with."""
    reason = f" ({why})" if why else ""
    return InputError(
        f"{path} exists, and what it holds would be lost{reason}. Name another place, or add --overwrite."
    )


def _keep(paths: list[Path], overwrite: bool) -> None:
    if not overwrite and (held := [path for path in paths if path.exists()]):
        raise would_be_lost(held[0])
