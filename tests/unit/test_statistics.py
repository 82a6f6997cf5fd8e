"""What is read out of logits, and where masked columns find it."""

from __future__ import annotations

import pytest
import torch

from infogain import Vocabulary
from infogain.algorithm.marginals import statistics
from infogain.kernels import MaskedColumns, choice

MASKED = torch.tensor([[False, True, True], [True, False, False], [False, False, True]])


def test_masks_are_numbered_from_left_to_right_over_all_rows() -> None:
    masked_columns = MaskedColumns(MASKED, 4)
    assert masked_columns.flat_index.tolist() == [1, 2, 3, 8]
    assert masked_columns.logit_row[MASKED].tolist() == [0, 1, 2, 3]
    # those of written columns too: they are looked up and dropped
    assert ((masked_columns.logit_row >= 0) & (masked_columns.logit_row < 4)).all()


def test_a_written_column_is_certain_and_others_have_the_numbers_of_their_own_row() -> None:
    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alone, spread = (
        statistics(logits.clone(), Vocabulary(6, 5)),
        statistics(logits.clone(), Vocabulary(6, 5), MaskedColumns(MASKED, 4)),
    )
    assert torch.equal(spread.numbers[MASKED], alone.numbers)
    assert torch.equal(spread.argmax[MASKED], alone.argmax)
    assert (spread.numbers[~MASKED] == torch.tensor([0, 0, 1, 1])).all()


def test_the_numbers_are_those_of_the_distribution_without_the_mask() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0, 9.0]], dtype=torch.float64)
    p = logits[0, :3].softmax(-1)
    found = statistics(logits, Vocabulary(4, 3))
    log_z, entropy, confidence, margin = found.numbers[0].tolist()
    assert log_z == pytest.approx(logits[0, :3].logsumexp(-1).item())
    assert entropy == pytest.approx(-(p * p.log()).sum().item())
    assert (confidence, margin) == pytest.approx((p[1].item(), (p[1] - p[2]).item()))
    assert found.argmax.tolist() == [1]
    assert logits[0, 3] == -torch.inf  # struck out in place


def test_kernels_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    for value, there in (("0", False), ("1", True)):
        monkeypatch.setenv(choice.SWITCH, value)
        assert bool(choice.fused_kinds()) is there
