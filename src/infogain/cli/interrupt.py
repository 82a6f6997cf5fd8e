"""Ctrl-C: a command says what has become of its work, and ends with the status that shells give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from click.exceptions import Exit

from infogain.cli.terminal import say

STATUS = 130  # 128 + SIGINT


@contextmanager
def on_interrupt(said: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, say what has become of the work so far."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\ninterrupted. {said()}".rstrip(), err=True)
        raise Exit(STATUS) from None


def resumable(kept: Callable[[], str]) -> AbstractContextManager[None]:
    """On Ctrl-C, tell what is kept, as `kept` then finds it, and that the same command goes on from there."""
    return on_interrupt(lambda: f"Kept: {kept()}. The same command goes on from there.")
