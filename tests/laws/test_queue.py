"""Laws of the queue: a row that waits for its place comes out as it would alone, and no place stays empty."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from torch import Tensor

import infogain
from infogain import (
    Canvas,
    InputError,
    Lane,
    NumericsError,
    Recipe,
    StepEvent,
    TokensPerStep,
    Vocabulary,
    decode_stream,
)
from infogain.loop.batch import Batch
from infogain.loop.scheduler import Scheduler
from infogain.models import Denoiser, FullCanvas, Tabular, random_joint
from infogain.samplers import Sampler, make
from tests.cases import ALL, Counting, label, rows, same_tokens
from tests.laws.test_backbone import CASES, model_of
from tests.laws.test_company import MASK, assert_alike, lanes_of

JOINT = random_joint(10, 3, seed=5, support=300)
CAUSAL = Tabular(JOINT.sequences, JOINT.weights.long(), JOINT.mask_id, attention_block=2)
EOS, BLANK = 2, 3
SHAPES = [(0, 10), (3, 2), (1, 9), (5, 1), (2, 4), (0, 3), (4, 6)]  # prompt, length


def canvas_of(shapes: Sequence[tuple[int, int]] = SHAPES) -> Canvas:
    prompts = [[i % 3] * prompt for i, (prompt, _) in enumerate(shapes)]
    return Canvas.from_prompts(prompts, [length for _, length in shapes], JOINT.mask_id)


def alone(model: Denoiser, lane: Lane, i: int) -> infogain.Result:
    single = replace(lane, canvas=rows(lane.canvas, [i]), seeds=[lane.row_seeds[i]], max_in_flight=None)
    return infogain.decode_lanes(model, [single])[0]


@pytest.mark.parametrize(("family", "cache"), CASES)
@budget(max_examples=8)
@given(data=st.data())
def test_on_a_network_a_row_that_waited_comes_out_as_it_would_alone(
    family: str, cache: str | None, data: st.DataObject
) -> None:
    model = model_of(family, cache)
    block = data.draw(st.integers(2, 5))
    lanes = [
        replace(data.draw(lanes_of(block, model.attention_block is not None, most=6)), max_in_flight=max_in_flight)
        for max_in_flight in data.draw(st.lists(st.sampled_from([1, 2, 3, None]), min_size=1, max_size=2))
    ]
    came = {(lane, row): result for lane, row, result in decode_stream(model, lanes, trace=False)}
    assert sorted(came) == [(number, row) for number, lane in enumerate(lanes) for row in range(lane.rows)]
    for (number, row), result in came.items():
        assert not (result.tokens[result.generated] == MASK).any()
        assert_alike(alone(model, lanes[number], row), result, 0, int(result.length))


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_a_wide_block_may_come_while_narrow_ones_are_open(family: str, cache: str | None) -> None:
    """The first row fills a hole with text behind it; the second makes place for one that is all hole."""
    model = model_of(family, cache)
    canvas = Canvas.infill([[5, *[MASK] * 4, *range(1, 10)], [5, MASK, *range(1, 12)], [5, *[MASK] * 11]], MASK)
    lane = Lane(canvas, Recipe(make("info-gain", n=3)), max_in_flight=2)
    for _, row, result in decode_stream(model, [lane]):
        assert_alike(alone(model, lane, row), result, 0, int(result.length))


def batch_of(model: Denoiser, lane: Lane, trace: bool) -> Batch:
    batch = Batch(model, trace=trace)
    batch.open(lane)
    return batch


LAYOUTS: list[tuple[Tabular, int | None, str, int]] = [
    (JOINT, 2, "random", 3),
    (JOINT, None, "sequence", 1),
    (CAUSAL, 2, "sequence", 2),
]


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_to_the_last_bit_on_the_exact_model_trace_and_all(sampler: Sampler) -> None:
    """In sequence and in random order, in blocks and in one, bidirectional and block-causal."""
    for model, block, order, max_in_flight in LAYOUTS:
        eos_ids = () if order == "random" and sampler.traits.beam > 1 else (1,)
        lane = Lane(
            canvas_of(), Recipe(sampler, TokensPerStep(2), block, order, eos_ids, seed=3), max_in_flight=max_in_flight
        )
        together = infogain.decode_lanes(model, [lane])[0]
        for _, i, result in decode_stream(model, [lane]):
            single = alone(model, lane, i)
            assert single.trace == result.trace
            columns = int(result.length)
            for name in ("tokens", "revealed", "skipped"):
                assert torch.equal(getattr(single, name)[0], getattr(result, name)[0, :columns]), name
            for name in ("cumulative_entropy", "forwards", "token_forwards", "committed"):
                assert getattr(single, name)[0] == getattr(result, name)[0] == getattr(together, name)[i], name


@torch.inference_mode()
@pytest.mark.parametrize("max_in_flight", [1, 2, 5, 7, 20])
@pytest.mark.parametrize("name", ["eb", "info-gain-beam", "best-of-n"])
def test_no_place_is_empty_while_a_row_waits_and_none_holds_two(name: str, max_in_flight: int) -> None:
    lane = Lane(canvas_of(SHAPES * 2), Recipe(make(name), block=2, eos_ids=(1,)), max_in_flight=max_in_flight)
    batch = batch_of(JOINT, lane, trace=False)
    scheduler, begun, came = batch.lanes[0].scheduler, set[int](), list[int]()
    events: list[StepEvent] = []
    while batch.live:
        begun |= set(scheduler.in_flight)
        assert len(scheduler.in_flight) == min(max_in_flight, len(scheduler.in_flight) + 14 - len(begun))
        events += batch.step()
        left = [left.row for left in batch.leave()]
        assert set(left) <= set(events[-1].rows), "each comes in the step that finished it"
        came += left
    assert sorted(came) == list(range(14))
    assert [event.done for event in events] == sorted({event.done for event in events})
    assert events[-1].done == events[-1].total == int(lane.canvas.masked.sum()) * lane.recipe.sampler.traits.copies


@pytest.mark.parametrize("sampler", ALL[::3], ids=label)
def test_rows_whose_first_blocks_differ_wait_once_and_are_in_step(
    sampler: Sampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block-causal model's first blocks hold 2, 1, 2 and 1 masks: five blocks are ten forwards, for all rows."""
    lane = Lane(canvas_of([(0, 10), (1, 9), (2, 8), (3, 7)]), Recipe(sampler, block=2))
    together = infogain.decode_lanes(CAUSAL, [lane])[0]
    monkeypatch.setattr(Scheduler, "waits_for_others", lambda *_: False)
    apart = infogain.decode_lanes(CAUSAL, [lane])[0]
    assert together.rows() == apart.rows()
    assert together.calls <= 10
    assert together.calls <= apart.calls
    assert sampler.traits.adaptive or apart.calls > 15


