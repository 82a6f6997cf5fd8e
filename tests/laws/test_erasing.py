"""Laws of erasing: what was written may be masked again, and is paid for each time it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, ContractError, Lane, Recipe, Result, Steps, TokensPerStep, Trace
from infogain.algorithm.state import PROMISES, STEPS_PER_MASK, Candidates, State
from infogain.loop.batch import Batch
from infogain.loop.trace import Hypothesis, Story, tell
from infogain.models import Denoiser, Tabular, random_joint
from infogain.samplers import Sampler, make
from infogain.view.data import data
from tests.ailing import run, unruly
from tests.cases import label
from tests.laws.test_backbone import CASES, model_of
from tests.laws.test_company import assert_alike
from tests.laws.test_queue import alone

MODEL = random_joint(10, 3, seed=5, support=300)
CAUSAL = Tabular(MODEL.sequences, MODEL.weights.long(), MODEL.mask_id, attention_block=2)
MASK = MODEL.mask_id
Where = Callable[[State], Tensor]  # columns to erase [R, W]


def erasing(base: Sampler, where: Where, mask: int = MASK, only: bool = False, admits: bool = True) -> Sampler:
    """A sampler that erases columns besides what `base` writes or, `only`, in its stead; `admits` that it does."""

    class Eraser(type(base)):  # type: ignore[misc]
        @property
        def traits(self) -> Any:
            return replace(super().traits, erases=admits)

        def propose(self, z: State, budget: Tensor) -> Any:
            a = super().propose(z, budget)
            gone = where(z)[a.parent]
            spared = gone.any(-1, keepdim=True) & only
            return replace(a, chosen=(a.chosen & ~spared) | gone, tokens=a.tokens.masked_fill(gone, mask))

    sampler: Sampler = Eraser(**vars(base))
    return sampler


def one_in_three(z: State) -> Tensor:
    """In every third step of a block, what was written first of what stands there."""
    written = z.revealed >= 0
    first = z.revealed.where(written, 10**6)
    return written & (first == first.amin(-1, keepdim=True)) & (z.step % 3 == 2)[:, None]


def longest_ago(z: State) -> Tensor:
    """At most one column a step: of those that were written together, the left one."""
    gone = one_in_three(z)
    return gone & (gone.cumsum(-1) == 1)


BASES = [
    make("entropy"),
    make("eb", bound=1.0),
    make("info-gain", n=4, gamma=1.0),
    make("info-gain-beam", n=3, width=3),
]
SAMPLERS = [erasing(base, longest_ago) for base in BASES]
SAMPLERS.append(erasing(make("info-gain", n=3), longest_ago, only=True))
SAMPLERS.append(make("best-of-n", n=2, base=SAMPLERS[0]))
IDS = [*map(label, BASES), "instead", "best-of-n"]
HOLES = Canvas.infill(
    [[*[MASK] * 10], [0, 1, *[MASK] * 5], [MASK, 1, MASK, MASK, 0, MASK, MASK], [2, MASK], [0, 0, *[MASK] * 7, 1]], MASK
)
LAYOUTS: list[tuple[Denoiser, Recipe]] = [
    (MODEL, Recipe(SAMPLERS[0], TokensPerStep(1), seed=1)),
    (MODEL, Recipe(SAMPLERS[0], TokensPerStep(2), block=5, seed=2)),
    (MODEL, Recipe(SAMPLERS[0], Steps(8, "cosine"), block=5, order="random", seed=3)),
    (CAUSAL, Recipe(SAMPLERS[0], TokensPerStep(1), block=4, eos_ids=(1,), seed=4)),
]


def decoded(sampler: Sampler) -> list[tuple[Denoiser, Lane, Result]]:
    lanes = [(model, Lane(HOLES, replace(recipe, sampler=sampler), max_in_flight=2)) for model, recipe in LAYOUTS]
    return [(model, lane, infogain.decode_lanes(model, [lane])[0]) for model, lane in lanes]


def paid(best: Hypothesis) -> tuple[int, int, float]:
    """Columns that were written and erased on the way to a hypothesis, and the entropy of all that were written."""
    written, erased, cost = 0, 0, 0.0
    for row, candidate in best.moves:
        entropy = dict(zip(row.columns, row.entropy, strict=True))
        for column, token in zip(candidate.columns, candidate.tokens, strict=True):
            written, erased = written + (token != MASK), erased + (token == MASK)
            cost += entropy[column] if token != MASK else 0.0
    return written, erased, cost


@pytest.mark.parametrize("sampler", SAMPLERS, ids=IDS)
def test_what_is_written_less_what_is_erased_fills_the_masks(sampler: Sampler, tmp_path: Path) -> None:
    erasures = 0
    for _, _, result in decoded(sampler):
        assert isinstance(result.trace, Trace)
        result.trace.save(tmp_path / "trace.jsonl")
        loaded = Trace.load(tmp_path / "trace.jsonl")
        assert loaded == result.trace
        story = tell(loaded, "a trace")
        for row in range(len(result.length)):
            best = story.best(row)
            written, erased, cost = paid(best)
            erasures += erased
            masks = int((result.generated & ~result.skipped)[row].sum())
            assert written - erased == masks == result.committed[row]
            assert cost == pytest.approx(float(result.cumulative_entropy[row]), abs=1e-9)
            assert best.cost == result.cumulative_entropy[row]
            stands = (~result.skipped[row, : int(result.length[row])]).tolist()
            shown = zip(best.tokens, result.tokens[row].tolist(), stands, strict=False)
            assert all(told == token for told, token, here in shown if here)
        assert not (result.tokens[result.generated] == MASK).any()
        assert torch.equal(result.revealed >= 0, result.generated & ~result.skipped)
    assert erasures > 5


@pytest.mark.parametrize("sampler", SAMPLERS, ids=IDS)
def test_the_viewer_is_told_of_every_erasure(sampler: Sampler) -> None:
    *_, result = decoded(sampler)[0]
    (seen,) = data([("a decode", result.trace)])["runs"]  # type: ignore[list-item]
    for row, prompt in enumerate(seen["prompts"]):
        canvas = list(prompt["canvas"])
        for step in prompt["steps"]:
            assert step["columns"] == [column for column, token in enumerate(canvas) if token == MASK]
            taken = step["candidates"][step["taken"]]
            for column, token in zip(taken["columns"], taken["tokens"], strict=True):
                assert (canvas[column] == MASK) == (token != MASK)
                canvas[column] = token
        assert canvas == result.tokens[row, : len(canvas)].tolist()


@pytest.mark.parametrize("sampler", SAMPLERS, ids=IDS)
def test_a_row_that_erases_is_the_same_alone(sampler: Sampler) -> None:
    for model, lane, result in decoded(sampler):
        other = replace(lane, recipe=replace(lane.recipe, sampler=make("ar"), seed=9))
        beside = infogain.decode_lanes(model, [other, lane])[1]
        for row in range(lane.rows):
            single, columns = alone(model, lane, row), int(result.length[row])
            for both in (result, beside):
                assert_alike(single, both, row, columns)
                assert single.cumulative_entropy[0] == both.cumulative_entropy[row]


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_so_it_is_on_a_network(family: str, cache: str | None) -> None:
    model = model_of(family, cache)
    canvas = Canvas.infill([[5, *[model.mask_id] * 9], [5, 1, *[model.mask_id] * 6, 2, 3]], model.mask_id)
    for base in (make("entropy"), make("info-gain", n=3, gamma=1.0)):
        sampler = erasing(base, longest_ago, model.mask_id)
        lane = Lane(canvas, Recipe(sampler, block=4, seed=1))
        result = infogain.decode_lanes(model, [lane])[0]
        assert result.committed.tolist() == [9, 6]
        assert int(result.forwards.max()) > 9, "what is erased is written again"
        for row in range(2):
            assert_alike(alone(model, lane, row), result, row, 10)


def refused(sampler: Sampler) -> str:
    with pytest.raises(ContractError) as caught:
        infogain.decode(MODEL, HOLES, sampler, block=4)
    return str(caught.value)


GIVEN = Canvas.infill([[0, MASK, 1, MASK, MASK, MASK, MASK]], MASK)
WRONG: dict[str, Where] = {
    "given": lambda z: (z.column == 2) & (z.step == 1)[:, None],
    "masked": lambda z: z.masked & (z.masked.cumsum(-1) == z.left[:, None]) & (z.step == 1)[:, None],
    "right of its block": lambda z: (z.column == 5) & (z.start == 1)[:, None],
}


def refused_in_company(bad: Lane) -> str:
    """What is said of a lane that breaks a promise; its neighbour's wider block shows it what lies behind its own."""
    batch = Batch(MODEL)
    batch.open(Lane(Canvas.infill([[MASK] * 10], MASK), Recipe(make("ar"))))
    batch.open(bad)
    came = run(batch)
    assert came[0, 0].error is None
    assert isinstance(came[1, 0].error, ContractError)
    return str(came[1, 0].error)


