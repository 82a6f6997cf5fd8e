"""Kill a process of ours, and see whether the program below it goes too."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.processes import descendants, wait_until

from .attacks import FOR_GOOD

OURS = ("caller", "judge", "process 1")
STAYS = FOR_GOOD + "if os.fork() == 0: os.setsid()\ntime.sleep(1000)"  # two processes


def dies_with(who: str, caller: list[str], folder: Path) -> bool:
    """Whether a program that means to stay is gone after one process of ours is. Orphans must come to this process."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(caller, text=True, cwd=folder, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout.readline() == "None\n", "the walls do not stand"
            process.stdin.write(STAYS)
            process.stdin.close()
            assert wait_until(lambda: len(descendants(process.pid)) == len(OURS) + 1, patience=30.0)
            victim = [process.pid, *descendants(process.pid)][OURS.index(who)]
            below = set(descendants(victim))
            os.kill(victim, signal.SIGKILL)
            return wait_until(lambda: not below & set(descendants(os.getpid())), patience=10.0)
        finally:
            process.kill()
