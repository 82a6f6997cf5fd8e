"""Laws of failure: what fails, fails alone. A neighbour's bits do not tell whether anything failed beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, ContractError, Lane, NumericsError, Recipe, Result, TokensPerStep, Vocabulary
from infogain.algorithm.state import PROMISES, Candidates, State
from infogain.loop.batch import Batch
from infogain.loop.result import RowResult
from infogain.models import Denoiser, FullCanvas, Tabular, random_joint
from infogain.samplers import Sampler, make
from tests.ailing import WHENS, Ailing, Fault, Faulty, Wrongly, run, unruly
from tests.cases import label
from tests.laws.test_backbone import CASES, model_of
from tests.laws.test_company import SAMPLERS, assert_alike
from tests.laws.test_queue import alone

JOINT = random_joint(10, 3, seed=5, support=300)
CAUSAL = Tabular(JOINT.sequences, JOINT.weights.long(), JOINT.mask_id, attention_block=2)
FULL = FullCanvas(
    lambda tokens, inside: torch.sin(torch.arange(4.0, dtype=torch.float64) * (1 + tokens[..., None]).cumsum(1)),
    Vocabulary(4, 3),
)
EXACT: dict[str, Denoiser] = {"tabular": JOINT, "block-causal": CAUSAL, "full canvas": FULL}
MARK = 2  # the first token of a row that falls ill
SHAPES = [(1, 9), (2, 4), (3, 6), (2, 2), (1, 6), (3, 1), (2, 8)]  # prompt, length


def canvas_of(ill: Sequence[int], mask: int = JOINT.mask_id) -> Canvas:
    prompts = [[MARK if i in ill else i % 2] + [0] * (prompt - 1) for i, (prompt, _) in enumerate(SHAPES)]
    return Canvas.from_prompts(prompts, [length for _, length in SHAPES], mask)


def assert_to_the_bit(single: Result, result: Result) -> None:
    columns = int(result.length)
    for name in ("tokens", "revealed", "skipped"):
        assert torch.equal(getattr(single, name)[0, :columns], getattr(result, name)[0, :columns]), name
    for name in ("cumulative_entropy", "forwards", "token_forwards", "committed"):
        assert getattr(single, name)[0] == getattr(result, name)[0], name
    assert single.trace == result.trace


def assert_broken_off(single: Result, left: RowResult, kind: type[Exception]) -> None:
    """What a row that failed had written is the beginning of what it would have become."""
    result, columns = left.result, int(left.result.length)
    assert isinstance(left.error, kind)
    written = result.revealed[0, :columns] >= 0
    assert written.sum() == result.committed < single.committed
    assert not result.skipped.any()
    assert single.trace is not None
    assert result.trace is not None
    sound = result.trace.steps[:-1]  # in the last of them a score may be spoilt already
    assert sound == single.trace.steps[: len(sound)]
    if len({(row.copy, len(step.rows)) for step in single.trace.steps for row in step.rows}) == 1:  # one hypothesis
        early = written & (result.revealed[0, :columns] < len(sound))
        assert torch.equal(single.tokens[0][early], result.tokens[0, :columns][early])
        assert torch.equal(single.revealed[0][early], result.revealed[0, :columns][early])
    assert 0 < result.forwards <= single.forwards


def lane_of(sampler: Sampler, ill: Sequence[int], max_in_flight: int | None = None) -> Lane:
    return Lane(canvas_of(ill), Recipe(sampler, TokensPerStep(1), block=2, seed=4), max_in_flight=max_in_flight)


@cache
def healthy(name: str, sampler: Sampler, ill: tuple[int, ...], row: int) -> Result:
    """A row of `lane_of`, decoded alone by the sound model."""
    return alone(EXACT[name], lane_of(sampler, ill), row)


@pytest.mark.slow
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=label)
@pytest.mark.parametrize("name", EXACT)
def test_a_row_that_falls_ill_leaves_alone(name: str, sampler: Sampler, when: str) -> None:
    """One row and several, with places for all and for two, NaN and infinite."""
    model = EXACT[name]
    for ill, max_in_flight, spoil in (((0,), None, torch.nan), ((0, 2, 6), 2, torch.nan), ((2, 4, 6), 3, torch.inf)):
        batch = Batch(Ailing(model, MARK, WHENS[when], spoil), trace=True)
        batch.open(lane_of(sampler, ill, max_in_flight))
        came = run(batch)
        assert sorted(came) == [(0, row) for row in range(len(SHAPES))]
        failed = {row for (_, row), left in came.items() if left.error}
        assert failed == set(ill) or (sampler.traits.adaptive and failed < set(ill)), "it may skip the middle"
        for (_, row), left in came.items():
            single = healthy(name, sampler, ill, row)
            if left.error is None:
                assert_to_the_bit(single, left.result)
                continue
            assert_broken_off(single, left, NumericsError)
            assert f"(lane 0, row {row}, block at column" in str(left.error)
            begun = int(left.result.committed)
            assert begun == 0 if when == "from the start" else begun > 0 or model.attention_block


@pytest.mark.parametrize("when", list(WHENS)[1:3])
@pytest.mark.parametrize(("family", "cache"), CASES[1::2])
def test_so_it_does_on_a_network(family: str, cache: str | None, when: str) -> None:
    model = model_of(family, cache, refresh=2 if cache in ("prefix", "dual") else None)
    canvas = canvas_of([1, 2, 6], model.mask_id)
    for sampler in SAMPLERS[2:6:2]:
        lane = Lane(canvas, Recipe(sampler, TokensPerStep(1), block=4, seed=4), max_in_flight=3)
        batch = Batch(Ailing(model, MARK, WHENS[when]), trace=True)
        batch.open(lane)
        for (_, row), left in run(batch).items():
            single = alone(model, lane, row)
            spared = row == 1 and when == "in a later block" and not model.attention_block  # it has but one
            if row not in (1, 2, 6) or spared:
                assert left.error is None
                assert_alike(single, left.result, 0, int(left.result.length))
            else:
                assert isinstance(left.error, NumericsError)
                assert left.result.committed < single.committed


@pytest.mark.parametrize("likely", [2, 3], ids=["an excluded id", "the mask"])
def test_a_row_that_leaves_nothing_to_write_is_told_so(likely: int) -> None:
    sure = torch.full((4,), -torch.inf).index_fill(0, torch.tensor([likely]), 0.0)
    model = FullCanvas(lambda tokens, inside: sure.repeat(*tokens.shape, 1), Vocabulary(4, 3, never=(2,)))
    with pytest.raises(NumericsError, match="or left all probability to the mask and to ids that are excluded"):
        infogain.decode(model, Canvas.from_prompts([[0]], 3, 3))


def raises(z: State, answer: Any) -> Any:
    """In a row's second step."""
    if (z.steps_taken == 1).any():
        raise Fault("a sampler's own")
    return answer


