"""Linux system calls that Python has no name for; each raises OSError with the name of what was refused."""

from __future__ import annotations

import ctypes
import os

NEW_NS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NO_SUID, NO_DEV, NO_EXEC, BIND, REC, PRIVATE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x40000

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SIGKILL = 9
MOUNT_SETATTR = 442  # the same number on every machine
AT_FDCWD, AT_RECURSIVE, READ_ONLY, DETACH = -100, 0x8000, 0x1, 0x2
CAPABILITIES_V3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(spaces: int) -> None:
    _check(_libc.unshare(spaces), "unshare (new namespaces)")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    words = [os.fsencode(word) or None for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) or None), f"mount on {target}")


def read_only(path: str) -> None:
    """All mounts from here down."""
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SUID, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    call = ctypes.c_long(MOUNT_SETATTR), AT_FDCWD, os.fsencode(path), AT_RECURSIVE, ctypes.byref(attributes), size
    _check(_libc.syscall(*call), "mount_setattr (Linux 5.12 or newer)")


def enter_root(path: str) -> None:
    """Make this mount the root of the file system, and let go of the old one."""
    os.chdir(path)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", DETACH), "umount of the old root")


def die_with_parent() -> None:
    _control(PR_SET_PDEATHSIG, SIGKILL)


def renounce() -> None:
    """Give up every capability, and the means to get one back."""
    _control(PR_SET_NO_NEW_PRIVS, 1)
    header, none = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")


def _control(option: int, value: int) -> None:
    rest = (ctypes.c_ulong(0),) * 3
    _check(_libc.prctl(option, ctypes.c_ulong(value), *rest), f"prctl {option}")


def _check(result: int, name: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
