from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import infogain
from infogain import Canvas, ContractError, InputError, Lane, Recipe, StepEvent, Trace
from infogain.loop.lane import Parked, make_requests
from infogain.loop.result import collect
from infogain.loop.trace import TraceImage
from infogain.models import random_joint
from infogain.samplers import make
from tests.cases import LAYOUTS, MODEL, Counting

CANVAS = LAYOUTS[4].canvas(MODEL)


def test_a_trace_loads_back(tmp_path: Path) -> None:
    result = infogain.decode(MODEL, CANVAS, make("info-gain-beam", width=2, n=3), block=3)
    trace = result.trace
    assert trace is not None
    path = tmp_path / "trace.jsonl"
    trace.save(path)
    loaded = Trace.load(path)
    assert loaded == trace
    again = infogain.decode(MODEL, CANVAS, make("info-gain-beam", width=2, n=3), block=3).trace
    assert again == loaded, "read or unread, the same story"
    assert again != infogain.decode(MODEL, CANVAS, "ar").trace
    assert loaded.steps == trace.steps
    assert loaded.rows == result.rows()
    assert loaded.canvas == CANVAS.rows()
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["kind"] == "header"
    assert len(lines) == len(trace.steps) + 2


def test_a_trace_says_where_its_images_are(tmp_path: Path) -> None:
    trace = infogain.decode(MODEL, CANVAS, "entropy").trace
    assert trace is not None
    shown = TraceImage(height=1, width=2, starts=[0] * 4, pictures=["data:image/png;base64,AAAA"] * 4)
    path = tmp_path / "trace.jsonl"
    replace(trace, image=shown).save(path)
    assert Trace.load(path).image == shown
    assert Trace.load(path) != trace
    header, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(header), "image": {"height": 1}}) + "\n" + rest)
    with pytest.raises(InputError, match="must be the JSON lines"):
        Trace.load(path)


def test_a_trace_cut_short_loads_what_is_whole(tmp_path: Path) -> None:
    trace = infogain.decode(MODEL, CANVAS, "entropy").trace
    assert trace is not None
    path = tmp_path / "trace.jsonl"
    trace.save(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:20])
    assert Trace.load(path).steps == trace.steps[:2]
    for broken in ("", "{}\n", "not json\n", json.dumps({"kind": "header", "version": 99}) + "\n"):
        path.write_text(broken)
        with pytest.raises(InputError, match="must be the JSON lines"):
            Trace.load(path)


def test_a_result_saves_its_recipe(tmp_path: Path) -> None:
    result = infogain.decode(MODEL, CANVAS, make("info-gain", n=3), schedule=2, block=3, seed=7)
    result.save(tmp_path / "result.json")
    saved = json.loads((tmp_path / "result.json").read_text())
    again = infogain.decode_lanes(MODEL, [Lane(CANVAS, Recipe.of(saved["recipe"]))])[0]
    assert again.rows() == saved["rows"] == result.rows()
    assert saved["cumulative_entropy"] == result.cumulative_entropy.tolist()
    assert saved["seeds"] == result.seeds


def test_observers_get_one_event_per_step_and_can_draw_a_bar() -> None:
    events: list[StepEvent] = []
    result = infogain.decode(MODEL, CANVAS, make("info-gain", gamma=0.5), schedule=2, block=3, observe=events.append)
    assert result.trace is not None
    assert [event.step for event in events] == list(range(len(result.trace.steps)))
    done = [event.done for event in events]
    assert done == sorted(set(done)), "every step gets somewhere"
    assert done[-1] == events[-1].total == int(CANVAS.masked.sum())


def test_progress_counts_what_an_eos_skips() -> None:
    model = random_joint(8, 3, seed=7, support=400)
    for name in ("entropy", "info-gain-beam", "best-of-n"):
        events: list[StepEvent] = []
        canvas = Canvas.from_prompts([[]] * 5, 8, model.mask_id)
        infogain.decode(model, canvas, name, block=2, eos_ids=1, observe=events.append)
        assert events[-1].done == events[-1].total


