"""Laws of committing: what is written, how much, and that nothing else ever changes."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch

import infogain
from infogain import Canvas, Result, Steps
from infogain.algorithm.schedule import Schedule, TokensPerStep
from infogain.samplers import Sampler
from tests.cases import ALL, LAYOUTS, LENGTH, MODEL, Layout, label, rows

SCHEDULES: list[Schedule] = [
    TokensPerStep(1),
    TokensPerStep(2),
    TokensPerStep(3),
    Steps(4),
    Steps(4, shape="cosine"),
    Steps(100),
]


def decode(sampler: Sampler, layout: Layout, schedule: Schedule, infill: bool = False) -> Result:
    return infogain.decode(MODEL, layout.canvas(MODEL, infill), sampler, schedule=schedule, block=layout.block, seed=3)


def steps_of(result: Result) -> dict[tuple[int, int, int], list[int]]:
    """Tokens committed in each step of each (prompt, copy, block)."""
    assert result.trace is not None
    committed: dict[tuple[int, int, int], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for step in result.trace.steps:
        for row in step.rows:
            for candidate in row.candidates:
                if candidate.kept:
                    committed[row.prompt, row.copy, row.start][step.step].add(len(candidate.columns))
    for steps in committed.values():
        assert all(len(counts) == 1 for counts in steps.values()), "hypotheses of a group move in step"
    return {key: [counts.pop() for _, counts in sorted(steps.items())] for key, steps in committed.items()}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_a_decode_keeps_the_laws_of_committing(sampler: Sampler, layout: Layout, schedule: Schedule) -> None:
    result = decode(sampler, layout, schedule)
    check_filled(result, layout.canvas(MODEL))
    check_budgets(result, sampler, layout, schedule)
    check_blocks(result, layout)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_infilling_is_decoding(sampler: Sampler, layout: Layout) -> None:
    result = decode(sampler, layout, TokensPerStep(2), infill=True)
    check_filled(result, layout.canvas(MODEL, infill=True))
    check_blocks(result, layout)


def check_filled(result: Result, canvas: Canvas) -> None:
    """Every mask is filled with a real token, and nothing else changes."""
    assert (result.tokens < MODEL.vocab_size).all()
    assert not (result.tokens[canvas.inside] == MODEL.mask_id).any()
    assert torch.equal(result.tokens[~canvas.masked], canvas.tokens[~canvas.masked])
    assert result.committed.tolist() == canvas.masked.sum(-1).tolist()


def check_budgets(result: Result, sampler: Sampler, layout: Layout, schedule: Schedule) -> None:
    """Budgeted samplers meet every K_t exactly, with and without bypass; adaptive ones commit at least one token."""
    for (prompt, _, start), committed in steps_of(result).items():
        masks = min(layout.block or LENGTH, layout.prompts[prompt] + layout.lengths[prompt] - start)
        assert sum(committed) == masks
        assert min(committed) >= 1
        if sampler.traits.adaptive:
            continue
        if isinstance(schedule, TokensPerStep):
            remainder = masks % schedule.k
            assert committed == [schedule.k] * (masks // schedule.k) + [remainder] * (remainder > 0)
        elif schedule == Steps(4):
            assert max(committed) - min(committed) <= 1, "a linear schedule spreads the remainder"
        elif schedule == Steps(4, shape="cosine"):
            assert committed[-1] >= committed[0], "a cosine schedule starts slowly"
        else:
            assert set(committed) == {1}
    if isinstance(schedule, Steps) and not sampler.traits.adaptive:
        for prompt, length in enumerate(layout.lengths):
            steps = sum(len(c) for (p, copy, _), c in steps_of(result).items() if (p, copy) == (prompt, 0))
            assert steps == min(schedule.count, length)


def check_blocks(result: Result, layout: Layout) -> None:
    """Blocks go left to right, and a step writes only masked columns of the block it is in."""
    assert result.trace is not None
    latest: dict[tuple[int, int], int] = defaultdict(lambda: -1)
    for step in result.trace.steps:
        for row in step.rows:
            assert row.start >= latest[row.prompt, row.copy], "an earlier block was opened again"
            latest[row.prompt, row.copy] = row.start
            for candidate in row.candidates:
                assert set(candidate.columns) <= set(row.columns)
                assert all(0 <= column - row.start < (layout.block or LENGTH) for column in candidate.columns)


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_random_block_order_visits_every_block_once(sampler: Sampler) -> None:
    canvas = LAYOUTS[4].canvas(MODEL)
    orders = set()
    for seed in range(4):
        result = infogain.decode(MODEL, canvas, sampler, block=2, order="random", seed=seed)
        assert result.trace is not None
        assert result.committed.tolist() == canvas.masked.sum(-1).tolist()
        starts = [row.start for step in result.trace.steps for row in step.rows if (row.prompt, row.copy) == (2, 0)]
        visits = [start for i, start in enumerate(starts) if i == 0 or start != starts[i - 1]]
        assert sorted(visits) == [0, 2, 4, 6]
        orders.add(tuple(visits))
    assert len(orders) > 1


@pytest.mark.parametrize("order", ["sequence", "random"])
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_every_written_column_knows_its_step(sampler: Sampler, order: str) -> None:
    """Steps are those of the row, over all its blocks: 0, 1, 2 … without a gap, whatever stands beside it."""
    canvas = LAYOUTS[4].canvas(MODEL, infill=True)
    result = infogain.decode(MODEL, canvas, sampler, schedule=2, block=3, order=order)
    assert torch.equal(result.revealed >= 0, canvas.masked)
    for i, steps in enumerate(result.revealed.tolist()):
        seen = [step for step in steps if step >= 0]
        assert set(seen) == set(range(max(seen) + 1))
        alone = infogain.decode(
            MODEL, rows(canvas, [i]), sampler, schedule=2, block=3, order=order, seeds=[result.seeds[i]]
        )
        assert alone.revealed[0].tolist() == steps[: alone.revealed.shape[1]]