def late(change: Callable[[State, Candidates], Candidates]) -> Wrongly:
    """A change from each row's second step on."""
    return lambda z, a: change(z, a) if (z.steps_taken == 1).any() else a


def written(z: State) -> Tensor:
    return (z.revealed >= 0) & ~z.masked


WRONGS: dict[str, tuple[Wrongly | None, Wrongly | None, type[Exception], str]] = {
    "raises in propose": (raises, None, Fault, "a sampler's own"),
    "raises in score": (None, raises, Fault, "a sampler's own"),
    "no candidates": (lambda z, a: None, None, ContractError, "must return Candidates"),
    "no shape": (None, lambda z, x: x[:0] if (z.steps_taken == 1).any() else x, ContractError, "one number per"),
    "no number": (None, lambda z, worth: worth * torch.nan, ContractError, PROMISES["no_score"]),
    "noise of no shape": (
        late(lambda z, a: replace(a, selection_noise=z.cost[:0])),
        None,
        ContractError,
        "noise must be",
    ),
    "noise of no kind": (late(lambda z, a: replace(a, selection_noise=a.parent)), None, ContractError, "noise must be"),
    "noise of no number": (
        late(lambda z, a: replace(a, selection_noise=a.parent * torch.nan)),
        None,
        ContractError,
        "no_score",
    ),
    "outside": (late(lambda z, a: replace(a, chosen=a.chosen | written(z)[a.parent])), None, ContractError, "outside"),
    "no token": (late(lambda z, a: replace(a, tokens=a.tokens * 0 - 1)), None, ContractError, "no_token"),
    "too large": (late(lambda z, a: replace(a, tokens=a.tokens * 0 + 9)), None, ContractError, "no_token"),
    "a mask": (late(lambda z, a: replace(a, tokens=a.tokens * 0 + JOINT.mask_id)), None, ContractError, "no_token"),
    "empty": (late(lambda z, a: replace(a, chosen=a.chosen & False)), None, ContractError, "empty"),
    "disorder": (late(lambda z, a: a[torch.arange(len(a.parent)).flip(0)]), None, ContractError, "in order"),
    "a row left out": (late(lambda z, a: a[: int((a.parent == 0).sum())]), None, ContractError, "in order"),
    "from behind": (
        late(lambda z, a: replace(a, parent=a.parent - int(a.parent.max()) - 1)),
        None,
        ContractError,
        "in order",
    ),
    "no such row": (late(lambda z, a: replace(a, parent=a.parent + 99)), None, IndexError, ""),
}


