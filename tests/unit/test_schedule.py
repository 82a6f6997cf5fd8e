from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infogain import OptionError, Steps, TokensPerStep
from infogain.algorithm.schedule import Schedule
from tests.cases import draft_of, marginals


def run(schedule: Schedule, masks: int) -> list[int]:
    """The budgets of one block, step by step."""
    steps = schedule.allot([masks])[0]
    left = masks
    budgets: list[int] = []
    while left:
        number = torch.tensor([len(budgets)])
        masked = torch.arange(masks)[None] < left
        p = marginals(torch.zeros(1, masks, 2), 5)
        z = draft_of(masked.long() * 0, masked, step=number, steps_allotted=steps, block_masks=masks).with_marginals(p)
        budgets.append(int(schedule.budget(z)))
        left -= budgets[-1]
    return budgets


@given(
    masks=st.integers(1, 200),
    steps=st.integers(1, 250),
    shape=st.sampled_from(["linear", "cosine"]),
    rounding=st.sampled_from(["nearest", "down"]),
)
def test_steps_are_kept_and_nothing_is_dropped(masks: int, steps: int, shape: str, rounding: str) -> None:
    budgets = run(Steps(steps, shape, rounding), masks)
    assert sum(budgets) == masks
    assert len(budgets) == min(steps, masks)
    assert min(budgets) >= 1
    if shape == "linear":
        assert max(budgets) - min(budgets) <= 1


def test_cosine_follows_the_cosine() -> None:
    budgets = run(Steps(50, "cosine"), 1024)
    left = [1024 - sum(budgets[: t + 1]) for t in range(50)]
    for t, masks in enumerate(left):
        assert abs(masks - 1024 * math.cos(math.pi / 2 * (t + 1) / 50)) <= 1
    assert budgets[0] == 1
    assert budgets[-1] == 32


@pytest.mark.parametrize("steps", [12, 15, 18, 20, 50])
def test_rounded_down_counts_are_those_of_mmadas_program(steps: int) -> None:
    """Its lines, in float32: what is left after a step is ⌊1024 · cos(π/2 · r)⌋, at least 1 until the last step."""
    left, expected = 1024, []
    for step in range(steps):
        ratio = torch.tensor(1.0 * (step + 1) / steps)
        stay = int((1024 * torch.cos(ratio * math.pi * 0.5)).floor())
        stay = max(1, min(left - 1, stay)) if step < steps - 1 else 0  # its last step returns all that it has drawn
        expected.append(left - stay)
        left = stay
    assert run(Steps(steps, "cosine", "down"), 1024) == expected
    assert run(Steps(steps, "cosine"), 1024) != expected


def test_linear_spreads_the_remainder() -> None:
    assert run(Steps(4), 10) == [2, 3, 3, 2]
    assert run(TokensPerStep(3), 10) == [3, 3, 3, 1]


@given(masks=st.lists(st.integers(1, 40), min_size=1, max_size=12), extra=st.integers(0, 300))
def test_steps_are_shared_among_blocks(masks: list[int], extra: int) -> None:
    count = len(masks) + extra
    steps = Steps(count).allot(masks)
    assert sum(steps) == min(count, sum(masks))
    assert all(1 <= s <= m for s, m in zip(steps, masks, strict=True))
    crowded = max(m / s for m, s in zip(masks, steps, strict=True))
    for m, s in zip(masks, steps, strict=True):  # no step would serve better in another block
        assert s == 1 or m / (s - 1) >= crowded


def test_bad_schedules_are_refused() -> None:
    for build, text in (
        (lambda: TokensPerStep(0), "k must be at least 1; got 0"),
        (lambda: Steps(0), "count must be at least 1"),
        (lambda: Steps(4, "sine"), "unknown.*'sine'.*Available: cosine, linear"),
        (lambda: Steps(2).allot([4, 4, 4]), "2 steps for 3 blocks"),
        (lambda: TokensPerStep(1.5), "k must be int"),  # type: ignore[arg-type]
        (lambda: TokensPerStep(True), "k must be int"),
    ):
        with pytest.raises(OptionError, match=text):
            build()


def test_tokens_per_step_allots_a_step_for_the_remainder() -> None:
    assert TokensPerStep(3).allot([10, 3, 1]) == [4, 1, 1]


def test_ties_for_a_step_go_to_the_left() -> None:
    assert Steps(5).allot([4, 4, 4]) == [2, 2, 1]