def test_a_canvas_without_masks_is_done() -> None:
    result = infogain.decode(MODEL, Canvas.infill([[0, 1], [1]], MODEL.mask_id))
    assert result.rows() == [[0, 1], [1]]
    assert result.calls == 0
    mixed = infogain.decode(MODEL, Canvas.infill([[0, 1], [1, MODEL.mask_id]], MODEL.mask_id), "ar", block=1)
    assert mixed.forwards.tolist() == [0, 1]
    assert mixed.cumulative_entropy[0] == 0


@pytest.mark.parametrize(
    ("canvas", "options", "text"),
    [
        (Canvas.from_prompts([[]], 2, 9), {}, "share a mask id; they have 9 and 3"),
        (Canvas.from_prompts([[77]], 2, 3), {}, "must be 0 to 3; the canvas holds 3 to 77"),
        (CANVAS, {"seeds": [1]}, "one per row \\(4\\); got 1"),
        (CANVAS, {"seeds": [1.5] * 4}, "whole numbers of 64 bits"),
        (CANVAS, {"seeds": [2**64] * 4}, "whole numbers of 64 bits"),
        (CANVAS, {"seed": 2**63}, "seed must be at most"),
        (CANVAS, {"schedule": 10**30}, "k must be at most"),
        (CANVAS, {"block": 10**30}, "block must be at most"),
        (Canvas(torch.tensor([[0, -1]]), torch.tensor([2]), 3), {}, "the canvas holds -1 to 0"),
        (Canvas(torch.tensor([[0, 3]]), torch.tensor([3]), 3), {}, "between 1 and the canvas's 2 columns"),
        (
            Canvas(torch.tensor([[0, 3]]), torch.tensor([2]), 3, prompt=torch.tensor([3])),
            {},
            "prompts must end between",
        ),
        (CANVAS, {"eos_ids": 3}, "not the mask id 3"),
        (CANVAS, {"eos_ids": 44}, "below the vocabulary"),
        (CANVAS, {"schedule": 0}, "k must be at least 1"),
        (CANVAS, {"block": -1}, "block must be at least 0"),
        (CANVAS, {"schedule": infogain.Steps(1), "block": 2}, "1 steps for 3 blocks"),
        (Canvas(torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), 3), {}, "empty batch"),
    ],
)
def test_bad_input_is_refused_before_any_work(canvas: Canvas, options: dict[str, object], text: str) -> None:
    class Untouchable:
        mask_id, vocab_size, attention_block, device = 3, 4, None, torch.device("cpu")
        columns = prefill = append = __call__ = print

    with pytest.raises(InputError, match=text):
        infogain.decode(Untouchable(), canvas, "ar", **options)  # type: ignore[arg-type]


def test_a_model_without_room_for_its_mask_is_refused() -> None:
    class Odd:
        mask_id, vocab_size, attention_block, device = 7, 4, None, torch.device("cpu")
        columns = prefill = append = __call__ = print

    with pytest.raises(InputError, match="mask id must lie in the vocabulary of 4; got 7"):
        infogain.decode(Odd(), CANVAS, "ar")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one lane"):
        infogain.decode_lanes(MODEL, [])


def test_block_causal_lanes_share_their_width() -> None:
    class Causal:
        mask_id, vocab_size, attention_block, device = 3, 4, 2, torch.device("cpu")
        columns = prefill = append = __call__ = print

    lanes = [Lane(CANVAS, Recipe("ar", block=block)) for block in (2, 4)]  # type: ignore[arg-type]
    with pytest.raises(InputError, match="share one block width"):
        infogain.decode_lanes(Causal(), lanes)  # type: ignore[arg-type]


def test_public_names_exist() -> None:
    assert sorted(infogain.__all__) == infogain.__all__
    for name in infogain.__all__:
        assert getattr(infogain, name) is not None