def uneven(z: State, a: Candidates) -> Candidates:
    """The first candidate takes one column more."""
    free = z.masked[a.parent] & ~a.chosen
    more = free & (free.cumsum(-1) == 1)
    more[1:] = False
    return replace(a, chosen=a.chosen | more)


WRONGS["uneven"] = (uneven, None, ContractError, "uneven")
FOUR = Canvas.from_prompts([[0], [1, 0], [0, 1], [1]], [8, 5, 6, 4], JOINT.mask_id)
BASES = [make("entropy"), make("klass"), make("info-gain", n=4, gamma=1.0), make("info-gain-beam", n=3, width=2)]


@cache
def one_of_four(recipe: Recipe, row: int) -> Result:
    return alone(JOINT, Lane(FOUR, recipe), row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "base"),
    [(wrong, base) for wrong in WRONGS for base in BASES if wrong != "uneven" or base.traits.candidates > 1],
    ids=lambda case: case if isinstance(case, str) else label(case),
)
def test_a_lane_whose_sampler_fails_fails_alone_and_stays_of_use(wrong: str, base: Sampler) -> None:
    propose, score, kind, says = WRONGS[wrong]
    sound = [Lane(FOUR, Recipe(make("info-gain", n=3), block=3, seed=1)), Lane(FOUR, Recipe(base, seed=2))]
    sick = Lane(FOUR, Recipe(unruly(base, propose, score), block=4), max_in_flight=2)
    batch = Batch(JOINT, trace=True)
    for lane in (sound[0], sick, sound[1]):
        batch.open(lane)
    came = run(batch)
    assert sorted(came) == [(lane, row) for lane in range(3) for row in range(4)]
    for number, lane in ((0, sound[0]), (2, sound[1])):
        for row in range(4):
            assert came[number, row].error is None
            assert_to_the_bit(one_of_four(lane.recipe, row), came[number, row].result)
    for row in range(4):
        left = came[1, row]
        assert isinstance(left.error, kind)
        assert PROMISES.get(says, says) in str(left.error)
        assert_broken_off(one_of_four(replace(sick.recipe, sampler=base), row), left, kind)
    assert batch.lanes[1].scheduler.masks_done == batch.lanes[1].scheduler.masks_admitted, (
        "progress ends where it should"
    )
    with pytest.raises(kind) as caught:
        infogain.decode_lanes(JOINT, [sound[0], sick])
    if isinstance(caught.value, infogain.InfoGainError):
        assert caught.value.partial is not None
        assert [len(result.length) for result in caught.value.partial] == [4, 4]


