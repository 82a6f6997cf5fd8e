"""The walls: namespaces, a root of its own that vanishes with its last process, no privileges, limits."""

from __future__ import annotations

import contextlib
import glob
import math
import os
import resource
import sys

from . import kernel, seccomp

STAGE = "/proc"  # where the new root is built: a folder that every system has, and none keeps Python in
EMPTY = f"{STAGE}/empty"  # covers what is hidden
SHOWN = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", f"{sys.base_prefix}/lib", f"{sys.base_prefix}/lib64")
HIDDEN = ("site-packages", "dist-packages")  # of every Python in a shown folder
DEVICES = ("null", "zero", "urandom")
SPACES = kernel.NEW_NS | kernel.NEW_PID | kernel.NEW_NET | kernel.NEW_IPC | kernel.NEW_UTS

FOLDER_MB = 64
FILE_MB = 16
OPEN_FILES = 64
PROCESSES = 8
OURS = 2  # processes of ours that the kernel counts with the program's: the judge, and process 1


def enter() -> None:
    """Leave the machine behind; the next child is process 1 of a world without network, files or other processes."""
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", "1000")  # where memory runs out, the first to go
    kernel.leave_keyring(seccomp.denied(seccomp.this_machine())["keyctl"])
    user = _user_of_its_own() if os.geteuid() == 0 else None
    _separate() if user is None else _separate_as_root(user)
    _build()
    kernel.enter_root(STAGE)
    os.chroot("/root")  # who lives in a chroot is refused namespaces of their own, and so new privileges
    os.chdir("/tmp")
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.renounce()
    kernel.die_with_parent()  # again: a change of user forgets it


def limit(memory_mb: int) -> None:
    """Limit this process and each of its children."""
    _cap(resource.RLIMIT_AS, memory_mb << 20)
    _cap(resource.RLIMIT_FSIZE, FILE_MB << 20)
    _cap(resource.RLIMIT_NOFILE, OPEN_FILES)
    _cap(resource.RLIMIT_CORE, 0)


def limit_time(seconds: float) -> None:
    """Limit each process's CPU time. The kernel takes whole seconds only; the judge counts more finely."""
    _cap(resource.RLIMIT_CPU, math.floor(seconds) + 1)


def seal() -> None:
    """Set what holds for the program alone, and not for the judge: a limit on processes, and the filter."""
    _cap(resource.RLIMIT_NPROC, PROCESSES + OURS)
    kernel.install_filter(seccomp.build())


def _cap(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _user_of_its_own() -> int | None:
    """The user that root becomes for this run, as limits on processes do not hold for root and count by user.

    Taken from the upper half of the users known here, by the number of this process, which no other run has. None
    in a namespace that knows of one user only.
    """
    with open("/proc/self/uid_map") as file:
        ranges = [[int(word) for word in line.split()] for line in file]
    first, _, count = max(ranges, key=lambda known: known[2])
    return first + count - 1 - os.getpid() % (count // 2) if count > 1 else None


def _separate() -> None:
    """New namespaces for any user, who is the same inside and outside; nobody else exists inside."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEW_USER | SPACES)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _separate_as_root(user: int) -> None:
    """New namespaces for root: two users exist inside, which only a process that stays outside may say."""
    wait, go = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.close(go)
        os._exit(_map_from_outside(wait, user))
    os.close(wait)
    try:
        kernel.unshare(kernel.NEW_USER | SPACES)
        os.write(go, b"1")
    except OSError:
        kernel.unshare(SPACES)  # root needs no user namespace for the others
    os.close(go)
    if os.waitpid(helper, 0)[1]:
        raise OSError("uid_map: two users were refused")


def _map_from_outside(wait: int, user: int) -> int:
    if os.read(wait, 1):
        with contextlib.suppress(OSError):
            for name in ("uid_map", "gid_map"):
                _write(f"/proc/{os.getppid()}/{name}", f"0 0 1\n{user} {user} 1")
            return 0
        return 1
    return 0


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())  # at once: the kernel takes a map in one piece
    finally:
        os.close(descriptor)


def _build() -> None:
    """A root that shows the standard library and what it links to, three devices and an empty folder."""
    kernel.mount("none", "/", flags=kernel.REC | kernel.PRIVATE)
    kernel.mount("tmpfs", STAGE, "tmpfs", kernel.NO_SUID, "size=1m,mode=755")
    root = f"{STAGE}/root"
    for folder in (EMPTY, f"{root}/dev", f"{root}/tmp"):
        os.makedirs(folder)
    flags = kernel.NO_SUID | kernel.NO_DEV | kernel.NO_EXEC
    kernel.mount("tmpfs", f"{root}/tmp", "tmpfs", flags, f"size={FOLDER_MB}m,nr_inodes=4096,mode=1777")
    for path in sorted(set(SHOWN)):  # after /tmp is there, for Python may lie below it
        _show(path, root)
    for name in DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT))
        kernel.mount(f"/dev/{name}", f"{root}/dev/{name}", flags=kernel.BIND)
    kernel.read_only(STAGE)
    kernel.writable(f"{root}/tmp")


def _show(path: str, root: str) -> None:
    """Make a folder appear, by its own name and by the one it is known by, without the packages installed in it."""
    folder = os.path.realpath(path)
    if os.path.isdir(folder) and not os.path.exists(root + folder):
        os.makedirs(root + folder)
        kernel.mount(folder, root + folder, flags=kernel.BIND | kernel.REC)
        for packages in [found for name in HIDDEN for found in glob.glob(f"{root}{folder}/*/{name}")]:
            kernel.mount(EMPTY, packages, flags=kernel.BIND)
    if folder != path and not os.path.lexists(root + path):
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        os.symlink(folder, root + path)
