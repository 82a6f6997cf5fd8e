"""Progress on the error stream, so that the output can be piped: a bar, or lines where nobody watches a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from infogain.cli.terminal import Terminal, literal
from infogain.loop.batch import Observer
from infogain.loop.step import StepEvent

PAUSE = 10.0  # seconds between two lines


class Lines(Progress):
    """Progress for a log: a line every ten seconds with what a bar would say."""

    def __init__(self, *columns: ProgressColumn, console: Console) -> None:
        super().__init__(*(x for x in columns if not isinstance(x, BarColumn)), console=console, disable=True)
        self._said = time.monotonic()

    def update(self, *task: Any, **changes: Any) -> None:
        super().update(*task, **changes)
        self._say()

    def advance(self, *task: Any) -> None:
        super().advance(*task)
        self._say()

    def _say(self) -> None:
        if time.monotonic() - self._said >= PAUSE:
            self._said = time.monotonic()
            self.console.print(self.get_renderable())


class Label(ProgressColumn):
    """A column with fixed words or, without any, with what the task is said to be doing."""

    def __init__(self, words: str | None = None) -> None:
        super().__init__(Column(no_wrap=True))
        self.words = words

    def render(self, task: Task) -> Text:
        return literal(task.description if self.words is None else self.words)


def bar(*columns: ProgressColumn, console: Console | None = None) -> Progress:
    """A progress bar, as a context manager; it vanishes at the end. What is printed meanwhile is left alone."""
    console = console or Terminal(stderr=True)
    if console.is_terminal:
        return Progress(*columns, console=console, transient=True, redirect_stdout=False)
    return Lines(*columns, console=console)


@contextmanager
def watch(tokens: int, title: str = "decoding") -> Iterator[Observer]:
    """Gives an observer that moves the bar by the tokens written; decodes may follow each other."""
    columns = (Label(title), BarColumn(), MofNCompleteColumn(), Label("tokens"), TimeRemainingColumn())
    with bar(*columns) as progress:
        task = progress.add_task("", total=tokens)
        before, now = 0, 0

        def observe(event: StepEvent) -> None:
            nonlocal before, now
            if event.step == 0:  # a new decode
                before += now
            now = event.done
            progress.update(task, completed=before + now)

        yield observe