@pytest.mark.parametrize("only", [False, True], ids=["besides", "instead"])
@pytest.mark.parametrize("wrong", WRONG)
def test_only_what_was_written_in_the_block_may_be_erased(wrong: str, only: bool) -> None:
    bad = Lane(GIVEN, Recipe(erasing(make("ar"), WRONG[wrong], only=only), block=4))
    assert any(PROMISES[promise] in refused_in_company(bad) for promise in ("no_token", "outside"))


def test_who_erases_what_was_given_is_told_what_may_be_erased() -> None:
    with pytest.raises(ContractError, match="which erases may mask columns again that were written in this block; the"):
        infogain.decode(MODEL, GIVEN, erasing(make("ar"), WRONG["given"]), block=4)


def test_what_an_earlier_block_wrote_is_not_erased_by_a_later_one() -> None:
    back = erasing(make("ar"), lambda z: (z.revealed < 0) & ~z.masked & (z.step == 0)[:, None])
    bad = Lane(Canvas.infill([[0, *[MASK] * 8]], MASK), Recipe(back, block=4, order="random", seed=1))
    assert refused_in_company(bad)


def test_a_sampler_that_does_not_say_so_erases_nothing() -> None:
    """Writing a mask is refused, whether the column was masked or written before."""
    assert PROMISES["outside"] in refused(erasing(make("ar"), longest_ago, admits=False))
    now = erasing(make("ar"), lambda z: z.masked & (z.masked.cumsum(-1) == 1), admits=False)
    assert PROMISES["no_token"] in refused(now)


