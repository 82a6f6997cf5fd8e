"""The second wall: a filter in the kernel that refuses system calls which no honest program needs.

Refused calls fail with an error; a call by the numbers of another machine (32-bit, x32) ends the process. Numbers
newer than the list are answered as unknown, so that what a later kernel brings is refused until somebody has read it.
"""

from __future__ import annotations

import errno
import os
import struct
import sys

# Each call with its number on x86_64 and on aarch64.
DENIED = """
    # the keys of the caller
    add_key 248 217, request_key 249 218, keyctl 250 219
    # memory and descriptors of other processes
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440
    kcmp 312 272, pidfd_getfd 438 438
    # memory that no limit counts
    memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197
    semget 64 190, semop 65 193, semctl 66 191, semtimedop 220 192, msgget 68 186, msgsnd 69 189, msgrcv 70 188
    msgctl 71 187, mq_open 240 180, mq_unlink 241 181
    # mounts, roots and namespaces
    mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428, move_mount 429 429
    fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442
    unshare 272 97, setns 308 268
    # parts of the kernel that are large and have been broken before
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, userfaultfd 323 282, bpf 321 280
    perf_event_open 298 241, seccomp 317 277, vmsplice 278 75, modify_ldt 154 -, personality 135 92
    move_pages 279 239, migrate_pages 256 238, mbind 237 235, set_mempolicy 238 237
    # other programs: none belongs here, though folders of libraries hold some
    execve 59 221, execveat 322 281
    # files by number, past the walls around their paths
    name_to_handle_at 303 264, open_by_handle_at 304 265, fanotify_init 300 262, lookup_dcookie 212 18
    # the machine itself
    init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294
    reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443
    syslog 103 116, settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171
    sethostname 170 161, setdomainname 171 162, vhangup 153 58, iopl 172 -, ioperm 173 -, nfsservctl 180 42
"""
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel's audit names them
CLONE, SOCKET, SOCKETPAIR, PRCTL = (56, 220), (41, 198), (53, 199), (157, 167)
CLONE3 = 435  # its flags lie in memory, where no filter can read them: libraries fall back to clone
LAST_KNOWN = 450
X32 = 0x40000000

NEW_SPACES = 0x7E020000  # every CLONE_NEW… flag that clone takes
AF_UNIX = 1
PR_GET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME = 2, 15, 16

# A line of the filter: operation, lines to skip if true, lines to skip if false, number.
Instruction = tuple[int, int, int, int]
LOAD, RETURN, EQUAL, ABOVE, ANY_BIT = 0x20, 0x06, 0x15, 0x25, 0x45
CALL, MACHINE, FIRST_ARGUMENT = 0, 4, 16  # where the kernel puts them
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def build() -> bytes:
    """The filter for this machine, as the kernel takes it."""
    column = this_machine()
    return b"".join(struct.pack("HBBI", *line) for line in _instructions(column, list(MACHINES.values())[column]))


def this_machine() -> int:
    """The column of this machine in the tables: 0 is x86_64, 1 is aarch64."""
    machine = os.uname().machine
    if machine not in MACHINES or sys.maxsize < 1 << 32:
        raise OSError(f"seccomp: there is a filter for 64-bit {' and '.join(MACHINES)} only; this is {machine}")
    return list(MACHINES).index(machine)


def denied(column: int) -> dict[str, int]:
    """Numbers of the calls that are always refused."""
    rows = [row for row in DENIED.splitlines() if not row.strip().startswith("#")]
    calls = [call.split() for row in rows for call in row.split(",") if call.strip()]
    return {name: int(numbers[column]) for name, *numbers in calls if numbers[column] != "-"}


def _instructions(column: int, machine: int) -> list[Instruction]:
    lines = [_load(MACHINE), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), _load(CALL)]
    if column == 0:
        lines += [(ABOVE, 0, 1, X32 - 1), (RETURN, 0, 0, KILL)]
    lines += [*_refuse(ABOVE, LAST_KNOWN, errno.ENOSYS), *_refuse(EQUAL, CLONE3, errno.ENOSYS)]
    for number in denied(column).values():
        lines += _refuse(EQUAL, number, errno.EPERM)
    lines += _with_argument(CLONE[column], _refuse(ANY_BIT, NEW_SPACES, errno.EPERM))
    for call in (SOCKET, SOCKETPAIR):
        lines += _with_argument(call[column], _only((AF_UNIX,), errno.EAFNOSUPPORT))
    lines += _with_argument(PRCTL[column], _only((PR_GET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME), errno.EPERM))
    return [*lines, (RETURN, 0, 0, ALLOW)]


def _load(offset: int) -> Instruction:
    return LOAD, 0, 0, offset


def _refuse(comparison: int, number: int, error: int) -> list[Instruction]:
    return [(comparison, 0, 1, number), (RETURN, 0, 0, REFUSE | error)]


def _only(allowed: tuple[int, ...], error: int) -> list[Instruction]:
    """Refuse every value but these."""
    skips = [(EQUAL, len(allowed) - place, 0, value) for place, value in enumerate(allowed)]
    return [*skips, (RETURN, 0, 0, REFUSE | error)]


def _with_argument(call: int, rule: list[Instruction]) -> list[Instruction]:
    """A rule on the first argument of one call; whoever passes it is allowed."""
    body = [_load(FIRST_ARGUMENT), *rule, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(body), call), *body]
