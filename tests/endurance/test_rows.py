"""Twenty thousand short rows through one batch: memory is where it was after five thousand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.endurance.drive import Held, seen_after

EARLY, LATE = 5_000, 20_000
MOST_MB = 4  # that the process may grow by meanwhile
MOST_OBJECTS = 1_000  # of Python; a fifteenth of one for each row


def resident_mb() -> float:
    """Memory of this process that is not swapped out."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.parametrize("trace", [True, False], ids=["traced", "untraced"])
def test_fifteen_thousand_rows_leave_memory_flat(trace: bool) -> None:
    (early, early_mb), (late, late_mb) = seen_after((EARLY, LATE), trace, lambda: (Held.now(), resident_mb()))
    print(f"{early} and {early_mb:.1f} MB, then {late} and {late_mb:.1f} MB")
    assert late.objects - early.objects < MOST_OBJECTS
    assert late.tensor_bytes - early.tensor_bytes < 20_000
    assert late_mb - early_mb < MOST_MB
