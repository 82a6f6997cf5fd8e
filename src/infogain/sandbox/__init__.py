"""Run programs that nobody has read: each in a process of its own, isolated, and gone without a trace afterwards."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from infogain.errors import InputError, SandboxError
from infogain.sandbox.cores import usable_cores

TIME_LIMIT = 10.0  # seconds of the processor
PATIENCE = 5  # seconds by the clock for each of the processor: other work on the machine must not decide
MEMORY_MB = 1024
GRACE = 10.0  # seconds to put up walls and take them down, before the process is given up
START = "import sys; sys.path.insert(0, sys.argv[1]); from jail.main import main; del sys.path[0]; main(*sys.argv[2:])"
PYTHON = [sys.executable, "-s", "-S", "-P", "-X", "utf8", "-c", START, str(Path(__file__).parent)]
ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # a verdict must not hang on the order of a set; gone before the program starts
# What programs of the benchmarks need, C extensions among it: a Python that lies where the walls hide it has none.
MODULES = "bisect, collections, datetime, decimal, functools, hashlib, heapq, itertools, json, math, random, re, string"
# Root of a namespace with one user only is still root to the kernel, which then counts no processes; and kernels that
# count those of other runs and of the user's own work leave a program none.
PROBE = f"""
import os, signal
import {MODULES}
def forks():
    for count in range(32):
        try:
            if os.fork() == 0:
                signal.pause()
        except OSError:
            return count
    return 32
"""
PROOF = (
    "count = forks()\nassert 0 < count < 32, f'each program needs a process limit of its own; it could start {count}'"
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of running a program.

    ok           the tests ran to their end
    status       passed; failed, timeout or memory; ended: it left before the tests did; output: it printed too much;
                 killed: the whole process was, from outside
    seconds      by the clock, from start to end, walls included
    stderr_tail  the last of what it printed, and of the exception
    """

    ok: bool
    status: str
    seconds: float
    stderr_tail: str


def run_code(
    program: str,
    tests: str = "",
    *,
    time_limit: float = TIME_LIMIT,
    memory_mb: int = MEMORY_MB,
    unsafe: bool = False,
) -> Outcome:
    """Run a program nobody trusts, then tests that are trusted, which call its functions by their names.

    The two live in two processes; arguments and results are copied between them, so that a function is judged by what
    it returns. Without tests, a program that comes to its end has passed.

    time_limit  seconds of the processor, for the program with all it starts and again for the tests; by the clock it
                may take PATIENCE times as long, so that other work on the machine does not decide
    memory_mb   for each process
    unsafe      where the kernel refuses the walls, run without them
    """
    _check(time_limit, memory_mb)
    outcome = _run(program, tests, time_limit, memory_mb, walled=has_walls(unsafe))
    if outcome.status == "refused":  # no verdict on the program
        raise SandboxError(
            f"a program could not be started: {outcome.stderr_tail}. Others could before, so the system may have run "
            "out of processes, memory or namespaces; run the same command again with less beside it."
        )
    return outcome


def run_many(
    programs: Sequence[str | tuple[str, str]],
    workers: int | None = None,
    *,
    time_limit: float = TIME_LIMIT,
    memory_mb: int = MEMORY_MB,
    unsafe: bool = False,
    progress: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """The outcomes of many programs, or pairs of program and tests, in their order.

    workers   run at once; unset: one for each core that this process may use
    progress  is called with every outcome as it comes
    """

    def work(job: str | tuple[str, str]) -> Outcome:
        program, tests = (job, "") if isinstance(job, str) else job
        return run_code(program, tests, time_limit=time_limit, memory_mb=memory_mb, unsafe=unsafe)

    with ThreadPoolExecutor(workers or usable_cores()) as pool:
        futures = [pool.submit(work, job) for job in programs]
        try:
            for future in as_completed(futures):
                outcome = future.result()
                if progress:
                    progress(outcome)
        finally:
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


@functools.cache
def ready() -> str | None:
    """None where the walls can be put up; else what this system refuses."""
    if sys.platform != "linux":
        return f"it needs Linux; this is {sys.platform}"
    outcome = _run(PROBE, PROOF, TIME_LIMIT, MEMORY_MB, walled=True)
    if outcome.ok:
        return None
    said = outcome.stderr_tail.strip().split("\n")[-1] or f"the attempt ended as {outcome.status!r}"
    if said.startswith(("ImportError", "ModuleNotFoundError")):
        return f"{said} (behind the walls, Python must find its standard library in {sys.base_prefix}/lib)"
    return said


def has_walls(unsafe: bool = False) -> bool:
    """Can programs be isolated here? Where not, an error or, if `unsafe` allows running them all the same, False."""
    refused = ready()
    if refused and not (unsafe and sys.platform == "linux"):
        raise SandboxError(
            f"generated code runs only behind walls, which this system refuses: {refused}. Allow user namespaces (the "
            "guide to the sandbox names the settings), or pass --allow-unsafe (unsafe=True): programs then run with "
            "all your rights, and limits on time and memory that a program which wants to can shake off."
        )
    return not refused


def _check(time_limit: float, memory_mb: int) -> None:
    if time_limit <= 0:
        raise InputError(f"time_limit must be above 0 seconds; got {time_limit}.")
    if memory_mb < 64:
        raise InputError(f"memory_mb must be at least 64, for Python itself needs room; got {memory_mb}.")


def _run(program: str, tests: str, time_limit: float, memory_mb: int, walled: bool) -> Outcome:
    begin = time.perf_counter()
    if walled:
        status, tail = _spawn(program, tests, time_limit, memory_mb, None)
    else:
        with tempfile.TemporaryDirectory() as folder:
            status, tail = _spawn(program, tests, time_limit, memory_mb, folder)
    return Outcome(status == "passed", status, time.perf_counter() - begin, tail)


def _spawn(program: str, tests: str, time_limit: float, memory_mb: int, folder: str | None) -> tuple[str, str]:
    """Status and tail. Without a folder the process makes one that only it can see, and walls around it."""
    patience = PATIENCE * time_limit
    settings = [*map(str, (os.getpid(), time_limit, patience, memory_mb)), "" if folder else "walled"]
    process = subprocess.Popen(
        PYTHON + settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder or "/",
        env=ENVIRONMENT,
        start_new_session=True,
    )
    with process:
        try:
            said, _ = process.communicate(json.dumps([program, tests]).encode(), patience + GRACE)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                return "timeout", ""
            raise
    try:
        status, tail = json.loads(said)
    except ValueError:
        return "killed", said.decode(errors="replace")
    return status, tail
