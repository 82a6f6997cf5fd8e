"""Lines that people type: edited as in a shell, and remembered for the next time, where the system has readline."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infogain.cli.terminal import say

MOST = 1000  # lines that are kept


def state_file(name: str) -> Path:
    """The path of a file that outlives a session: in $XDG_STATE_HOME, or in ~/.local/state."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "infogain" / name


@contextmanager
def remembered(path: Path) -> Iterator[None]:
    """Inside, `input` has the lines of earlier sessions behind the arrow keys; what is piped in is not kept."""
    try:
        import readline
    except ImportError:  # Windows has none: lines are read plainly
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    readline.set_history_length(MOST)
    with _without_fail():
        if path.exists():
            readline.read_history_file(path)
    try:
        yield
    finally:
        with _without_fail():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # what was said is nobody else's
            readline.write_history_file(path)


@contextmanager
def _without_fail() -> Iterator[None]:
    """A history that cannot be read or kept is no reason to end a talk."""
    try:
        yield
    except OSError as error:
        say(f"note: what is typed is not remembered: {error}", err=True)
