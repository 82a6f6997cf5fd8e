"""What the process of its own does: put up the walls, split into judge and program."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import NoReturn

from . import kernel, walls
from .judge import Judge, say
from .program import serve
from .wire import Line


def main(parent: str, time_limit: str, memory_mb: str, walled: str) -> NoReturn:
    kernel.die_with_parent()
    if os.getppid() != int(parent):  # it went before we asked
        os._exit(1)
    seconds = float(time_limit)
    try:
        if walled:
            walls.enter()
        walls.limit(seconds, int(memory_mb))
    except OSError as error:
        say(1, "refused", str(error.strerror or error))
    verdict, output = os.dup(1), os.memfd_create("output")
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    questions, answers = os.pipe(), os.pipe()
    child = os.fork()  # before anything is read: the program's memory never held the tests
    if child == 0:
        _become_program(questions[0], answers[1], bool(walled))
    os.close(questions[0])
    os.close(answers[1])
    judge = Judge(Line(answers[0], questions[1]), child, output, verdict)
    signal.signal(signal.SIGALRM, lambda *_: judge.finish("timeout"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    judge.judge(*json.load(sys.stdin))


def _become_program(reads: int, writes: int, walled: bool) -> NoReturn:
    kernel.die_with_parent()
    os.setsid()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    for descriptor in set(range(3, walls.OPEN_FILES)) - {reads, writes}:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    os.environ.clear()
    sys.argv[:] = ["program.py"]
    if walled:
        walls.limit_processes()
    serve(Line(reads, writes))
