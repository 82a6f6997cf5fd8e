"""Processes as the kernel's process table shows them, whatever they call themselves."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(yes: bool = True) -> None:
    """Become the parent of every descendant that loses its own, so that none gets out of sight."""
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, *map(ctypes.c_ulong, (yes, 0, 0, 0))) == 0


def descendants(process: int) -> list[int]:
    """All that live below a process, parents first; what is dead and not yet waited for does not count."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):  # it has just gone
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(path.parent.name))
    found = [process]
    for each in found:
        found += children.get(each, [])
    return found[1:]


def started_since(before: set[int]) -> list[int]:
    """Descendants of this process that were not there before, parents first."""
    return [each for each in descendants(os.getpid()) if each not in before]


def wait_until(true: Callable[[], bool], patience: float) -> bool:
    end = time.monotonic() + patience
    while not (now := true()) and time.monotonic() < end:
        time.sleep(0.02)
    return now