def test_the_core_runs_on_torch_alone() -> None:
    """Decoding imports none of the other dependencies, not even numpy."""
    code = """
import sys
for name in ("numpy", "safetensors", "click", "rich", "matplotlib", "tomli_w", "jinja2"):
    sys.modules[name] = None
import warnings
warnings.simplefilter("ignore")  # torch itself regrets numpy
import infogain
toy = infogain.models.one_way(7)
result = infogain.decode(toy.model, toy.canvas(2), "info-gain", schedule=2)
assert result.trace.steps and len(result.rows()) == 2
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


def result_of(finished: list[tuple[list[int], float, bool]], eos_ids: tuple[int, ...] = ()) -> infogain.Result:
    """The result of one prompt whose copies ended so: tokens, H̃, complete."""
    recipe = Recipe(make("best-of-n", n=len(finished), base="entropy"), eos_ids=eos_ids)
    canvas = Canvas.from_prompts([[]], 3, MODEL.mask_id)
    (request,) = make_requests(recipe, canvas, [0], 0, aligned=False)
    request.finished = [
        Parked(Canvas.infill([tokens], MODEL.mask_id), [], torch.tensor([cost]), complete=complete)
        for tokens, cost, complete in finished
    ]
    return collect([request], recipe, torch.device("cpu"), calls=0, made_by={})


def test_the_least_h_is_returned_the_first_of_equals_and_whole_ones_before_the_rest() -> None:
    assert result_of([([0, 0, 0], 2.0, True), ([1, 1, 1], 1.0, True)]).rows() == [[1, 1, 1]]
    assert result_of([([0, 0, 0], 1.0, True), ([1, 1, 1], 1.0, True)]).rows() == [[0, 0, 0]]
    assert result_of([([0, 0, 0], 2.0, True), ([1, 3, 3], 1.0, False)]).rows() == [[0, 0, 0]]
    assert result_of([([1, 3, 3], 1.0, False), ([0, 0, 0], 2.0, True)]).rows() == [[0, 0, 0]]


def test_masks_that_were_skipped_become_eos_but_those_not_reached_stay() -> None:
    assert result_of([([0, 1, 3], 1.0, True)], eos_ids=(1,)).tokens.tolist() == [[0, 1, 1]]
    assert result_of([([0, 0, 3], 1.0, False)], eos_ids=(1,)).tokens.tolist() == [[0, 0, 3]]


def test_rows_that_wait_for_their_next_block_are_kept_when_decoding_breaks_off() -> None:
    """The first row is at its second block while the other is still in its first: then the prefill breaks."""

    class Breaks(Counting):
        def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
            context, logits = super().prefill(canvas, start, width, end)
            return context, logits if self.prefills == 1 else logits[:, :-1]

    mask = MODEL.mask_id
    canvas = Canvas.infill([[mask, 0, mask, mask], [mask, mask, 0, 0]], mask)
    with pytest.raises(ContractError, match="logits") as caught:
        infogain.decode(Breaks(MODEL), canvas, "ar", block=2)
    assert caught.value.partial is not None
    assert caught.value.partial[0].committed.tolist() == [1, 1]


def test_a_block_is_no_wider_than_the_masks_need() -> None:
    mask = MODEL.mask_id
    events: list[StepEvent] = []
    canvas = Canvas.infill([[0, mask, 1, mask, 1, 1], [0, mask]], mask)
    infogain.decode(MODEL, canvas, "entropy", observe=events.append)
    assert {event.z.tokens.shape[1] for event in events} == {3}


def test_hypotheses_of_a_beam_have_noise_of_their_own() -> None:
    """In the middle of a block and at the start of the next."""
    seeds: list[tuple[int, list[int]]] = []
    infogain.decode(
        MODEL,
        LAYOUTS[2].canvas(MODEL),
        make("info-gain-beam", width=3, n=6, gamma=1.0),
        block=3,
        observe=lambda event: seeds.append((int(event.z.step[0]), event.z.seed.tolist())),
    )
    assert {step for step, several in seeds if len(several) == 3} == {0, 1, 2}
    assert all(len(set(several)) == len(several) for _, several in seeds)


def test_a_state_remembers_the_steps_before_it_newest_first() -> None:
    events: list[infogain.StepEvent] = []
    sampler = make("klass", variant="original", epsilon=1e-9)
    infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), sampler, observe=events.append)
    assert len(events) == 7
    for now, one, two in zip(events[2:], events[1:], events, strict=False):
        assert [p.entropy.tolist() for p in now.z.before] == [one.z.p.entropy.tolist(), two.z.p.entropy.tolist()]


def test_results_print_short() -> None:
    result = infogain.decode(MODEL, CANVAS, "ar")
    assert repr(result).startswith("Result(4 rows, ar, mean H̃ ")
    assert repr(result.trace) == f"Trace(4 rows, {int(result.forwards.max())} steps)"
    assert infogain.decode(MODEL, CANVAS, **result.recipe).rows() == result.rows()
