"""Fill a canvas: `decode` for one recipe, `decode_lanes` for several at once, `decode_stream` row by row.

All three open lanes in a `Batch`, whose `step` is the loop, and call it until every row is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from infogain.algorithm.canvas import Canvas
from infogain.errors import InfoGainError, InputError
from infogain.loop.batch import Batch, Observer
from infogain.loop.lane import Lane
from infogain.loop.result import Result, RowResult
from infogain.models.denoiser import Denoiser, adapt
from infogain.models.guided import Guided
from infogain.resolve import Given, as_recipe
from infogain.text.text_model import TextModel


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
    guidance         weight of guidance; the model then runs each row without its prompt too. `guidance_shape` says how
                     the weight changes while a block is filled
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
        while batch.live:
            batch.step(observe)
            for error in batch.errors:
                raise error
    except InfoGainError as error:
        error.partial = batch.results()
        raise
    return batch.results()


@torch.inference_mode()
def decode_stream(
    model: Denoiser | TextModel, lanes: Sequence[Lane], *, observe: Observer | None = None, trace: bool = True
) -> Iterator[tuple[int, int, Result]]:
    """Decode lanes so that every row comes out as soon as it is done: its lane, its number there, and its Result.

    Where `Lane.max_in_flight` holds rows back, the next one then begins. What has come out is let go. If decoding
    breaks off, the error's `partial` holds the same for every row in flight, as far as it got.
    """
    batch, failed = _begin(model, lanes, trace), list[RowResult]()
    try:
        while True:
            rows = batch.leave()
            failed = [row for row in rows if row.error]
            yield from (row[:3] for row in rows if not row.error)
            if failed and failed[0].error:
                raise failed[0].error
            if not batch.live:
                return
            batch.step(observe)
    except InfoGainError as error:
        batch.break_off()
        error.partial = [row[:3] for row in (*failed, *batch.leave())]
        raise


def _begin(model: Denoiser | TextModel, lanes: Sequence[Lane], trace: bool) -> Batch:
    """Open all lanes in a new batch. What can be refused is refused here, before any work is done."""
    if not lanes:
        raise InputError("decoding needs at least one lane; got none.")
    guided = any(lane.guided for lane in lanes if isinstance(lane, Lane))  # of what is no lane, `open` tells
    batch = Batch(_guiding(model) if guided else model, trace=trace)
    for lane in lanes:
        batch.open(lane)
    return batch


def _guiding(model: Denoiser | TextModel) -> Denoiser | TextModel:
    """The model itself where its rows may carry guidance, else wrapped so that they may."""
    denoiser = adapt(model.denoiser if isinstance(model, TextModel) else model)
    if denoiser.guides:
        return model
    guided = Guided(denoiser)
    return TextModel(guided, model.tokenizer, model.name, model.revision) if isinstance(model, TextModel) else guided
