"""The law of a long life: what a batch holds does not grow with the rows that have gone through it."""

from __future__ import annotations

import pytest

from tests.endurance.drive import Held, seen_after


@pytest.mark.parametrize("trace", [True, False], ids=["traced", "untraced"])
def test_four_hundred_rows_leave_nothing_behind(trace: bool) -> None:
    """Finished, failed and cancelled, in lanes that open and close. A row that were kept would be four objects or more,
    and its canvas 200 bytes; what is in flight differs by less than two objects for each."""
    early, late = seen_after((200, 600), trace, Held.now)
    assert late.objects - early.objects < 800, (early, late)
    assert late.tensor_bytes - early.tensor_bytes < 20_000
