"""Whatever a model writes, every command prints it as it is, and none of it reaches the terminal as an order."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
import termios
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from infogain import Trace, Vocabulary
from infogain.cli import main
from infogain.cli.demo_live import compare_live
from infogain.cli.progress import watch
from infogain.cli.terminal import Terminal, harmless
from infogain.evals.runs import ITEMS, list_runs
from infogain.load import load, zoo_folder
from infogain.models import FullCanvas
from infogain.models.toys import toy
from infogain.text.alphabet import EOS, MASK, Alphabet
from infogain.text.text_model import TextModel
from tests.e2e.test_cli import ok, refused, run

WRITTEN = (
    "x[1:100:2] [bold]a[/bold] :smile: [/] \\[b] {task} "
    "\x1b[35;7mred\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://e.org\x1b\\\x9b2J\x08\x08\r\x7f \u202etxt.exe\u2066 end"
)
GIVEN, FAKE = "?", "fake"
ODD = "a[1:100:2] [b] :smile: \x1b[35;7m\x9b2J\u202e"  # a name that somebody chose
WIDE = {"COLUMNS": "400", "LINES": "30", "TERM": "xterm-256color"}
DECODED = ("--length", str(len(WRITTEN)), "--sampler", "entropy", "-k", "16")


class Words(Alphabet):
    """One token for each character of what is written, with a chat template."""

    chats = True

    def chat(self, messages: Any) -> list[int]:
        return self.encode(GIVEN)


def scripted(given: str = GIVEN) -> TextModel:
    """A model that is sure of writing what is WRITTEN, behind what is given."""
    words = Words("".join(sorted({*WRITTEN, *GIVEN, *"0123456789", MASK, EOS})))
    target = torch.tensor(words.encode(given + WRITTEN + EOS))

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        columns = target[: tokens.shape[1]]
        return 30.0 * torch.nn.functional.one_hot(columns, len(words)).expand(len(tokens), -1, -1)

    return TextModel(FullCanvas(network, Vocabulary(len(words), words.mask_id)), words)


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models and toys that commands find, and a wide window."""
    fake = toy("fake", "a toy", [WRITTEN], [MASK * len(WRITTEN)])
    for place in ("toy", "saved_trace"):
        monkeypatch.setattr(f"infogain.cli.{place}.load_toy", lambda name: fake)
    monkeypatch.setattr(
        "infogain.cli.model.load", lambda name, **how: scripted() if name in (FAKE, ODD) else load(name, **how)
    )
    for name, value in WIDE.items():
        monkeypatch.setenv(name, value)


