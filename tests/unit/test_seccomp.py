"""The filter on system calls, read as the kernel reads it, for both machines that it knows."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from infogain.sandbox.jail import seccomp
from infogain.sandbox.jail.seccomp import ALLOW, KILL, MACHINES, REFUSE, denied

READ, GETPID = {"x86_64": (0, 39), "aarch64": (63, 172)}, {"x86_64": 39, "aarch64": 172}
CLONE, SOCKET, PRCTL = seccomp.CLONE, seccomp.SOCKET, seccomp.PRCTL


def answer(lines: bytes, machine: int, call: int, argument: int = 0) -> int:
    """What the kernel's virtual machine returns for a call."""
    data = {seccomp.CALL: call, seccomp.MACHINE: machine, seccomp.FIRST_ARGUMENT: argument}
    program = list(struct.iter_unpack("HBBI", lines))
    holds = {
        seccomp.EQUAL: lambda a, k: a == k,
        seccomp.ABOVE: lambda a, k: a > k,
        seccomp.ANY_BIT: lambda a, k: a & k != 0,
    }
    at, loaded = 0, 0
    while True:
        operation, if_true, if_false, number = program[at]
        if operation == seccomp.RETURN:
            return int(number)
        if operation == seccomp.LOAD:
            loaded = data[number]
        else:
            at += if_true if holds[operation](loaded, number) else if_false
        at += 1


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", name)))
    return name


def test_calls_that_no_honest_program_needs_are_refused(machine: str) -> None:
    lines, column, name = seccomp.build(), list(MACHINES).index(machine), MACHINES[machine]
    assert len(denied(column)) > 75
    for call, number in denied(column).items():
        assert answer(lines, name, number) == REFUSE | errno.EPERM, call
    for number in READ[machine]:
        assert answer(lines, name, number) == ALLOW
    for number in (seccomp.CLONE3, seccomp.LAST_KNOWN + 1, 1 << 20):
        assert answer(lines, name, number) == REFUSE | errno.ENOSYS


def test_numbers_of_another_machine_end_the_process(machine: str) -> None:
    lines = seccomp.build()
    for other in {*MACHINES.values(), 0x40000003, 0x40000028} - {MACHINES[machine]}:  # and of 32 bits
        assert answer(lines, other, GETPID[machine]) == KILL
    if machine == "x86_64":
        assert answer(lines, MACHINES[machine], seccomp.X32 + 39) == KILL


def test_some_calls_are_refused_by_what_they_ask_for(machine: str) -> None:
    lines, column, name = seccomp.build(), list(MACHINES).index(machine), MACHINES[machine]
    thread, new_user = 0x3D0F00, 1 << 28
    assert answer(lines, name, CLONE[column], thread) == ALLOW
    assert answer(lines, name, CLONE[column], thread | new_user) == REFUSE | errno.EPERM
    families = {family for family in range(64) if answer(lines, name, SOCKET[column], family) == ALLOW}
    assert families == {1}
    options = {option for option in range(80) if answer(lines, name, PRCTL[column], option) == ALLOW}
    assert options == {2, 15, 16}  # asking for the signal at a parent's death, and names


def test_an_unknown_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "riscv64")))
    with pytest.raises(OSError, match=r"x86_64 and aarch64 only; this is riscv64"):
        seccomp.build()
