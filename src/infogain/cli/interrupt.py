"""Ctrl-C in a command that keeps what it has finished: it says so before it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infogain.cli.terminal import say


@contextmanager
def resumable(kept: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, tell what is kept, as `kept` then finds it, and that the same command goes on from there."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\ninterrupted. Kept: {kept()}. The same command goes on from there.", err=True)
        raise
