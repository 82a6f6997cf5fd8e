"""Programs that go for the machine, its time or its memory, with what each must come to."""

from __future__ import annotations

import os

from .lies import FORGER, RIGHT, WRONG

ATTACKS = {
    "fork bomb": ("import os\nwhile True:\n try: os.fork()\n except OSError: pass", "timeout"),
    "many processes": (
        """
        import os, time
        def double(x):
            for count in range(40):
                try:
                    if os.fork() == 0: time.sleep(60)
                except OSError: return count
            return 2 * x
        """,
        "failed",
    ),
    "10 GB": ("x = bytearray(10 << 30)\n" + RIGHT, "memory"),
    "10 GB, little by little": ("x = []\nwhile True: x.append(bytearray(1 << 24))", "memory"),
    "endless loop": ("while True: pass", "timeout"),
    "endless loop in a call": ("def double(x):\n while True: pass", "timeout"),
    "endless sleep": ("import time; time.sleep(1000)", "timeout"),
    "endless loop that ignores signals": (
        "import signal\nfor number in {2, 14, 15}: signal.signal(number, signal.SIG_IGN)\nwhile True: pass",
        "timeout",
    ),
    "endless recursion": ("def double(x): return double(x)", "failed"),
    "crash": ("import ctypes; ctypes.string_at(0)", "ended"),
    "50 MB of text": ("print('x' * 50_000_000)\n" + RIGHT, "failed"),
    "50 MB of lines": ("for _ in range(1_000_000): print('x' * 50)\n" + RIGHT, "failed"),
    "50 MB, and the error ignored": (
        "import os\ntry:\n while True: os.write(2, b'x' * 100_000)\nexcept OSError: pass\n" + RIGHT,
        "output",
    ),
    "a result without end": ("def double(x): return 'x' * 300_000_000", "memory"),
    "a result within itself": ("def double(x):\n a = []; a.append(a); return a", "failed"),
    "a file of 1 GB": (
        "with open('big', 'wb') as file:\n for _ in range(1024): file.write(bytes(1 << 20))\n" + RIGHT,
        "failed",
    ),
    "files without number": (
        "for n in range(100_000):\n with open(f'{n}', 'w') as file: file.write('x')\n" + RIGHT,
        "failed",
    ),
    "new namespaces": (
        """
        import ctypes
        def double(x): return 2 * x if ctypes.CDLL(None).unshare(0x10000000) == 0 else 0
        """,
        "failed",
    ),
    "becomes another user": ("import os\nos.setuid(0)\n" + RIGHT, "failed"),
    "leaves a child": (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  time.sleep(1000)\n" + WRONG,
        "failed",
    ),
    "leaves a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=[1000]).start()\n" + WRONG,
        "failed",
    ),
    "sees other processes": (
        "import os\ndef double(x): return 2 * x if os.path.exists('/proc/1') or os.getpid() != 2 else 0",
        "failed",
    ),
    "reads the environment": ("import os\ndef double(x): return 2 * x if os.environ else 0", "failed"),
    "finds an interpreter or a shell": (
        "import os, sys\n"
        "def double(x): return 2 * x if any(map(os.path.exists, ['/bin/sh', '/usr/bin/env', sys.executable])) else 0",
        "failed",
    ),
    "leaves and kills all on the way": (
        "import os, signal\nif os.fork() == 0: signal.pause()\nos.kill(-1, 9); os._exit(0)",
        "ended",
    ),
    "sends process 1 every signal": (
        # it waits, for process 1 may take a moment to die, and all others with it
        "import os, time\nfor number in range(1, 65):\n try: os.kill(1, number)\n except OSError: pass\ntime.sleep(2)\n"
        + WRONG,
        "ended",
    ),
    "writes over what it printed": ("import os\nprint('x', flush=True); os.ftruncate(1, 1 << 40)\n" + RIGHT, "failed"),
    "dies of a signal while its child lives on": (
        "import os, time\nif os.fork() == 0: time.sleep(1000)\nos.kill(os.getpid(), 9)",
        "ended",
    ),
    "answers before it is asked": (
        FORGER + "for n in range(100_000): say(['value', n])",
        "failed",
    ),
    "answers with a million handles": (
        "def double(x): return [object() for _ in range(1_000_000)]",
        "memory",
    ),
    "a number without end": ("def double(x): return 1 << 10 ** 9", "memory"),
    "a text that grows when read": ("def double(x): return ['\\0' * 1_000_000] * 100", "memory"),
    "more text than can be sent": ("def double(x): return 'x' * 20_000_000", "memory"),
    "an error without end": ("def double(x): raise ValueError('x' * 150_000_000)", "failed"),
    "hides in threads": (
        "import threading\ndef run():\n while True: pass\nfor _ in range(5): threading.Thread(target=run).start()\n"
        "while True: pass",
        "timeout",
    ),
    "hands its work from child to child": (
        """
        import os, time
        while True:
            begin = time.process_time()
            while time.process_time() - begin < 0.3: pass
            if os.fork(): os.wait()
        """,
        "timeout",
    ),
    "catches the signal of the limit": (
        "import signal\nsignal.signal(signal.SIGXCPU, lambda *_: None)\nwhile True: pass",
        "timeout",
    ),
}

