"""Lines typed at a terminal: edited, and remembered from one session to the next."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from infogain.cli.line_editor import remembered, state_file

pytest.importorskip("readline")

TWO_SESSIONS = """
import readline, sys
from pathlib import Path
from infogain.cli.line_editor import remembered
for session in range(2):
    readline.clear_history()
    with remembered(Path(sys.argv[1])):
        for _ in range(2):
            print("said", repr(input("> ")))
"""
LEFT, UP = "\x1b[D", "\x1b[A"


def on_terminal(typed: list[str], *arguments: str) -> str:
    """What a program says that is run in a terminal, where each text is typed once the last one was answered."""
    here, there = pty.openpty()
    call = [sys.executable, "-c", TWO_SESSIONS, *arguments]
    with subprocess.Popen(call, stdin=there, stdout=there, env={**os.environ, "TERM": "xterm"}) as program:
        os.close(there)
        shown = b""
        for text in typed:
            while not shown.endswith(b"> "):
                shown += os.read(here, 1024)
            os.write(here, text.encode() + b"\r")
            shown += b"\n"
        program.wait(timeout=60)
        while shown.count(b"said") != len(typed):
            shown += os.read(here, 1024)
    os.close(here)
    return shown.decode()


def test_lines_are_edited_and_remembered_across_sessions(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "history"
    typed = [f"helo{LEFT}l", UP, f"{UP}{UP}!", f"{UP}{UP}"]
    shown = on_terminal(typed, str(kept))
    assert [line.split("said ")[1].strip() for line in shown.splitlines() if "said " in line] == [
        *["'hello'"] * 2,
        "'hello!'",
        "'hello'",
    ]
    assert kept.read_text().splitlines() == ["hello", "hello!", "hello"]
    assert kept.stat().st_mode & 0o077 == 0, "nobody else reads it"


def test_what_is_piped_in_is_not_kept(tmp_path: Path) -> None:
    with remembered(tmp_path / "history"):
        pass  # pytest's standard input is no terminal
    assert not (tmp_path / "history").exists()


def test_without_readline_lines_are_read_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "readline", None)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    with remembered(tmp_path / "history"):
        pass
    assert not (tmp_path / "history").exists()


def test_a_history_that_cannot_be_kept_is_said_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for path in (tmp_path / "file" / "history", tmp_path):
        with remembered(path):
            pass
        assert "is not remembered: " in capsys.readouterr().err


def test_state_has_its_own_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_file("x") == tmp_path / "infogain" / "x"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_file("x") == tmp_path / ".local" / "state" / "infogain" / "x"
