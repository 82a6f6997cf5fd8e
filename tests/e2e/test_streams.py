"""Standard streams that are closed, full or not UTF-8, and Ctrl-C: one clear line at most, and a status that fits."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.test_cli import run

START = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
class Interrupting:
    def find_spec(self, name, *_):
        if name == "torch":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = [{program!r}, "samplers"]
{starts}
"""
COMMAND, LIBRARY = "from infogain.cli import main; main()", "import infogain; infogain.decode"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("starts", [COMMAND, LIBRARY])
def test_ctrl_c_while_the_command_starts_ends_it_without_a_word(starts: str) -> None:
    done = python("-c", START.format(program="/usr/local/bin/infogain", starts=starts))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_is_an_exception_to_programs_that_import_us() -> None:
    assert "KeyboardInterrupt" in python("-c", START.format(program="train.py", starts=LIBRARY)).stderr


STARTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["infogain"]
from infogain.cli import main
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
main.get_command(main.make_context("infogain", ["samplers"]), "samplers")
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_a_command_that_is_imported_answers_ctrl_c_itself() -> None:
    assert python("-c", STARTED).stdout == "False\nTrue\n"


def test_ctrl_c_in_a_bench_says_where_the_finished_cases_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(bench: object, cases: object, suite: object, out: Path, tell: object) -> None:
        (out / "bench.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr("infogain.cli.bench.run_cases", some)
    result = run("bench", "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == f"\ninterrupted. Kept: the cases that were done, in {tmp_path / 'bench.json'}.\n"


ENDS = """
import os, sys
from infogain.cli import main
imported = dict(main.commands)  # once, for all children

def closed():
    os.close(1)
    sys.stdout = None  # as Python itself does

def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

def broken():
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)

for end in (closed, full, broken):
    for command in ("samplers", "recipe", "--help", "--version"):  # by way of rich, without it, while it is parsed
        if (child := os.fork()) == 0:
            end()
            main([command])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(end.__name__, command, status, file=sys.stderr, flush=True)
"""


PRINTING = ("samplers", "recipe", "--help", "--version")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_an_output_that_takes_nothing_ends_a_command_quietly() -> None:
    nowhere = "error: the standard output must be open; it is closed. Send it to a file, or to /dev/null.\n"
    no_space = "error: a file could not be read or written: [Errno 28] No space left on device\n"
    expected = ""
    for end, status, said in (("closed", 2, nowhere), ("full", 2, no_space), ("broken", 141, "")):
        expected += "".join(f"{said}{end} {command} {status}\n" for command in PRINTING)
    assert python("-c", ENDS).stderr == expected


@pytest.mark.parametrize("command", [("generate", "C93,3,63=33:", "--length", "22"), ("infill", "S1[MASK:15]")])
def test_what_is_sent_to_a_file_arrives_beside_a_bar_on_a_terminal(command: Sequence[str], tmp_path: Path) -> None:
    """As a person would redirect it: only the error stream is a terminal."""
    here, there = pty.openpty()
    reader = threading.Thread(target=lambda: list(iter(lambda: _read(here), b"")))
    reader.start()
    with (tmp_path / "texts.jsonl").open("wb") as file:
        arguments = [sys.executable, "-m", "infogain", *command, "--sampler", "entropy"]
        subprocess.run(arguments, stdout=file, stderr=there, timeout=120, check=True)
    os.close(there)
    reader.join()
    os.close(here)
    (line,) = (tmp_path / "texts.jsonl").read_text().splitlines()
    assert json.loads(line)["number"] == 0


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed
        return b""
