"""What the host makes of a step's candidates, and which of them count as the same."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from infogain import TokensPerStep
from infogain.algorithm.state import LINES, PROMISES, CandidateFacts, Draft, State
from infogain.loop.scheduler import distinct
from infogain.loop.step import propose, read_back
from infogain.samplers import make
from tests.cases import draft_of, marginals

MASK = 9


def drafts(tokens: list[list[int]], cost: list[float], row: list[int] | None = None) -> Draft:
    """Hypotheses of one attempt in a block at column 0; the mask id marks what is masked."""
    shown, spent = torch.tensor(tokens), torch.tensor(cost, dtype=torch.float64)
    rows = torch.tensor(row) if row else 0
    return draft_of(shown, shown == MASK, spent, row=rows, steps_allotted=9, block_masks=shown.shape[1])


SOUND = CandidateFacts(
    0.0, 1.0, parent=0, commits=1, erases=0, forbidden=0, lowest=0, highest=MASK, left=1, eos=0, row=0, fingerprint=0
)


def kept(draft: Draft, parent: list[int]) -> list[int]:
    """Which candidates that lead to these canvases are left."""
    columns = (draft.cost, torch.tensor(parent), draft.left, draft.row, draft.fingerprint())
    rows = zip(*(column.tolist() for column in columns), strict=True)
    names = ("cost", "parent", "left", "row", "fingerprint")
    return distinct([SOUND._replace(**dict(zip(names, row, strict=True))) for row in rows])


def test_of_equal_canvases_the_cheapest_stays_and_of_equal_costs_the_first() -> None:
    same = [[1, 2, MASK]] * 3
    assert kept(drafts(same, [2.0, 1.0, 3.0]), [0, 1, 2]) == [1]
    assert kept(drafts(same, [1.0, 1.0, 1.0]), [0, 1, 2]) == [0]


def test_equal_blocks_on_different_rows_are_different_canvases() -> None:
    """Hypotheses that wrote different earlier blocks may well agree on this one."""
    assert kept(drafts([[1, 2, MASK]] * 2, [1.0, 1.0], row=[0, 1]), [0, 1]) == [0, 1]


def test_where_a_token_stands_matters() -> None:
    assert kept(drafts([[1, MASK, MASK], [MASK, 1, MASK]], [1.0, 1.0]), [0, 0]) == [0, 1]
    assert kept(drafts([[1, 2, MASK], [2, 1, MASK]], [1.0, 1.0]), [0, 0]) == [0, 1]


def test_no_two_small_blocks_share_a_fingerprint() -> None:
    every = torch.cartesian_prod(*[torch.arange(12)] * 4).tolist()
    assert len(set(drafts(every, [0.0] * len(every)).fingerprint().tolist())) == len(every)


def test_the_last_step_keeps_the_first_candidate_of_each_hypothesis() -> None:
    ends = drafts([[1, 2], [2, 2], [1, 1], [1, 2]], [1.0, 0.0, 1.0, 0.0])
    assert kept(ends, [0, 0, 1, 1]) == [0, 2]
    assert kept(drafts([[1, 2]] * 2, [2.0, 1.0]), [0, 1]) == [1]
    assert kept(drafts([[1, 1], [1, 2], [1, 2]], [0.0, 0.0, 1.0]), [0, 0, 1]) == [0, 2], "the second does not count"


def test_a_beam_with_one_candidate_each_is_still_made_distinct() -> None:
    logits = torch.zeros(1, 2, 3, dtype=torch.float64)
    logits[..., 1] = 1.0
    one = drafts([[MASK, MASK, 1]], [0.0])
    z: State = one.with_marginals(marginals(torch.cat([logits, logits[:, :1]], 1), MASK))
    twice = z.join(replace(z, cost=z.cost + 1))
    sampler = make("info-gain-beam", n=1, tau_token=0.0)
    proposal = propose(twice, sampler, TokensPerStep(1), MASK, None)
    assert distinct(read_back({0: proposal})[0]) == [0]


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        ({}, None),
        ({"remaining": math.nan, "cost": math.nan}, "no_distribution"),
        ({"remaining": math.inf}, "no_distribution"),
        ({"commits": 2}, "outside"),
        ({"erases": 1}, "outside"),
        ({"erases": 1, "left": 2}, None),
        ({"forbidden": 1}, "no_token"),
        ({"lowest": -1}, "no_token"),
        ({"highest": MASK + 1}, "no_token"),
        ({"cost": math.nan}, "no_score"),
        ({"commits": 0, "left": 2}, "empty"),
    ],
)
def test_the_numbers_tell_which_promise_is_broken(change: dict[str, Any], promise: str | None) -> None:
    assert SOUND._replace(**change).broken(before=2, vocab_size=MASK + 1) == promise
    assert promise is None or promise in PROMISES


def test_lines_of_the_table_are_named_and_picked_together() -> None:
    draft = drafts([[1, MASK, 3], [MASK, MASK, 2], [4, 4, 4]], [0.5, 1.5, 2.5], row=[2, 0, 1])
    draft = draft.with_line("step", torch.tensor([3, 4, 5])).with_line("seed", torch.tensor([-1, 2**62, 7]))
    assert (draft.step.tolist(), draft.seed.tolist()) == ([3, 4, 5], [-1, 2**62, 7])
    index = torch.tensor([2, 0])
    picked = draft.draft(index)
    for name in (*LINES, "cost", "tokens", "masked", "revealed"):
        assert getattr(picked, name).tolist() == getattr(draft, name)[index].tolist(), name
    assert picked.left.tolist() == [0, 1]
    moved = picked.with_line("start", picked.start + 8)
    assert moved.column.tolist() == (picked.column + 8).tolist()
    assert moved.draft(torch.tensor([1])).start.tolist() == [8]
    assert picked.start.tolist() == [0, 0], "a line is changed in a copy"
