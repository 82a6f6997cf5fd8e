"""The processor's time decides what the sandbox says of a program, and its cores how many run at once."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infogain import sandbox
from infogain.sandbox import cores, run_code, run_many
from tests.processes import descendants, started_since, wait_until

from .test_sandbox import AMPLE, LIMIT, nothing_is_left, run, walled  # noqa: F401

BURN = """
import os, time
def burn(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds: pass
"""


@walled
def test_a_program_that_has_to_wait_for_the_processor_is_judged_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "PATIENCE", 60)
    assert sandbox.ready() is None
    before = set(descendants(os.getpid()))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_code, BURN + f"burn({LIMIT / 2})", time_limit=LIMIT)
        assert wait_until(lambda: len(started_since(before)) >= 3, AMPLE)
        program = started_since(before)[2]
        os.kill(program, signal.SIGSTOP)  # as if others had taken every core
        time.sleep(2 * LIMIT)
        os.kill(program, signal.SIGCONT)
        assert running.result().ok


@walled
@pytest.mark.parametrize(
    ("program", "tests"),
    [
        (f"burn({1.5 * LIMIT})", ""),
        (f"for _ in range(3):\n if os.fork() == 0: burn({LIMIT / 2}); os._exit(0)\n os.wait()", ""),
        (f"for _ in range(3):\n if os.fork() == 0: burn({LIMIT / 2}); os._exit(0)\nburn({LIMIT / 2})", ""),
        ("", f"{BURN}burn({1.5 * LIMIT})"),
    ],
    ids=["the program", "children that it waited for", "children that go on beside it", "the tests"],
)
def test_time_of_the_processor_has_a_limit_whoever_uses_it(program: str, tests: str) -> None:
    assert run(BURN + program, tests, LIMIT).status == "timeout"


@walled
def test_a_program_that_sleeps_must_wake_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "PATIENCE", 60)
    assert run(f"import time; time.sleep({1.5 * LIMIT})", "", LIMIT).ok
    monkeypatch.setattr(sandbox, "PATIENCE", 2)
    assert run("import time; time.sleep(1000)", "", LIMIT).status == "timeout"


@pytest.mark.parametrize(
    ("group", "files", "quota"),
    [
        ("0::/a/b", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, [1.5]),
        ("0::/outside", {"cpu.max": "300000 100000"}, [3.0]),
        (
            "4:cpu,cpuacct:/a",
            {"cpu/a/cpu.cfs_quota_us": "50000", "cpu/a/cpu.cfs_period_us": "100000"},
            [0.5],
        ),
        ("4:cpu:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, []),
        ("7:memory:/a\n0::/", {"memory/a/cpu.max": "1 1"}, []),
    ],
)
def test_workers_are_no_more_than_a_control_group_pays_for(
    group: str, files: dict[str, str], quota: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "group").write_text(group + "\n")
    assert sorted(set(cores.quotas(tmp_path / "group", tmp_path))) == quota
    monkeypatch.setattr(cores, "GROUPS", tmp_path / "group")
    monkeypatch.setattr(cores, "MOUNTED", tmp_path)
    for allowed in (1, 2, 8):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, allowed=allowed: set(range(allowed)))
        assert cores.usable_cores() == max(1, int(min([allowed, *quota])))


def test_programs_run_on_the_cores_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pool(workers: int) -> ThreadPoolExecutor:
        asked.append(workers)
        return ThreadPoolExecutor(workers)

    monkeypatch.setattr(sandbox, "usable_cores", lambda: 3)
    monkeypatch.setattr(sandbox, "ThreadPoolExecutor", pool)
    run_many([])
    run_many([], 5)
    assert asked == [3, 5]