# Programs that mean to stay when their run is over. What they come to does not matter: nothing may be left.
FOR_GOOD = """
import ctypes, os, signal, time
ctypes.CDLL(None).prctl(1, 0)
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
"""
STAYERS = {
    "sleeps for good": FOR_GOOD + "time.sleep(1000)",
    "leaves a daemon": FOR_GOOD + "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0: time.sleep(1000)\n" + WRONG,
    "lets go of all descriptors": FOR_GOOD + "os.closerange(0, 64)\ntime.sleep(1000)",
    "lets go in a child": FOR_GOOD + "if os.fork() == 0:\n os.closerange(0, 64); time.sleep(1000)\n" + WRONG,
    "stops itself": FOR_GOOD + "os.kill(os.getpid(), signal.SIGSTOP)",
    "stops all others": FOR_GOOD + "os.fork(); os.kill(-1, signal.SIGSTOP); time.sleep(1000)",
    "60 MB in a line, then sleeps": FOR_GOOD
    + FORGER
    + "for _ in range(60):\n try: os.write(writes, b'[' * (1 << 20))\n except OSError: break\ntime.sleep(1000)",
    "60 MB in a line by a child": FOR_GOOD
    + FORGER
    + "if os.fork() == 0:\n while True:\n  try: os.write(writes, b'[' * 2**20)\n  except OSError: time.sleep(1000)\n"
    + WRONG,
    "a line that drips": FOR_GOOD + FORGER + "while True: os.write(writes, b'['); time.sleep(0.01)",
    "never reads the questions": FOR_GOOD + FORGER + "names([], [['double', ['handle', 1]]])\ntime.sleep(1000)",
    "forks until it may not": FOR_GOOD
    + "for _ in range(100):\n try:\n  if os.fork() == 0: time.sleep(1000)\n except OSError: break\n"
    + WRONG,
    "forks as it dies": FOR_GOOD
    + "for _ in range(6):\n try: os.fork()\n except OSError: pass\n"
    + "os.kill(1, 15)\nwhile True:\n try: os.fork()\n except OSError: pass",
    "calls itself something else": FOR_GOOD
    + "ctypes.CDLL(None).prctl(15, b'kworker')\nif os.fork() == 0: time.sleep(1000)\n"
    + WRONG,
}

# Calls by the numbers of another machine end the process at once, where there are such numbers.
X32 = "import ctypes\ndef double(x): return 2 * x if ctypes.CDLL(None).syscall(0x40000000 + 39) else 0"
INT80 = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("53b814000000cd805bc3"))  # getpid, as a 32-bit program asks for it
ask = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
def double(x): return 2 * x if ask() else 0
"""
if os.uname().machine == "x86_64":
    ATTACKS |= {"a call by x32": (X32, "ended"), "a call by 32 bits": (INT80, "ended")}
