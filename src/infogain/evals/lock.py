"""One writer at a time."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from infogain.errors import InputError


def lock(file: IO[Any], work: Path) -> None:
    """Keep other processes of ours off until the file is closed; the system closes it when a process dies.

    work  what is written, as the refused one is told: the file itself, or the folder it stands for
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(f"one process writes at a time; another is at work on {work}. Wait for it to end.") from error