def test_what_copies_of_a_prompt_write_and_cost_does_not_depend_on_other_rows() -> None:
    """All texts are alike, so the first copy that is done wins; blocks in random order bring copies out of step."""
    model = FullCanvas(lambda tokens, inside: torch.zeros(*tokens.shape, 4), Vocabulary(4, BLANK))
    sampler = make("best-of-n", n=3, base={"name": "entropy", "tau_token": 1.0})
    for seed in range(12):
        canvas = Canvas.infill([[1, *[BLANK] * (5 + (5 * i + seed) % 11)] for i in range(5)], BLANK)
        lane = Lane(canvas, Recipe(sampler, block=5, order="random", seed=seed), max_in_flight=2)
        together = infogain.decode_lanes(model, [lane], trace=False)[0]
        for i in range(5):
            single = alone(model, lane, i)
            assert single.forwards[0] == together.forwards[i]
            assert same_tokens(single.tokens[0], together.tokens[i])


@torch.inference_mode()
def test_a_row_does_not_wait_long_for_few() -> None:
    batch = batch_of(
        JOINT, Lane(canvas_of([(0, 10), (1, 2), (0, 2)]), Recipe(make("entropy")), max_in_flight=2), trace=False
    )
    seen = []
    while batch.live:
        seen += [event.rows for event in batch.step()]
    assert seen == [[0, 1]] * 2 + [[0, 2]] * 2 + [[0]] * 6


def test_the_longest_rows_go_first_in_the_order_they_came() -> None:
    lengths = [3, 9, 4, 9, 4, 1]
    lane = Lane(canvas_of([(0, n) for n in lengths]), Recipe(make("ar")), max_in_flight=1)
    assert [row for _, row, _ in decode_stream(JOINT, [lane])] == [1, 3, 2, 4, 0, 5]


