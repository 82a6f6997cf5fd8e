"""Laws of looking, and of width: a snapshot shows what the steps told; blocks are as wide as the widest there is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from infogain import Canvas, Lane, NumericsError, Recipe, TokensPerStep, Trace
from infogain.loop.batch import Batch
from infogain.loop.trace import Story
from infogain.models import Denoiser
from infogain.samplers import Sampler, make
from tests.ailing import Ailing, run
from tests.cases import ALL, label
from tests.laws.test_backbone import CASES, SPECS, model_of
from tests.laws.test_company import assert_alike
from tests.laws.test_forwards import NoReadBack
from tests.laws.test_life import CANVAS, JOINT, MASK, batch_of
from tests.laws.test_queue import alone


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_a_snapshot_shows_what_the_steps_have_told(sampler: Sampler) -> None:
    """A row of several hypotheses, in a beam or as independent copies, is shown as the one of least H̃."""
    for eos_ids, max_in_flight in (((), None), ((1,), 2)):
        lane = Lane(
            CANVAS, Recipe(sampler, TokensPerStep(2), block=3, eos_ids=eos_ids, seed=2), max_in_flight=max_in_flight
        )
        batch, story = batch_of(lane), Story(Trace(lane.recipe.plain(), MASK, CANVAS.rows()))
        while True:
            views = batch.snapshot()
            assert sorted(view.row for view in views) == sorted(batch.lanes[0].scheduler.in_flight)
            for view in views:
                told = story.best(view.row)
                assert view.cost == told.cost
                assert view.tokens == told.tokens
            if not batch.live:
                break
            for event in batch.step():
                story.follow(event.record())


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ALL[::3], ids=label)
def test_looking_changes_nothing_and_reads_back_once(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = [Lane(CANVAS, Recipe(sampler, block=block, seed=2), max_in_flight=3) for block in (2, 4)]
    batch, fetched = Batch(JOINT, trace=True), list[Any]()
    for lane in lanes:
        batch.open(lane)
    fetch = Tensor.cpu
    monkeypatch.setattr(Tensor, "cpu", lambda self: fetched.append(fetch(self)) or fetched[-1])  # type: ignore[func-returns-value]
    came = {left[:2]: left.result for left in batch.leave()}
    while batch.live:
        fetched.clear()
        with torch.inference_mode(), NoReadBack():
            batch.step()
            assert len(fetched) == 1, "a step's own"
            views = batch.snapshot()
        assert len(fetched) == 1 + bool(views)
        came |= {left[:2]: left.result for left in batch.leave()}
    for (number, row), result in came.items():
        single = alone(JOINT, lanes[number], row)
        assert single.trace == result.trace
        assert single.cumulative_entropy == result.cumulative_entropy
    assert batch.snapshot() == []


BIDIRECTIONAL = [case for case in CASES if not SPECS[case[0]].block]  # of the others, all blocks are equally wide
WAYS = ("finishes", "is cancelled", "fails")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("family", "cache"), [("exact", None), *BIDIRECTIONAL])
def test_blocks_are_narrow_again_when_the_widest_row_has_left(family: str, cache: str | None, way: str) -> None:
    """The wide row has a mask at each end, or falls ill; the others are narrow and take longer."""
    inner: Denoiser = JOINT if family == "exact" else model_of(family, cache)
    mask = inner.mask_id
    model = Ailing(inner, 2, lambda start, left: left == 1) if way == "fails" else inner
    filled = 1 if way == "finishes" else 6
    wide = [2, mask, *[0] * (7 - filled), *[mask] * filled]
    rows = Canvas.infill([wide, [0, *[mask] * 5, 1, 0], [1, 0, *[mask] * 4, 1, 1, 0]], mask)
    for sampler in (make("entropy"), make("klass"), make("info-gain-beam", n=3, width=2)):
        lanes = [Lane(rows.take(slice(0, 2)), Recipe(sampler, seed=1)), Lane(rows.take(slice(2, 3)), Recipe(sampler))]
        batch = Batch(model, trace=True)
        for lane in lanes:
            batch.open(lane)
        batch.step()
        assert batch.contexts.width == 8
        assert all(lane.z is not None and lane.z.tokens.shape[1] == 8 for lane in batch.lanes.values())
        batch.step()
        if way == "is cancelled":
            batch.cancel(0, [0])
        while 0 in batch.lanes[0].scheduler.in_flight:
            batch.step()
        batch.step()
        assert batch.contexts.width == 5 or not batch.live
        assert all(lane.z is None or lane.z.tokens.shape[1] == 5 for lane in batch.lanes.values())
        came = run(batch)
        if way == "fails":
            assert isinstance(came.pop((0, 0)).error, NumericsError)
        for (number, row), left in came.items():
            assert left.error is None
            assert_alike(alone(inner, lanes[number], row), left.result, 0, int(left.result.length))