def test_a_lane_that_failed_takes_rows_again() -> None:
    """Its sampler is wrong for rows of one seed alone."""
    base = make("info-gain", n=3)

    def picky(z: State, a: Candidates) -> Candidates:
        if (z.seed == 13).any() and (z.steps_taken == 2).any():
            raise Fault("unlucky")
        return a

    batch = Batch(JOINT, trace=True)
    lane = Lane(canvas_of([]), Recipe(unruly(base, picky), block=3), [1, 2, 13, 4, 5, 6, 7], max_in_flight=2)
    batch.open(lane)
    came = run(batch)
    failed = {row for (_, row), left in came.items() if left.error}
    assert 2 in failed
    assert len(failed) == 2, "and the row beside it"
    more = batch.admit(0, canvas_of([]), [1, 2, 3, 4, 5, 6, 7])
    came |= run(batch)
    for row in more:
        assert came[0, row].error is None
        assert_to_the_bit(alone(JOINT, replace(lane, seeds=range(1, 8)), row - 7), came[0, row].result)


def test_a_stop_that_raises_ends_its_lane_s_rows_alone() -> None:
    def stop(row: int, tokens: list[int]) -> bool:
        if row == 1:
            raise Fault("a caller's own")
        return False

    lane = Lane(canvas_of([]), Recipe(make("entropy"), block=2, seed=3), stop=stop, max_in_flight=2)
    other = Lane(canvas_of([]), Recipe(make("klass"), block=2, seed=3))
    batch = Batch(JOINT, trace=True)
    for each in (lane, other):
        batch.open(each)
    came = run(batch)
    failed = {row for (number, row), left in came.items() if number == 0 and isinstance(left.error, Fault)}
    assert 1 in failed
    assert len(failed) <= 2
    for (number, row), left in came.items():
        if number == 1 or row not in failed:
            assert_to_the_bit(alone(JOINT, replace((lane, other)[number], stop=None), row), left.result)


def test_an_interrupt_is_no_failure_of_a_lane() -> None:
    def interrupt(z: State, a: Candidates) -> Candidates:
        raise KeyboardInterrupt

    batch = Batch(JOINT)
    batch.open(Lane(canvas_of([]), Recipe(unruly(make("ar"), interrupt))))
    with pytest.raises(KeyboardInterrupt):
        batch.step()
    assert not batch.errors
    assert batch.live


def decoded(model: Faulty, lanes: Sequence[Lane]) -> tuple[int, dict[tuple[int, int], RowResult]]:
    """How often a step raised, and what came of the rows of all lanes."""
    batch, faults, came = Batch(model, trace=True), 0, dict[tuple[int, int], RowResult]()
    for lane in lanes:
        batch.open(lane)
    while batch.live:
        try:
            batch.step()
        except Fault:
            faults += 1
        came |= {left[:2]: left for left in batch.leave()}
    return faults, came


@pytest.mark.parametrize("name", ["info-gain-beam", "klass"])
@pytest.mark.parametrize(("family", "cache"), [("llada", "dual"), ("dream", "prefix"), ("sdar", None), ("exact", None)])
def test_a_call_of_the_model_that_fails_may_be_tried_again(family: str, cache: str | None, name: str) -> None:
    """Whichever it is, to open blocks as a whole or from what is kept, for rows of two widths, or to evaluate."""
    model = JOINT if family == "exact" else model_of(family, cache, refresh=2 if cache else None)
    mask = model.mask_id
    rows = [[1, *[mask] * 9], [2, 1, 0, *[mask] * 4], [1, mask, mask, 1, 1, mask, mask], [0, 1, *[mask] * 8]]
    widths = [4] if model.attention_block else [2, 4]
    lanes = [Lane(Canvas.infill(rows, mask), Recipe(make(name), block=w, seed=3), max_in_flight=2) for w in widths]
    sound = Faulty(model, [])
    _, first = decoded(sound, lanes)
    for at in ([*range(0, sound.calls, 3)], [*range(1, sound.calls, 3)], [*range(2, sound.calls, 3)]):
        faults, came = decoded(Faulty(model, at), lanes)
        assert faults == len(at)
        assert came.keys() == first.keys()
        for key, left in came.items():
            assert left.error is None
            assert_to_the_bit(first[key].result, left.result)
