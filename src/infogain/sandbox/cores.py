"""How many processes this one may run at once: the machine's cores, less those that an administrator keeps from it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS, MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Cores that the scheduler lets this process use, or as many as its control group's quota pays for, if fewer."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min([allowed, *quotas(GROUPS, MOUNTED)])))


def quotas(groups: Path, mounted: Path) -> Iterator[float]:
    """Cores that each control group above this process may use, in version 2 (cpu.max) and 1 (cpu.cfs_quota_us)."""
    for line in groups.read_text().splitlines() if groups.exists() else []:
        _, controllers, path = line.split(":", 2)
        version_2 = not controllers
        if not version_2 and "cpu" not in controllers.split(","):
            continue
        for base in (mounted, mounted / "unified") if version_2 else (mounted / controllers, mounted / "cpu"):
            for group in (base / path.lstrip("/"), *(base / path.lstrip("/")).parents):
                if group.is_relative_to(base):  # a container may see its own group as the uppermost
                    yield from _quota(group, version_2)


def _quota(group: Path, version_2: bool) -> Iterator[float]:
    names = ["cpu.max"] if version_2 else ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
    try:
        quota, period = " ".join((group / name).read_text() for name in names).split()
    except OSError:
        return
    if quota not in ("max", "-1"):
        yield int(quota) / int(period)