def on_terminal(command: Callable[[], object], monkeypatch: pytest.MonkeyPatch, typed: str = "") -> str:
    """What the command sends to a real pseudo-terminal."""
    here, there = pty.openpty()
    settings = termios.tcgetattr(there)
    settings[1] &= ~termios.OPOST  # newlines come out as they are
    termios.tcsetattr(there, termios.TCSANOW, settings)
    parts: list[bytes] = []
    reader = threading.Thread(target=lambda: parts.extend(iter(lambda: _read(here), b"")))
    reader.start()
    with open(there, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stdin", StringIO(typed))
        command()
    reader.join()
    os.close(here)
    return b"".join(parts).decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # what Linux says when the other side is closed
        return b""


def called(*arguments: object) -> Callable[[], object]:
    return lambda: main([str(a) for a in arguments], standalone_mode=False)


OURS = re.compile(r"\x1b\[(?!35;7m)[0-9;]*m|\r?\x1b\[\??[0-9]*[AKhl]|\r$")  # rich's colours, and moves of the cursor


def assert_harmless(output: str, text: str = WRITTEN) -> None:
    """Nothing but our own colours steers, and the text is there, sign for sign, however lines were broken."""
    plain = OURS.sub("", output)
    assert plain == harmless(plain)
    assert squeezed(harmless(text)) in squeezed(plain)
    assert "💯" not in output
    assert "😄" not in output


def squeezed(text: str) -> str:
    return "".join(text.split())


def edited_run(folder: Path) -> str:
    """A run of one text, which is WRITTEN everywhere a run holds words of others."""
    ok("eval", "zoo:countdown", "--limit", 1, "--seeds", 1, "--sampler", "entropy", "--runs", folder)
    (found,) = list_runs(folder)
    line = json.loads((found.folder / ITEMS).read_text())
    line |= dict.fromkeys(("prompt", "text", "answer", "gold", "note"), WRITTEN)
    line["key"]["item"] = WRITTEN
    (found.folder / ITEMS).write_text(json.dumps(line) + "\n")
    return found.name


def traced(folder: Path) -> Path:
    path = folder / "t.jsonl"
    ok("toy", "fake", "--count", 1, "-k", 16, "--quiet", "--trace", path)
    return path


def strange_checkpoint(folder: Path) -> Path:
    """Whose alphabet is what is WRITTEN."""
    for name in ("config.json", "alphabet.json"):
        (folder / name).write_text((zoo_folder("tiny-reason") / name).read_text())
    signs = "".join(dict.fromkeys(WRITTEN + MASK + EOS))
    (folder / "alphabet.json").write_text(json.dumps({"characters": signs}))
    return folder


def fake_duel(folder: Path) -> Callable[[], object]:
    task = SimpleNamespace(
        problems=lambda *_: [SimpleNamespace(canvas=MASK * len(WRITTEN))], check=lambda problem, text: text == WRITTEN
    )

    def play() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("infogain.cli.demo_live.load_task", lambda name: task)
            patch.setattr("infogain.cli.demo_live.K", {"oneway": 16})
            compare_live(Terminal(), SimpleNamespace(zoo=scripted("")), 0)  # type: ignore[arg-type]

    return play


Case = Callable[[Path], Callable[[], object]]
CASES: dict[str, Case] = {
    "generate": lambda _: called("generate", GIVEN, "-m", FAKE, *DECODED),
    "infill": lambda _: called("infill", f"{GIVEN}[MASK:{len(WRITTEN)}]", "-m", FAKE, "--sampler", "entropy", "-k", 16),
    "chat": lambda _: called("chat", "-m", FAKE, *DECODED),
    "compare": lambda _: called("compare", GIVEN, "-m", FAKE, "--samplers", "entropy,margin", *DECODED[:2], "-k", 16),
    "toy": lambda _: called("toy", "fake", "--count", 1, "-k", 16, "--delay", 0),
    "replay": lambda folder: called("replay", traced(folder), "--toy", "fake", "--delay", 0),
    "results": lambda folder: called("results", edited_run(folder), "--limit", 1, "--runs", folder),
    "inspect": lambda folder: called("inspect", strange_checkpoint(folder)),
    "demo": fake_duel,
}
SAY_NO_TEXT = {
    "view",
    "eval",
    "drift",
    "study",
    "reproduce",
    "bench",
    "samplers",
    "recipe",
    "frequencies",
    "judge",
    "molecules",
    "image",
    "image-scores",
    "geneval",
    "serve",
}


def test_every_command_is_here() -> None:
    assert {*CASES} | SAY_NO_TEXT == {*main.commands}
    assert not {*CASES} & SAY_NO_TEXT


@pytest.mark.parametrize("name", CASES)
def test_on_a_terminal_a_text_is_shown_as_it_is(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = CASES[name](tmp_path)
    expected = "".join(dict.fromkeys(WRITTEN)) if name == "inspect" else WRITTEN
    assert_harmless(on_terminal(command, monkeypatch, f"{GIVEN}\n/exit\n"), expected)


@pytest.mark.parametrize("name", sorted({*CASES} - {"generate", "infill"}))  # whose pipes hold JSON
def test_so_it_is_in_a_pipe(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = CASES[name](tmp_path)
    out = StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stdin", StringIO(f"{GIVEN}\n/exit\n"))
    command()
    expected = "".join(dict.fromkeys(WRITTEN)) if name == "inspect" else WRITTEN
    assert "\x1b" not in out.getvalue()
    assert_harmless(out.getvalue(), expected)


def test_narrow_comparisons_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert_harmless(on_terminal(CASES["compare"](Path()), monkeypatch))


def test_json_in_a_pipe_is_exact() -> None:
    (line,) = ok("generate", GIVEN, "-m", FAKE, *DECODED).splitlines()
    assert json.loads(line)["text"] == WRITTEN
    holes = f"{GIVEN}[MASK:{len(WRITTEN)}]"
    (line,) = ok("infill", holes, "-m", FAKE, "--sampler", "entropy", "-k", 16).splitlines()
    assert json.loads(line)["text"] == GIVEN + WRITTEN


def test_a_trace_holds_what_was_written(tmp_path: Path) -> None:
    signs = toy("fake", "", [WRITTEN], []).alphabet
    assert "".join(signs[token] for token in Trace.load(traced(tmp_path)).rows[0]) == WRITTEN


def test_names_of_files_are_said_as_they_are(tmp_path: Path) -> None:
    """Names that others chose are harmless also in errors and in commands that print no text of a model."""
    trace = traced(tmp_path)
    for shown in (
        ok("view", trace, "--out", tmp_path / f"{ODD}.html"),
        ok("eval", "zoo:countdown", "--limit", 1, "--seeds", 1, "--sampler", "entropy", "--runs", tmp_path / ODD),
        ok("toy", "fake", "--count", 1, "--quiet", "--trace", tmp_path / f"{ODD}.jsonl"),
        run("generate", GIVEN, "-m", FAKE, *DECODED, "--out", tmp_path / f"{ODD}.out").stderr,
        refused("replay", tmp_path / f"{ODD}.html"),
    ):
        assert_harmless(shown, ODD)


def test_what_is_being_loaded_is_said_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("generate", GIVEN, *DECODED, "-m", ODD, env={**WIDE, "FORCE_COLOR": "1"}).stderr
    assert_harmless(shown, f"loading {ODD}")


def test_progress_says_words_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", shown := StringIO())
    with watch(3, ODD):
        pass
    assert_harmless(shown.getvalue(), ODD)
