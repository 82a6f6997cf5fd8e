"""The names of ImageNet's 1,000 classes as prompts: torchvision's where it is installed, or those of a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from infogain.errors import InputError

CLASSES = 1000


def imagenet_names(path: str | Path | None = None) -> list[str]:
    """The names of all classes in ImageNet's order: one per line of a file, or torchvision's where none is given."""
    names = _from_file(Path(path)) if path else _from_torchvision()
    if len(names) != CLASSES or not all(names):
        raise InputError(
            f"there must be {CLASSES} names of ImageNet's classes, one per line in the order of their numbers, none of "
            f"them empty; {path or 'torchvision'} has {sum(map(bool, names))} in {len(names)} lines."
        )
    return names


def _from_file(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be a text file with one name per line; it cannot be read: {error}.") from error


def _from_torchvision() -> list[str]:
    try:
        return list(import_module("torchvision.models._meta")._IMAGENET_CATEGORIES)
    except (ModuleNotFoundError, AttributeError) as error:
        raise InputError(
            "names of ImageNet's classes come from torchvision, which is not installed or has none. Install it, or "
            "give a file with one name per line."
        ) from error
