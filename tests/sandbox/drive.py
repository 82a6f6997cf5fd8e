"""Run programs in the sandbox in one of three set-ups, and look for what is left of them.

    python -m tests.sandbox.drive SOURCES SETUP < jobs.json > answer.json

A job is a program, its tests and its time limit; the answer has the outcomes in their order, what `ready` said, and
the processes left afterwards. It imports the sandbox alone, so that any Python can run it as any user.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType

from tests.processes import adopt_orphans, descendants, wait_until

USER = 12345  # a user that owns nothing
SECRET = "infogain-secret"  # the name of a key in the session keyring of whoever runs the sandbox
LISTENS = "\0infogain-battery"  # the abstract name of a socket that it listens on
ADD_KEY, KEYCTL = {"x86_64": (248, 250)}.get(os.uname().machine, (217, 219))
SESSION_KEYRING, JOIN, PR_SET_DUMPABLE = -3, 1, 4
NEW_NS, NEW_USER, BIND, REC, PRIVATE, MOVE = 0x00020000, 0x10000000, 0x1000, 0x4000, 0x40000, 0x2000

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def become_root() -> None:
    if os.geteuid() != 0:
        raise OSError("these tests do not run as root")


def become_user() -> None:
    """Where these tests run as root, another user; a folder closed to others is opened on the way to Python."""
    if os.geteuid() == 0:
        checked(libc.unshare(NEW_NS), "unshare")
        _mount("none", "/", REC | PRIVATE)
        open_way_to(Path(sys.base_prefix))
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        libc.prctl(PR_SET_DUMPABLE, ctypes.c_ulong(1))  # else /proc/self would still be root's


def open_way_to(folder: Path) -> None:
    """Cover the first closed folder above this one by an open one that holds nothing but the way, for us alone."""
    closed = next((above for above in reversed(folder.parents) if not above.stat().st_mode & 1), None)
    if closed is None:
        return
    stage = Path("/mnt")
    _mount("tmpfs", str(stage), 0, "tmpfs", "mode=755")
    (stage / folder.relative_to(closed)).mkdir(parents=True)
    _mount(str(folder), str(stage / folder.relative_to(closed)), BIND | REC)
    _mount(str(stage), str(closed), MOVE)


def forbid_namespaces() -> None:
    """No user namespaces from here on: a limit of zero, in a namespace of our own that changes nothing outside."""
    root, parent = os.geteuid() == 0, os.getpid()
    maps = {
        "setgroups": "allow" if root else "deny",
        "uid_map": "0 0 4294967295" if root else f"{os.geteuid()} {os.geteuid()} 1",
        "gid_map": "0 0 4294967295" if root else f"{os.getegid()} {os.getegid()} 1",
    }
    reads, writes = os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process outside may map more users than one
        try:
            os.read(reads, 1)
            for name, text in maps.items():
                Path(f"/proc/{parent}/{name}").write_text(text)
        except OSError:
            os._exit(1)
        os._exit(0)
    checked(libc.unshare(NEW_USER), "unshare")
    os.write(writes, b"1")
    if os.waitpid(helper, 0)[1]:
        raise OSError("the users of a new namespace could not be mapped")
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


def forbid_namespaces_to_root() -> None:
    become_root()
    forbid_namespaces()


def forbid_namespaces_to_user() -> None:
    become_user()
    forbid_namespaces()


SETUPS = {
    "as it is": lambda: None,
    "root": become_root,
    "user": become_user,
    "no user namespaces": forbid_namespaces_to_root,
    "user without namespaces": forbid_namespaces_to_user,
}


def hold_key() -> None:
    """A session keyring with a secret, as a login has it."""
    libc.syscall(ctypes.c_long(KEYCTL), ctypes.c_long(JOIN), None)
    libc.syscall(ctypes.c_long(ADD_KEY), b"user", SECRET.encode(), b"4", ctypes.c_size_t(1), SESSION_KEYRING)


def listen() -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):  # another battery on this machine listens already
        listener.bind(LISTENS)
        listener.listen()
    return listener


def _mount(source: str, target: str, flags: int, kind: str = "", data: str = "") -> None:
    words = [word.encode() or None for word in (source, target, kind)]
    checked(libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount on {target}")


def main(sources: str, setup: str) -> None:
    try:
        SETUPS[setup]()
    except OSError as error:
        json.dump({"absent": str(error)}, sys.stdout)
        return
    sandbox_alone(sources)
    from infogain.errors import SandboxError
    from infogain.sandbox import ready

    hold_key()
    listener = listen()
    adopt_orphans()
    answer: dict[str, object] = {"ready": ready(), "outcomes": [], "user": os.geteuid()}
    try:
        answer["outcomes"] = [vars(outcome) for outcome in _run(json.load(sys.stdin))]
    except SandboxError as error:
        answer["error"] = str(error)
    wait_until(lambda: not descendants(os.getpid()), patience=5.0)
    answer["left"] = descendants(os.getpid())
    listener.close()
    json.dump(answer, sys.stdout)


def _run(jobs: list[tuple[str, str, float]]) -> list[object]:
    """Jobs with one limit run together."""
    from infogain.sandbox import run_many

    outcomes: dict[int, object] = {}
    for limit in sorted({limit for _, _, limit in jobs}):
        numbers = [number for number, job in enumerate(jobs) if job[2] == limit]
        some: list[str | tuple[str, str]] = [jobs[number][:2] for number in numbers]
        done = run_many(some, workers=4, time_limit=limit, memory_mb=512)
        outcomes.update(zip(numbers, done, strict=True))
    return [outcomes[number] for number in range(len(jobs))]


def sandbox_alone(sources: str) -> None:
    """Make `infogain.sandbox` importable without the rest of the package, which would load torch."""
    package = ModuleType("infogain")
    package.__path__ = [f"{sources}/infogain"]
    sys.modules["infogain"] = package


if __name__ == "__main__":
    main(*sys.argv[1:])
