"""Every hostile program, in each set-up that this machine allows: none passes, none breaks out, nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.processes import adopt_orphans

from .attacks import ATTACKS, STAYERS
from .attempts import ATTEMPTS, PRINTS, READS, program
from .drive import KEYCTL, SECRET, SESSION_KEYRING
from .kills import OURS, dies_with
from .lies import FORGED_TESTS, FORGER, FORGERIES, LIES, RIGHT, TESTS

PYTHON = os.path.realpath(sys.executable)
SETUPS = ("root", "user", "no user namespaces")
SHORT, AMPLE = 1.0, 10.0  # seconds of the processor
LIE_TESTS = TESTS + "import math\nassert all([math.isclose(double(1), 2)])"
CROWD = """
import os, time
def double(x):
    for _ in range(6):
        if os.fork() == 0: time.sleep(20)
    time.sleep(2)
    return 2 * x
"""
# Asked by the tests, which no filter keeps from asking.
KEYRING = f"""
import ctypes
call = [ctypes.c_long(word) for word in ({KEYCTL}, 10, {SESSION_KEYRING})]
assert ctypes.CDLL(None).syscall(*call, b"user", b"{SECRET}", ctypes.c_long(0)) < 0
"""
# What a program is, its tests, and its seconds of the processor.
Job = tuple[str, str, float]
FAMILIES: dict[str, dict[str, Job]] = {
    "honest": {"is right": (RIGHT, TESTS, AMPLE), "has a keyring of its own": (RIGHT, KEYRING, AMPLE)},
    "crowd": {f"uses its processes, {n}": (CROWD, "assert double(2) == 4", AMPLE) for n in range(4)},
    "lie": {name: (textwrap.dedent(text), LIE_TESTS, AMPLE) for name, text in LIES.items()},
    "forgery": {name: (FORGER + text, FORGED_TESTS, SHORT) for name, text in FORGERIES.items()},
    "attack": {
        name: (textwrap.dedent(text), TESTS, SHORT if status == "timeout" else AMPLE)
        for name, (text, status) in ATTACKS.items()
    },
    "stayer": {name: (text, TESTS, SHORT) for name, text in STAYERS.items()},
    "attempt": {name: (program(text), TESTS, AMPLE) for name, text in ATTEMPTS.items()},
    "reader": {name: (program(text), PRINTS + TESTS, AMPLE) for name, text in READS.items()},
}
JOBS = {(family, name): job for family, jobs in FAMILIES.items() for name, job in jobs.items()}
HOSTILE = [key for key in JOBS if key[0] not in ("honest", "crowd")]


def drive(folder: Path, setup: str, jobs: list[Job], *python: str) -> dict[str, Any]:
    command = [*python, "-S", "-m", "tests.sandbox.drive", str(folder), setup]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, cwd=folder, timeout=900)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@cache
def answers(folder: Path, setup: str) -> dict[str, Any]:
    return drive(folder, setup, list(JOBS.values()), PYTHON)


def outcome(folder: Path, setup: str, key: tuple[str, str]) -> dict[str, Any]:
    answer = answers(folder, setup)
    if "absent" in answer:
        pytest.skip(f"set-up {setup!r}: {answer['absent']}")
    found: dict[str, Any] = answer["outcomes"][list(JOBS).index(key)]
    return found


@pytest.mark.parametrize("setup", SETUPS)
def test_the_walls_stand_and_an_honest_program_passes(folder: Path, setup: str) -> None:
    for name in FAMILIES["honest"]:
        assert outcome(folder, setup, ("honest", name))["ok"], outcome(folder, setup, ("honest", name))
    assert answers(folder, setup)["ready"] is None
    assert (answers(folder, setup)["user"] == 0) == (setup != "user")


@pytest.mark.parametrize("key", HOSTILE, ids="-".join)
@pytest.mark.parametrize("setup", SETUPS)
def test_a_hostile_program_fails(folder: Path, setup: str, key: tuple[str, str]) -> None:
    found = outcome(folder, setup, key)
    assert not found["ok"]
    family, name = key
    if family == "attack":
        assert found["status"] == ATTACKS[name][1], found
    if family in ("attempt", "reader"):  # it ran to its end, and was refused
        assert found["status"] == "failed", found
        assert "AssertionError" in found["stderr_tail"], found


@pytest.mark.parametrize("setup", SETUPS)
def test_each_run_has_its_own_processes(folder: Path, setup: str) -> None:
    for key in JOBS:
        if key[0] == "crowd":
            assert outcome(folder, setup, key)["ok"], outcome(folder, setup, key)


@pytest.mark.parametrize("setup", SETUPS)
def test_nothing_is_left_of_any_program(folder: Path, setup: str) -> None:
    outcome(folder, setup, ("honest", "is right"))
    assert answers(folder, setup)["left"] == []


def test_the_battery_is_large() -> None:
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("who", OURS)
def test_nothing_outlives_any_process_of_ours(folder: Path, setup: str, who: str) -> None:
    outcome(folder, setup, ("honest", "is right"))
    adopt_orphans()
    try:
        assert dies_with(who, [PYTHON, "-S", "-m", "tests.sandbox.caller", str(folder), setup], folder)
    finally:
        adopt_orphans(False)


def test_a_python_below_the_hidden_folder_works(folder: Path, python_in_tmp: Path) -> None:
    answer = drive(folder, "as it is", [(RIGHT, "import decimal\n" + TESTS, AMPLE)], str(python_in_tmp))
    assert answer["ready"] is None
    assert answer["outcomes"][0]["ok"], answer


def test_a_python_that_lacks_what_programs_import_is_refused(folder: Path, python_in_tmp: Path) -> None:
    next(python_in_tmp.parents[1].glob("lib/python*/decimal.py")).unlink()
    answer = drive(folder, "as it is", [(RIGHT, TESTS, AMPLE)], str(python_in_tmp))
    assert "No module named 'decimal'" in answer["ready"]
    assert f"{python_in_tmp.parents[1]}/lib" in answer["error"]


@pytest.mark.skipif(not shutil.which("setarch"), reason="setarch is not installed")
def test_a_machine_without_a_filter_is_refused(folder: Path) -> None:
    answer = drive(folder, "as it is", [(RIGHT, TESTS, AMPLE)], "setarch", "linux32", PYTHON)
    assert "seccomp: there is a filter for" in answer["ready"]
    assert not answer["outcomes"]


def test_a_user_without_namespaces_is_refused(folder: Path) -> None:
    answer = drive(folder, "user without namespaces", [(RIGHT, TESTS, AMPLE)], PYTHON)
    if "absent" in answer:
        pytest.skip(answer["absent"])
    assert "unshare" in answer["ready"]
    assert "--allow-unsafe" in answer["error"]
    assert not answer["outcomes"]
