"""Programs that go for the machine, its time or its memory, with what each must come to."""

from __future__ import annotations

from .lies import RIGHT, WRONG

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
    "a result without end": ("def double(x): return 'x' * 300_000_000", "ended"),
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
}