def test_candidates_that_compete_leave_equally_many_masks() -> None:
    def first_alone(z: State, a: Candidates) -> Any:
        gone = a.chosen & (a.tokens == MASK)
        gone[0] = False
        return replace(a, chosen=a.chosen & ~gone)

    every = erasing(make("info-gain", n=4, gamma=1.0), longest_ago)
    assert PROMISES["uneven"] in refused(unruly(every, first_alone))


def test_a_block_may_take_eight_steps_for_each_of_its_masks_and_no_more() -> None:
    """Writes a column and erases it, for ever or until the last steps it has."""

    def all_but(last: int) -> Where:
        return lambda z: (z.revealed >= 0) & (z.step < STEPS_PER_MASK * z.block_masks - last)[:, None]

    canvas = Canvas.infill([[0, *[MASK] * 4, 1]], MASK)
    result = infogain.decode(MODEL, canvas, erasing(make("ar"), all_but(2), only=True), block=2)
    assert result.committed.tolist() == [4]
    assert result.forwards.tolist() == [4 * STEPS_PER_MASK], "all steps of both blocks"
    with pytest.raises(ContractError) as caught:
        infogain.decode(MODEL, canvas, erasing(make("ar"), all_but(0), only=True), block=2)
    assert PROMISES["endless"] in str(caught.value)


def test_progress_ends_where_all_is_written() -> None:
    for model, recipe in LAYOUTS:
        events: list[infogain.StepEvent] = []
        lane = Lane(HOLES, replace(recipe, sampler=SAMPLERS[3]))
        story = Story(Trace(lane.recipe.plain(), MASK, HOLES.rows()))
        result = infogain.decode_lanes(model, [lane], observe=events.append)[0]
        for event in events:
            story.follow(event.record())
        assert events[-1].done == events[-1].total == int(HOLES.masked.sum())
        assert [story.best(row).cost for row in range(5)] == result.cumulative_entropy.tolist()
