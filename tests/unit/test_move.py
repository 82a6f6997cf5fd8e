"""A new file: tests/unit/test_move.py. Which candidates count as the same."""

from __future__ import annotations

from dataclasses import replace

import torch

from infogain import TokensPerStep
from infogain.marginals import Marginals
from infogain.move import Move, Verdict, _distinct
from infogain.samplers import make
from infogain.state import Candidates, Draft, State

MASK = 9


def drafts(tokens: list[list[int]], cost: list[float], row: list[int] | None = None) -> Draft:
    """Hypotheses of one group in a block at column 0; the mask id marks what is masked."""
    table = torch.tensor(tokens)
    zero = torch.zeros(len(tokens), dtype=torch.int64)
    spent = torch.tensor(cost, dtype=torch.float64)
    rows = torch.tensor(row) if row else zero
    return Draft(
        rows, zero, zero, zero, zero, zero + 9, zero + table.shape[1], spent, zero, table, table == MASK, table
    )


def distinct(draft: Draft, parent: list[int]) -> list[bool]:
    nothing = torch.zeros_like(draft.masked)
    a = Candidates(torch.tensor(parent), nothing, draft.tokens)
    kept: list[bool] = _distinct(a, draft, ~draft.masked.any(-1)).tolist()
    return kept


def test_of_equal_canvases_the_cheapest_stays_and_of_equal_costs_the_first() -> None:
    same = [[1, 2, MASK]] * 3
    assert distinct(drafts(same, [2.0, 1.0, 3.0]), [0, 1, 2]) == [False, True, False]
    assert distinct(drafts(same, [1.0, 1.0, 1.0]), [0, 1, 2]) == [True, False, False]


def test_equal_blocks_on_different_rows_are_different_canvases() -> None:
    """Hypotheses that wrote different earlier blocks may well agree on this one."""
    assert distinct(drafts([[1, 2, MASK]] * 2, [1.0, 1.0], row=[0, 1]), [0, 1]) == [True, True]


def test_where_a_token_stands_matters() -> None:
    assert distinct(drafts([[1, MASK, MASK], [MASK, 1, MASK]], [1.0, 1.0]), [0, 0]) == [True, True]
    assert distinct(drafts([[1, 2, MASK], [2, 1, MASK]], [1.0, 1.0]), [0, 0]) == [True, True]


def test_the_last_step_keeps_the_first_candidate_of_each_hypothesis() -> None:
    ends = drafts([[1, 2], [2, 2], [1, 1], [1, 2]], [1.0, 0.0, 1.0, 0.0])
    assert distinct(ends, [0, 0, 1, 1]) == [True, False, True, False]
    assert distinct(drafts([[1, 2]] * 2, [2.0, 1.0]), [0, 1]) == [False, True]


def test_a_beam_with_one_candidate_each_is_still_made_distinct() -> None:
    logits = torch.zeros(1, 2, 3, dtype=torch.float64)
    logits[..., 1] = 1.0
    one = drafts([[MASK, MASK, 1]], [0.0])
    z: State = one.seen(Marginals.of(torch.cat([logits, logits[:, :1]], 1), MASK))
    twice = z.join(replace(z, cost=z.cost + 1))
    sampler = make("info-gain-beam", n=1, tau_token=0.0)
    move = Move.propose(twice, sampler, TokensPerStep(1), MASK, None)
    assert [Verdict(*numbers).distinct for numbers in move.unread.tolist()] == [1, 0]
