"""Ctrl-C while the command line starts: it ends at once, without the traceback of whatever was being imported.

The package imports this first of all; torch, which takes seconds, comes after.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

STATUS = 130  # 128 + SIGINT


def begin() -> None:
    """Where this is our command and not a program that imports us, end on Ctrl-C until `done`.

    A shell's background jobs ignore Ctrl-C, and go on doing so.
    """
    name = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    ours = name == "infogain" or sys.orig_argv[1:3] == ["-m", "infogain"]
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def done() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, as Python does."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # a handler's arguments
    os._exit(STATUS)


begin()
