"""Refuse numbers of rows and candidates that cannot fit into memory, before any work is done, and say how many fit."""

from __future__ import annotations

from pathlib import Path

import torch

from infogain.errors import InputError

CPU = torch.device("cpu")
PROBLEM_BYTES = 4_000, 200_000  # that a small problem takes: at least, and as measured with the toy one-way
NOTHING = 2**30  # bytes that any machine has
COPY_BYTES = 1000  # that an independent decode takes on the host
COLUMN_BYTES = 64  # that a column of a candidate takes: a token, its noise, a key, a rank, and what sorting needs
LOGIT_BYTES = 12  # that a logit takes: itself, its probability and their sum, in float32
MEMINFO, LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")


def free_bytes(device: torch.device = CPU) -> int | None:
    """How many bytes of memory are free on a device; None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    if not MEMINFO.exists():
        return None
    available = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable"))
    limit = LIMIT.read_text().strip() if LIMIT.exists() else "max"
    left = 1024 * int(available.split()[1])
    return left if limit == "max" else min(left, int(limit))


def check_fits(what: str, count: int, at_least: int, likely: int, device: torch.device = CPU) -> None:
    """Refuse a count of things that take `at_least` this many bytes each, and `likely` that many."""
    if count * at_least < NOTHING:
        return  # without asking the system
    free = free_bytes(device)
    if free is not None and count * at_least > free:
        raise InputError(
            f"{what} must fit into memory: {count:,} take at least {count * at_least / 2**30:,.0f} GiB, and "
            f"{free / 2**30:,.1f} are free. About {max(1, free // likely):,} fit."
        )


def check_candidates(rows: int, written: int, width: int, counts: tuple[int, int], device: torch.device) -> None:
    """Refuse more candidates (of all copies) and hypotheses than fit into memory, even without their logits.

    The `rows` in flight write `written` columns together, each with `width` logits.
    """
    count, beam = counts
    each, held = rows * COPY_BYTES + written * COLUMN_BYTES, written * width * LOGIT_BYTES
    which = f"of {rows} prompt{'s' if rows > 1 else ''} in flight,"
    check_fits(f"n, candidates or copies {which}", count, each, each + held, device)
    check_fits(f"width, hypotheses {which}", beam, count * each, count * (each + held), device)
