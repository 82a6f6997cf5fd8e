"""A progress bar over a job's tokens, on the error stream, so that the output can be piped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from infogain.decode import Observer
from infogain.trace import StepEvent


@contextmanager
def watch(tokens: int, title: str = "decoding") -> Iterator[Observer]:
    """Gives an observer that moves the bar by the tokens written; decodes may follow each other."""
    console = Console(stderr=True)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("tokens"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=tokens)
        before, now = 0, 0

        def observe(event: StepEvent) -> None:
            nonlocal before, now
            if event.step == 0:  # a new decode
                before += now
            now = event.done
            progress.update(task, completed=before + now)

        yield observe
