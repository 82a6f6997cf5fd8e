"""The start of the sandboxed process: put up the walls, then split into judge and program."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import NoReturn

from . import kernel, walls
from .channel import Channel
from .init import watch_over_program
from .judge import Judge, write_verdict
from .program import serve


def main(parent: str, time_limit: str, patience: str, memory_mb: str, walled: str) -> NoReturn:
    """Run a sandbox. Arguments come as text: seconds of the processor, seconds by the clock, megabytes."""
    kernel.die_with_parent()
    if os.getppid() != int(parent):  # it went before we asked
        os._exit(1)
    try:
        printed, prints = _new_output()
        if walled:
            walls.enter()
        else:
            kernel.adopt_orphans()
        walls.limit(int(memory_mb))
    except OSError as error:
        write_verdict(1, "refused", str(error.strerror or error))
    questions, answers = os.pipe(), os.pipe()
    child = os.fork()  # before anything is read: the program's memory never held the tests
    if child == 0:
        _become_program(Channel(questions[0], answers[1]), prints, float(time_limit), bool(walled))
    for descriptor in (questions[0], answers[1], prints):
        os.close(descriptor)
    verdict, tests_print = os.dup(1), os.memfd_create("tests")
    for descriptor in (1, 2):
        os.dup2(tests_print, descriptor)
    channel = Channel(answers[0], questions[1])
    judge = Judge(channel, child, bool(walled), float(time_limit), (printed, tests_print), verdict)
    for alarm in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(alarm, lambda *_: judge.finish("timeout"))
    signal.setitimer(signal.ITIMER_REAL, float(patience))
    signal.setitimer(signal.ITIMER_PROF, float(time_limit))  # time of the tests themselves
    judge.judge(*json.load(sys.stdin))


def _new_output() -> tuple[int, int]:
    """A file in memory, and a descriptor to write to it that cannot read."""
    file = os.memfd_create("program")
    return file, os.open(f"/proc/self/fd/{file}", os.O_WRONLY | os.O_APPEND)


def _become_program(channel: Channel, prints: int, time_limit: float, walled: bool) -> NoReturn:
    kernel.die_with_parent()
    if walled:
        watch_over_program(walls.OPEN_FILES)
    os.setsid()
    for descriptor, source in enumerate((os.open("/dev/null", os.O_RDONLY), prints, prints)):
        os.dup2(source, descriptor)
    for descriptor in set(range(3, walls.OPEN_FILES)) - {channel.reads, channel.writes}:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    os.environ.clear()
    sys.argv[:] = ["program.py"]
    try:
        walls.limit_time(time_limit)
        if walled:
            walls.seal()
    except OSError as error:
        channel.send(str(error.strerror or error))
        os._exit(1)
    serve(channel)
