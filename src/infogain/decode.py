"""THE LOOP. Fig. 2: sample candidate actions → evaluate them in one batched forward → move to the best.

Every sampler runs in it: greedy ones propose one candidate, whose evaluation is simply the next
step's forward; look-ahead ones propose several. The host reads one small tensor back per step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from infogain.batch import Batch
from infogain.canvas import Canvas
from infogain.device import current
from infogain.errors import InfoGainError, InputError
from infogain.lane import Lane
from infogain.models.denoiser import Denoiser, adapt
from infogain.resolve import Given, as_recipe
from infogain.result import Result
from infogain.text import TextModel
from infogain.trace import StepEvent

Observer = Callable[[StepEvent], None]


def decode(
    model: Denoiser | TextModel,
    canvas: Canvas,
    sampler: Given = None,
    *,
    seeds: Sequence[int] | None = None,
    observe: Observer | None = None,
    trace: bool = True,
    **options: Any,
) -> Result:
    """Fill every mask of the canvas.

    model     what `infogain.load` returns, or anything with the members of `models.Denoiser`
    canvas    rows with masks: Canvas.from_prompts(prompts, length, mask_id) or Canvas.infill(rows, mask_id)
    sampler   a sampler, its name, or a table of its name and options; or a recipe, its name, path or table;
              unset: Info-Gain
    seeds     one for each row; unset: made from `seed` (a result's `seeds` repeat its rows)
    observe   called with one StepEvent per step, for progress and pictures
    trace     keep every candidate of every step in result.trace

    Options go over those of the sampler or recipe:

    n, tau_token, …  the sampler's own
    k                tokens per step; or `steps` in all, and their `shape`: "linear" or "cosine"
    schedule         the same as a value: a number of tokens per step, TokensPerStep(k), Steps(count, shape)
    block            columns decoded together, block after block; unset, or 0: all at once (block-causal models: their
                     own width)
    order            of the blocks: "sequence" or "random"
    eos_ids          skip the blocks after one that holds such a token; none: never
    seed             of the decode

    `decode(model, canvas, **result.recipe)` repeats a decode.
    """
    recipe = as_recipe(sampler, options, decode)
    return decode_lanes(model, [Lane(canvas, recipe, seeds)], observe=observe, trace=trace)[0]


@torch.inference_mode()
def decode_lanes(
    model: Denoiser | TextModel, lanes: Sequence[Lane], *, observe: Observer | None = None, trace: bool = True
) -> list[Result]:
    """Decode lanes with different recipes in one batch: each proposes and scores, all are evaluated together.

    If decoding breaks off, the error's `partial` holds a Result per lane as far as it got.
    """
    batch = _begin(model, lanes, trace)
    try:
        for _ in _steps(batch, observe):
            pass
    except InfoGainError as error:
        error.partial = batch.results()
        raise
    return batch.results()


@torch.inference_mode()
def decode_stream(
    model: Denoiser | TextModel, lanes: Sequence[Lane], *, observe: Observer | None = None, trace: bool = True
) -> Iterator[tuple[int, int, Result]]:
    """The same, and every row comes out as soon as it is done: its lane, its number there, and a Result of its own.

    With `Lane.at_once` the next row that waits takes its place. What has come out is not kept. If decoding breaks
    off, the error's `partial` holds the same for every row in flight, as far as it got.
    """
    batch = _begin(model, lanes, trace)
    try:
        yield from batch.leave()  # rows without masks
        for _ in _steps(batch, observe):
            yield from batch.leave()
    except InfoGainError as error:
        batch.park()
        error.partial = list(batch.leave())
        raise


def _steps(batch: Batch, observe: Observer | None) -> Iterator[None]:
    """Fig. 2, until every row is done; pauses after each step."""
    while batch.live:
        with current(batch.model.device):
            batch.open_blocks()  # rows at a block's start: the model reads what lies outside it
            moves = batch.propose()  # 1 sampling
            batch.evaluate(moves)  # 2 evaluation: one forward for all candidates of all lanes
            events = batch.transition(moves)  # 3 transition
        for event in events:
            if observe:
                observe(event)
        yield


def _begin(model: Denoiser | TextModel, lanes: Sequence[Lane], trace: bool) -> Batch:
    """Everything that can be refused is refused here, before any work is done."""
    named = model if isinstance(model, TextModel) else None
    model = adapt(model.model if isinstance(model, TextModel) else model)
    if not all(isinstance(lane, Lane) and isinstance(lane.canvas, Canvas) for lane in lanes):
        raise InputError("decoding takes lanes of a Canvas and a Recipe; make one with Canvas.from_prompts or .infill.")
    if not lanes:
        raise InputError("decoding needs at least one lane; got none.")
    lanes = [lane.fitted(model.attention_block) for lane in lanes]
    if model.attention_block and len({lane.recipe.block for lane in lanes}) > 1:
        raise InputError("lanes of a block-causal model must share one block width: it is the model's attention block.")
    for lane in lanes:
        lane.check(model.vocabulary, model.attention_block is not None)
        if named:
            lane.recipe.sampler.check_tokenizer(named.tokenizer)
        lane.check_memory(model.vocabulary.count, model.device)
    return Batch(model, lanes, trace, named.provenance if named else None)
