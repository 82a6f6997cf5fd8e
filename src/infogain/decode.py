"""THE LOOP. Fig. 2: sample candidate actions → evaluate them in one batched forward → move to the best.

Every sampler runs in it: greedy ones propose one candidate, whose evaluation is simply the next
step's forward; look-ahead ones propose several. The host reads one small tensor back per step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from infogain.batch import Batch
from infogain.canvas import Canvas
from infogain.errors import InfoGainError, InputError
from infogain.lane import Lane
from infogain.models.base import Denoiser
from infogain.recipe import Recipe
from infogain.result import Result
from infogain.samplers import Sampler
from infogain.schedule import Schedule, TokensPerStep
from infogain.trace import StepEvent

Observer = Callable[[StepEvent], None]


def decode(
    model: Denoiser,
    canvas: Canvas,
    sampler: Sampler | str | Mapping[str, Any] = "info-gain",
    *,
    schedule: Schedule | Mapping[str, Any] | int = 1,
    block: int | None = None,
    order: str = "sequence",
    eos_id: int | None = None,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    observe: Observer | None = None,
    trace: bool = True,
) -> Result:
    """Fill every mask of the canvas.

    `schedule` is a schedule, or simply the tokens per step. `seeds` fixes each row's own seed, in
    place of those derived from `seed`. `observe` is called with one StepEvent per step.
    """
    schedule = TokensPerStep(schedule) if isinstance(schedule, int) else schedule
    recipe = Recipe(sampler, schedule, block, order, eos_id, seed)  # type: ignore[arg-type]  # Recipe parses names
    return decode_lanes(model, [Lane(canvas, recipe, seeds)], observe=observe, trace=trace)[0]


@torch.inference_mode()
def decode_lanes(
    model: Denoiser, lanes: Sequence[Lane], *, observe: Observer | None = None, trace: bool = True
) -> list[Result]:
    """Decode lanes with different recipes in one batch: each proposes and scores, all are evaluated together."""
    if not 0 <= model.mask_id < model.vocab_size:
        raise InputError(f"the mask id must lie in the vocabulary of {model.vocab_size}; got {model.mask_id}.")
    if not lanes:
        raise InputError("decoding needs at least one lane; got none.")
    if model.block_causal and len({lane.recipe.block for lane in lanes}) > 1:
        raise InputError("lanes of a block-causal model must share one block width: it is the model's attention block.")
    for lane in lanes:
        lane.check(model.mask_id, model.vocab_size, model.block_causal)
    batch = Batch(model, lanes, trace)
    try:
        while batch.live:
            batch.open_blocks()  # rows at a block's start: the model reads what lies outside it
            moves = batch.propose()  # 1 sampling
            batch.evaluate(moves)  # 2 evaluation: one forward for all candidates of all lanes
            for event in batch.transition(moves):  # 3 transition
                if observe:
                    observe(event)
    except InfoGainError as error:
        error.partial = batch.results()
        raise
    return batch.results()