def counting_model() -> tuple[FullCanvas, list[int]]:
    """Writes zeros, and an EOS after the column where a row holds a 1; notes the rows of each call."""
    calls: list[int] = []

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        calls.append(len(tokens))
        ends = torch.nn.functional.pad(tokens == 1, (1, 0))[:, :-1]
        return torch.nn.functional.one_hot(torch.where(ends, EOS, 0), 4) * 50.0

    return FullCanvas(network, Vocabulary(4, BLANK)), calls


def test_a_mixed_job_takes_fewer_calls_than_batches_that_wait_for_their_slowest() -> None:
    """Blocks of two calls each: A writes four, B and C ask for as many and end in the first, D two, E and F one."""
    asks = {"A": [0, *[BLANK] * 16], "B": [1, *[BLANK] * 16], "C": [1, *[BLANK] * 16]}
    asks |= {"D": [0, *[BLANK] * 8], "E": [0, *[BLANK] * 4], "F": [0, *[BLANK] * 4]}
    recipe = Recipe(make("ar", tau_token=0.0), TokensPerStep(2), block=4, eos_ids=(EOS,))
    model, calls = counting_model()
    for pair in ("AB", "CD", "EF"):
        infogain.decode_lanes(model, [Lane(Canvas.infill([asks[name] for name in pair], BLANK), recipe)])
    assert len(calls) == 8 + 4 + 2
    calls.clear()
    lane = Lane(Canvas.infill(asks.values(), BLANK), recipe, max_in_flight=2)
    order = ["ABCDEF"[row] for _, row, _ in decode_stream(model, [lane])]
    assert calls == [2] * 10, "B, C and D fly beside A, then E and F"
    assert order == list("BCADEF")


class Sick(Counting):
    """Its logits are NaN from the fourth evaluation on."""

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        logits = super().__call__(tokens, context, row, max_per_row)
        return logits * torch.nan if len(self.evaluations) > 3 else logits


@pytest.mark.parametrize(
    ("sampler", "done", "flying", "begun"),
    [
        (make("entropy"), [0, 2, 3, 6], [1, 4], [4]),  # 1 has its place, and waits for 4
        (make("best-of-n", n=2, base="entropy"), [0, 2, 3], [4, 6], [4, 6]),
    ],
    ids=["entropy", "best-of-n"],
)
def test_when_decoding_breaks_off_no_row_is_lost(
    sampler: Sampler, done: list[int], flying: list[int], begun: list[int]
) -> None:
    lane = Lane(canvas_of(), Recipe(sampler, TokensPerStep(2), block=4), max_in_flight=2)
    came: dict[int, infogain.Result] = {}
    with pytest.raises(NumericsError) as caught:
        came.update((row, result) for _, row, result in decode_stream(Sick(JOINT), [lane]))
    assert caught.value.partial is not None
    partial = {row: result for _, row, result in caught.value.partial}
    assert (sorted(came), sorted(partial)) == (done, flying), "the rest had no place yet"
    assert all(alone(JOINT, lane, row).trace == result.trace for row, result in came.items())
    for row, result in partial.items():
        single, columns = alone(JOINT, lane, row), int(result.length)
        written = result.revealed[0, :columns] >= 0
        assert written.sum() == result.committed
        assert (result.committed > 0) == (row in begun)
        assert sampler.traits.copies > 1 or torch.equal(single.tokens[0][written], result.tokens[0, :columns][written])
        assert single.trace is not None
        assert result.trace is not None
        assert result.trace.steps == single.trace.steps[: len(result.trace.steps)]
        assert bool(result.trace.steps) == (row in begun)
    with pytest.raises(NumericsError) as caught:
        infogain.decode_lanes(Sick(JOINT), [lane])
    assert caught.value.partial is not None
    assert caught.value.partial[0].forwards.gt(0).tolist() == [row in done + begun for row in range(7)]


def finish(batch: Batch) -> dict[int, infogain.Result]:
    """Runs a batch of one lane to its end."""
    came = {left.row: left.result for left in batch.leave()}
    while batch.live:
        batch.step()
        came |= {left.row: left.result for left in batch.leave()}
    return came


