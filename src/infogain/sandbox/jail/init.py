"""Process 1 of the program's namespace: ours, so that the program never is, and gone as soon as we or the program are.

The kernel kills whatever else lives in a pid namespace when its process 1 ends. This one ends with its judge by a
signal that the program can neither clear nor stop. When the judge asks it to, it ends all the others first and waits
for them, so that the kernel adds their time up.
"""

from __future__ import annotations

import contextlib
import os
import signal

from . import kernel


def watch_over_program(descriptors: int) -> None:
    """Return in process 2, which may become the program. Process 1 stays until that has ended, and then ends all."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what has no handler does not reach process 1
    signal.signal(signal.SIGTERM, lambda *_: _end_others())
    program = os.fork()
    if program == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return
    kernel.hide_memory()
    os.closerange(0, descriptors)
    while os.wait()[0] != program:  # orphans come here
        pass
    _end_others()
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
    os._exit(0)


def _end_others() -> None:
    if os.getpid() == 1:  # anywhere else, -1 would be all that this user runs
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
