"""Progress: a bar for people, lines for logs."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from infogain.cli import progress
from infogain.cli.progress import bar

COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())


def told(terminal: bool) -> str:
    console = Console(file=StringIO(), force_terminal=terminal, width=60)
    with bar(*COLUMNS, console=console) as shown:
        task = shown.add_task("reading", total=3)
        shown.advance(task)
        shown.update(task, description="writing", completed=3)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(terminal=False) == ""
    monkeypatch.setattr(progress, "PAUSE", 0)
    assert [line.rstrip() for line in told(terminal=False).splitlines()] == ["reading 1/3", "writing 3/3"]


def test_a_terminal_gets_a_bar_that_goes_when_all_is_done() -> None:
    shown = told(terminal=True)
    assert "━" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")
