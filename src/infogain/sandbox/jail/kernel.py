"""Linux system calls that Python has no name for; each raises OSError with the name of what was refused."""

from __future__ import annotations

import ctypes
import errno
import os

NEW_NS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000
NO_SUID, NO_DEV, NO_EXEC, BIND, REC, PRIVATE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x40000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
SECCOMP_MODE_FILTER = 2
JOIN_SESSION_KEYRING = 1
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
    """Make all mounts from here down read-only."""
    _set_attributes(path, AT_RECURSIVE, READ_ONLY | NO_SUID, 0)


def writable(path: str) -> None:
    """Make this mount alone writable again."""
    _set_attributes(path, 0, 0, READ_ONLY)


def _set_attributes(path: str, flags: int, add: int, remove: int) -> None:
    attributes = (ctypes.c_uint64 * 4)(add, remove, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    call = ctypes.c_long(MOUNT_SETATTR), AT_FDCWD, os.fsencode(path), flags, ctypes.byref(attributes), size
    _check(_libc.syscall(*call), "mount_setattr (Linux 5.12 or newer)")


def enter_root(path: str) -> None:
    """Make this mount the root of the file system, and let go of the old one."""
    os.chdir(path)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", DETACH), "umount of the old root")


def die_with_parent() -> None:
    _control("end with the parent", PR_SET_PDEATHSIG, SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, so that its time can be asked for."""
    _control("adopt orphans", PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Let no process of the same user trace this one, or take its descriptors."""
    _control("hide memory", PR_SET_DUMPABLE, 0)


def leave_keyring(keyctl: int) -> None:
    """Join a new session keyring by this call: the old one holds what its owner unlocked, for every child to read."""
    if _libc.syscall(ctypes.c_long(keyctl), ctypes.c_long(JOIN_SESSION_KEYRING), None) < 0:
        code = ctypes.get_errno()
        if code != errno.ENOSYS:  # a kernel without keys has none to hide
            raise OSError(code, f"keyctl (a new session keyring): {os.strerror(code)}")


def install_filter(lines: bytes) -> None:
    """Filter the system calls of this thread and all it starts, for good."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))

    program = Program(len(lines) // 8, lines)
    _control("seccomp filter", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def renounce() -> None:
    """Give up every capability, and the means to get one back."""
    _control("no new privileges", PR_SET_NO_NEW_PRIVS, 1)
    header, none = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")


def _control(name: str, option: int, *values: int) -> None:
    words = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *words), f"prctl ({name})")


def _check(result: int, name: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