@torch.inference_mode()
@pytest.mark.parametrize("model", [JOINT, CAUSAL], ids=["bidirectional", "block-causal"])
@pytest.mark.parametrize("sampler", ALL[::3], ids=label)
def test_rows_may_be_admitted_while_others_are_decoded(sampler: Sampler, model: Tabular) -> None:
    """Wider blocks and longer rows among them, and after all others have gone."""
    block = 2 if model is CAUSAL else None
    lane = Lane(canvas_of([(2, 3), (0, 2), (1, 4)]), Recipe(sampler, block=block or 0), [1, 2, 3], max_in_flight=2)
    whole = replace(lane, canvas=lane.canvas.join(canvas_of()), seeds=range(1, 11))
    batch = batch_of(model, lane, trace=True)
    batch.step()
    batch.admit(0, canvas_of(SHAPES[:4]), [4, 5, 6, 7])
    came = finish(batch)
    batch.admit(0, rows(canvas_of(), [4, 5, 6]), [8, 9, 10])
    came |= finish(batch)
    with pytest.raises(InputError, match="one per row"):
        batch.admit(0, canvas_of(), [1])
    assert sorted(came) == list(range(10))
    for row, result in came.items():
        single = alone(model, whole, row)
        assert single.trace == result.trace
        assert single.cumulative_entropy == result.cumulative_entropy
        assert single.token_forwards == result.token_forwards


@torch.inference_mode()
def test_what_has_left_is_not_kept() -> None:
    lane = Lane(canvas_of(SHAPES * 3), Recipe(make("best-of-n", n=2, base="ar"), block=2), max_in_flight=2)
    batch = batch_of(JOINT, lane, trace=True)
    scheduler = batch.lanes[0].scheduler
    while batch.live:
        batch.step()
        assert len(batch.leave()) <= 2
        assert len(scheduler.in_flight) <= 2
        assert len(scheduler.live) <= 4
        assert not scheduler.finished
        assert batch.contexts.canvas is None or len(batch.contexts.canvas.length) <= 4
    assert not scheduler.live
    assert batch.contexts.canvas is None


def operations(batch: Batch, steps: int) -> list[int]:
    """What the host does in each step, in instructions of the scheduler's own files and of the context's rows."""
    counts: list[int] = []
    names = ("loop.batch", "loop.live", "loop.scheduler", "loop.lane", "models.context_rows")
    ours = {import_module(f"infogain.{name}").__file__ for name in names}

    def watch(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in ours:
            return None
        frame.f_trace_opcodes = True
        counts[-1] += event == "opcode"
        return watch

    def work() -> None:
        with torch.inference_mode():
            for _ in range(steps):
                counts.append(0)
                sys.settrace(watch)
                batch.step()
                sys.settrace(None)
                list(batch.leave())

    thread = threading.Thread(target=work)  # whose tracing is its own
    thread.start()
    thread.join()
    assert all(counts), "a step must be seen to do something in these files"
    return counts


def test_a_step_s_work_does_not_grow_with_rows_that_wait_or_have_left() -> None:
    recipe = Recipe(make("ar"), block=3)
    lanes = [Lane(canvas_of([(2, 6)] * count), recipe, max_in_flight=4) for count in (24, 240)]
    few, many = (operations(batch_of(JOINT, lane, trace=False), 24) for lane in lanes)
    assert few == many
    assert few[:6] == few[6:12] == few[18:]


@pytest.mark.parametrize("max_in_flight", [0, -1, 2.5])
def test_the_number_of_places_is_checked(max_in_flight: Any) -> None:
    with pytest.raises(InputError, match="max_in_flight must be a whole number of at least 1, or unset"):
        list(decode_stream(JOINT, [Lane(canvas_of(), Recipe(make("ar")), max_in_flight=max_in_flight)]))


def test_rows_without_masks_come_at_once_and_take_no_place_from_others() -> None:
    mask = JOINT.mask_id
    lane = Lane(Canvas.infill([[0, 1, 2], [0, 1], [mask, mask], [1, mask]], mask), Recipe(make("ar")), max_in_flight=1)
    came = [(row, int(result.forwards)) for _, row, result in decode_stream(JOINT, [lane])]
    assert came == [(0, 0), (1, 0), (2, 2), (3, 1)]
