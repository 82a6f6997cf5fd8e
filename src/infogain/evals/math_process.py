"""The process that compares answers in mathematics: any thread may ask, and no expression holds it for ever."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from infogain.errors import InputError

WORKER = Path(__file__).with_name("mathematics.py")
PATIENCE = 5  # seconds of CPU for a comparison
LONGEST = 8000  # characters of an answer, and of a text's end in which one is looked for


class MathVerdict(NamedTuple):
    right: bool
    answer: str | None  # what was compared; None: nothing was found
    note: str = ""  # why nothing came of it


def compare(gold: str, answer: str | None, text: str = "", question: str = "") -> MathVerdict:
    """Is this answer, or where there is none the last expression of a text, the gold one?"""
    if importlib.util.find_spec("math_verify") is None:
        raise InputError("answers in mathematics are compared by math-verify: pip install 'infogain[eval]'.")
    if answer is not None and len(answer) > LONGEST:
        return MathVerdict(False, answer, f"an answer has at most {LONGEST} characters; this one has {len(answer)}")
    request = {"gold": gold, "answer": answer, "text": text[-LONGEST:], "question": question, "seconds": PATIENCE}
    reply = MATH_PROCESS.ask(json.dumps(request))
    if reply is None:
        return MathVerdict(False, answer, f"comparing it takes more than {PATIENCE} s of CPU, or too much memory")
    return MathVerdict(*json.loads(reply))


class MathProcess:
    """A worker process, started when it is first asked, and again after a comparison that was too much for it."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._worker: subprocess.Popen[str] | None = None

    def ask(self, request: str) -> str | None:
        """The worker's reply; None where it cannot give one. A worker that somebody else killed is asked again."""
        with self._turn:
            for _ in range(2):
                if reply := self._exchange(request):
                    return reply
                if self.close() == -signal.SIGPROF:  # its time was up
                    break
        return None

    def close(self) -> int | None:
        """End the worker, and say how it ended; the next question starts another."""
        worker, self._worker = self._worker, None
        if worker is None:
            return None
        worker.kill()
        worker.communicate()
        return worker.returncode

    def forget(self) -> None:
        """Forget the worker without ending it: in a forked process it belongs to the parent."""
        self._turn, self._worker = Lock(), None

    def _exchange(self, request: str) -> str:
        """Send a line and read one; empty where the worker dies. After an interruption, a late reply reaches nobody."""
        self._worker = worker = self._worker or _start()
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(request + "\n")
            worker.stdin.flush()
            return worker.stdout.readline()
        except BrokenPipeError:
            return ""
        except BaseException:
            self.close()
            raise


def _start() -> subprocess.Popen[str]:
    """A worker that is ready. It has a session of its own: Ctrl-C is for whoever asks."""
    worker = subprocess.Popen(
        [sys.executable, "-P", str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    assert worker.stdout is not None
    if (ready := worker.stdout.readline().strip()) != "null":
        worker.communicate()
        raise InputError(f"math-verify, which compares answers, cannot be used: {ready or 'its process died'}.")
    return worker


MATH_PROCESS = MathProcess()
atexit.register(MATH_PROCESS.close)
if hasattr(os, "register_at_fork"):  # Unix; elsewhere runs can be read
    os.register_at_fork(after_in_child=MATH_PROCESS.forget)
