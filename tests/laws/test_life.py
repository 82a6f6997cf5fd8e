"""Laws of a life without end: lanes open and close, rows come, are cancelled and leave, and none of it is seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import infogain
from infogain import Canvas, InputError, Lane, Recipe, Result, StepEvent, TokensPerStep
from infogain.algorithm import noise
from infogain.loop.batch import Batch
from infogain.models import Denoiser, Tabular, random_joint
from infogain.samplers import Sampler, make
from tests.ailing import run
from tests.cases import label
from tests.laws.test_backbone import model_of
from tests.laws.test_company import SAMPLERS, assert_alike
from tests.laws.test_failures import assert_to_the_bit

JOINT = random_joint(10, 3, seed=5, support=300)
CAUSAL = Tabular(JOINT.sequences, JOINT.weights.long(), JOINT.mask_id, attention_block=2)
MASK = JOINT.mask_id
CANVAS = Canvas.from_prompts([[0], [1, 0], [0, 1, 1], [2], [1], [0, 0]], [9, 4, 7, 2, 6, 8], MASK)


def row_alone(model: Denoiser, recipe: Recipe, row: list[int], seed: int) -> Result:
    return infogain.decode_lanes(model, [Lane(Canvas.infill([row], model.mask_id), recipe, [seed])])[0]


def batch_of(lane: Lane, model: Denoiser = JOINT, steps: int = 0) -> Batch:
    batch = Batch(model, trace=True)
    batch.open(lane)
    for _ in range(steps):
        batch.step()
    return batch


# cancelling


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=label)
def test_of_a_row_that_is_cancelled_nothing_leaves_and_nobody_sees_it(sampler: Sampler, steps: int) -> None:
    """In flight, between two blocks, waiting, or finished and not left yet."""
    for max_in_flight in (None, 2):
        lane = Lane(CANVAS, Recipe(sampler, block=3, seed=6), max_in_flight=max_in_flight)
        batch = batch_of(lane, steps=steps)
        gone = {0, 3, 5}
        batch.cancel(0, gone)
        batch.cancel(0, gone)
        done, masks = batch.lanes[0].scheduler.masks_done, batch.lanes[0].scheduler.masks_admitted
        assert masks >= done
        came = run(batch)
        assert {row for _, row in came} == {1, 2, 4}
        for (_, row), left in came.items():
            alike = row_alone(JOINT, lane.recipe, CANVAS.rows()[row], lane.row_seeds[row])
            assert_to_the_bit(alike, left.result)
        assert batch.lanes[0].scheduler.masks_done == batch.lanes[0].scheduler.masks_admitted


def test_a_row_that_waits_takes_the_place_of_one_that_was_cancelled() -> None:
    batch = batch_of(Lane(CANVAS, Recipe(make("entropy"), block=3), max_in_flight=2), steps=2)
    scheduler = batch.lanes[0].scheduler
    first = set(scheduler.in_flight)
    batch.cancel(0, first)
    assert not scheduler.in_flight
    batch.step()
    assert len(scheduler.in_flight) == 2
    assert first.isdisjoint(scheduler.in_flight)


def test_progress_ends_equal_whatever_was_cancelled() -> None:
    lane = Lane(
        CANVAS, Recipe(make("best-of-n", n=2, base="ar"), TokensPerStep(2), block=3, eos_ids=(1,)), max_in_flight=3
    )
    for steps in range(8):
        batch, events = batch_of(lane), list[StepEvent]()
        while batch.live:
            events += batch.step()
            if len(events) == steps:
                batch.cancel(0, [2, 4])
        assert all(event.done <= event.total for event in events)
        assert events[-1].done == events[-1].total


def test_only_rows_that_were_admitted_can_be_cancelled() -> None:
    batch = batch_of(Lane(CANVAS, Recipe(make("ar"))), steps=2)
    for wrong in ([6], [-1], [0, 99]):
        with pytest.raises(InputError, match="0 to 5"):
            batch.cancel(0, wrong)
    with pytest.raises(InputError, match="lane must be open"):
        batch.cancel(1, [0])
    assert len(run(batch)) == 6, "and none was"
    batch.cancel(0, [0, 5])  # they have left: nothing to do
    assert not batch.live


def test_nothing_is_kept_of_what_was_cancelled() -> None:
    batch = batch_of(Lane(CANVAS, Recipe(make("info-gain"), block=3), max_in_flight=4), steps=3)
    batch.close(0)
    batch.cancel(0, range(6))
    assert (batch.lanes, batch.live) == ({}, False)
    assert batch.contexts.canvas is batch.contexts.context is None
    number = batch.open(Lane(CANVAS, Recipe(make("ar"))))
    for _ in range(5):
        batch.step()
        batch.cancel(number, range(batch.lanes[number].scheduler.admitted))
        batch.admit(number, CANVAS)
    scheduler = batch.lanes[number].scheduler
    rows = (*scheduler.in_flight.values(), *scheduler.waiting, *scheduler.finished)
    assert [request.row for request in rows] == list(range(30, 36))
    assert not any(request.records for request in rows)


# coming and going


def test_rows_are_numbered_as_they_come_and_drawn_by_their_numbers() -> None:
    """A row admitted later comes out as though it had been there from the start."""
    whole = Lane(CANVAS.join(CANVAS), Recipe(make("info-gain", n=3), block=4, seed=8))
    batch = batch_of(replace(whole, canvas=CANVAS.take(slice(0, 2))), steps=1)
    assert batch.admit(0, CANVAS.take(slice(2, 6))) == range(2, 6)
    batch.step()
    assert batch.open(Lane(CANVAS, Recipe(make("ar")))) == 1
    assert batch.admit(1, CANVAS) == range(6, 12)
    assert batch.admit(0, CANVAS) == range(6, 12)
    came, together = run(batch), infogain.decode_lanes(JOINT, [whole])[0]
    for row in range(12):
        assert came[0, row].result.seeds == [together.seeds[row]]
        assert_alike(came[0, row].result, together, row, int(together.length[row]))
    assert noise.row_seeds(8, 4, 2) == noise.row_seeds(8, 6)[2:]


def test_lanes_close_and_their_numbers_are_not_given_again() -> None:
    batch = batch_of(Lane(CANVAS, Recipe(make("ar")), max_in_flight=2))
    batch.step()
    batch.close(0)
    with pytest.raises(InputError, match="closed"):
        batch.admit(0, CANVAS)
    assert batch.open(Lane(CANVAS, Recipe(make("entropy")))) == 1
    came = run(batch)
    assert {lane for lane, _ in came} == {0, 1}
    assert len(came) == 12, "what it had is decoded"
    assert list(batch.lanes) == [1]
    batch.cancel(0, [0])  # who cancels may be late
    for wrong in (lambda: batch.close(0), lambda: batch.admit(0, CANVAS), lambda: batch.cancel(2, [0])):
        with pytest.raises(InputError, match=r"[02] is not\. Open are \[1\]"):
            wrong()
    batch.close(1)
    assert not batch.lanes
    assert batch.open(Lane(CANVAS, Recipe(make("ar")))) == 2


REFUSED: dict[str, Callable[[Batch], Any]] = {
    "seeds": lambda batch: batch.admit(0, CANVAS, [1]),
    "large seeds": lambda batch: batch.admit(0, CANVAS, [2**63] * 6),
    "mask": lambda batch: batch.admit(0, Canvas.infill([[0, 7]], 7)),
    "tokens": lambda batch: batch.admit(0, Canvas.infill([[9, MASK]], MASK)),
    "lane": lambda batch: batch.admit(5, CANVAS),
    "width": lambda batch: batch.open(Lane(CANVAS, Recipe(make("ar"), block=4))),
    "order": lambda batch: batch.open(Lane(CANVAS, Recipe(make("ar"), block=2, order="random"))),
    "at once": lambda batch: batch.open(Lane(CANVAS, Recipe(make("ar"), block=2), max_in_flight=0)),
    "shared": lambda batch: batch.share(Lane(CANVAS, Recipe(make("ar"), block=2), [1, 2])),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_refused_changes_nothing(wrong: str) -> None:
    lane = Lane(CANVAS, Recipe(make("ar"), block=2, seed=1))
    batch = batch_of(lane, CAUSAL, steps=2)
    with pytest.raises(InputError):
        REFUSED[wrong](batch)
    assert batch.opened == 1
    assert batch.lanes[0].scheduler.admitted == 6
    came = run(batch)
    for row, seed in enumerate(lane.row_seeds):
        assert_to_the_bit(row_alone(CAUSAL, lane.recipe, CANVAS.rows()[row], seed), came[0, row].result)


def test_rows_of_equal_recipes_share_a_lane_and_keep_their_seeds() -> None:
    batch = Batch(JOINT, trace=True)
    recipes = [Recipe(make("info-gain", n=3), block=3, seed=seed) for seed in (1, 2, 3)]
    assert [batch.share(Lane(CANVAS, recipe)) for recipe in recipes] == [(0, range(6 * i, 6 * i + 6)) for i in range(3)]
    assert batch.share(Lane(CANVAS, Recipe(make("info-gain", n=4), block=3))) == (1, range(6))
    assert batch.share(Lane(CANVAS, Recipe(make("info-gain", n=3), block=4))) == (2, range(6))
    assert batch.share(Lane(CANVAS, recipes[0], max_in_flight=2)) == (3, range(6))
    batch.close(0)
    assert batch.share(Lane(CANVAS, recipes[0])) == (4, range(6))
    came = run(batch)
    for i, recipe in enumerate(recipes):
        lane = Lane(CANVAS, recipe)
        for row in range(6):
            result = came[0, 6 * i + row].result
            assert result.trace is not None
            assert result.recipe["seed"] == result.trace.recipe["seed"] == recipe.seed
            assert_to_the_bit(row_alone(JOINT, recipe, CANVAS.rows()[row], lane.row_seeds[row]), result)


MODELS: dict[str, Callable[[], Denoiser]] = {
    "exact": lambda: JOINT,
    "block-causal": lambda: CAUSAL,
    "dual cache": lambda: model_of("llada", "dual", refresh=2),
    "prefix cache": lambda: model_of("dream", "prefix", refresh=3),
    "network, block-causal": lambda: model_of("sdar", None),
}


class Driver:
    """Opens, admits, cancels, closes, steps and looks at random, and notes what ought to leave."""

    def __init__(self, model: Denoiser, seed: int) -> None:
        self.model, self.random, self.batch = model, random.Random(seed), Batch(model, trace=True)
        self.expected: dict[tuple[int, int], tuple[Recipe, list[int], int]] = {}
        self.came: dict[tuple[int, int], Result] = {}

    def rows(self) -> Canvas:
        words = [0, 1, 2, *[self.model.mask_id] * 4]
        rows = [self.random.choices(words, k=self.random.randint(1, 9)) for _ in range(self.random.randint(1, 3))]
        return Canvas.infill([[self.random.randint(0, 2), *row] for row in rows], self.model.mask_id)

    def note(self, lane: int, numbers: Sequence[int], canvas: Canvas, seeds: Sequence[int], recipe: Recipe) -> None:
        for number, row, seed in zip(numbers, canvas.rows(), seeds, strict=True):
            self.expected[lane, number] = recipe, row, seed

    def open(self) -> None:
        causal = self.model.attention_block
        recipe = Recipe(
            self.random.choice(SAMPLERS),
            TokensPerStep(self.random.randint(1, 2)),
            block=causal or self.random.choice([None, 2, 3]),
            eos_ids=self.random.choice([(), (1,)]),
            seed=self.random.randint(0, 99),
        )
        lane = Lane(self.rows(), recipe, max_in_flight=self.random.choice([None, 1, 2]))
        self.note(*self.batch.share(lane), lane.canvas, lane.row_seeds, recipe)

    def act(self) -> None:
        lanes = [number for number, lane in self.batch.lanes.items() if not lane.closed]
        what = self.random.choices(["open", "admit", "cancel", "close", "step", "look"], [2, 4, 1, 1, 10, 2])[0]
        if what == "open" or not lanes:
            self.open()
        elif what == "admit":
            number, canvas = self.random.choice(lanes), self.rows()
            seeds = [self.random.randint(-(2**63), 2**63 - 1) for _ in canvas.length]
            self.note(
                number, self.batch.admit(number, canvas, seeds), canvas, seeds, self.batch.lanes[number].lane.recipe
            )
        elif what == "cancel":
            number = self.random.choice(list(self.batch.lanes))
            rows = [row for lane, row in self.expected if lane == number and self.random.random() < 0.3]
            self.batch.cancel(number, rows)
            for row in rows:
                if (number, row) not in self.came:
                    del self.expected[number, row]
        elif what == "close":
            self.batch.close(self.random.choice(lanes))
        elif what == "look":
            flying = {(number, row) for number, lane in self.batch.lanes.items() for row in lane.scheduler.in_flight}
            assert {view[:2] for view in self.batch.snapshot()} == flying
        else:
            self.batch.step()
            self.leave()

    def leave(self) -> None:
        for lane, row, result, error in self.batch.leave():
            assert error is None
            assert (lane, row) in self.expected
            assert (lane, row) not in self.came
            self.came[lane, row] = result

    def finish(self) -> None:
        while self.batch.live:
            self.batch.step()
            self.leave()
        self.leave()
        assert self.came.keys() == self.expected.keys()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MODELS)
def test_rows_that_come_at_any_time_to_any_lane_come_out_as_alone(name: str, seed: int) -> None:
    driver = Driver(MODELS[name](), seed)
    for _ in range(80):
        driver.act()
    driver.finish()
    assert len(driver.came) > 10
    for key, (recipe, row, number) in driver.expected.items():
        recipe = replace(recipe, block=driver.model.attention_block or recipe.block)
        single, result = row_alone(driver.model, recipe, row, number), driver.came[key]
        assert_alike(single, result, 0, len(row))
        if isinstance(driver.model, Tabular):
            assert single.cumulative_entropy == result.cumulative_entropy
            assert single.trace is not None
            assert result.trace is not None
            assert single.trace.steps == result.trace.steps
