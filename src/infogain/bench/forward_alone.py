"""The model alone: one forward over N candidates of every row, again and again on one context."""

from __future__ import annotations

import time

import torch

from infogain.algorithm.canvas import Canvas
from infogain.bench.cases import Case
from infogain.bench.clock import repeat_ms, sustained_ms, synchronize
from infogain.bench.timed import Timed
from infogain.kernels import MaskedColumns

FORWARDS = {"cuda": 20, "cpu": 5}  # that are timed
REST, SUSTAINED = 0.5, 1.0  # seconds that a GPU rests before that, and that it then goes on


@torch.inference_mode()
def forward_alone(model: Timed, canvas: Canvas, case: Case) -> dict[str, float]:
    """Milliseconds of a forward over blocks that are all masks.

    A GPU that has just worked hard may be slower than one that has rested: it is timed rested, and `sustained`.
    """
    canvas = canvas.to(model.device)
    context_rows = torch.arange(case.rows, device=model.device)
    rows = canvas.take(context_rows % case.batch)
    start = case.prompt // case.block * case.block if model.attention_block else case.prompt
    width = case.block if model.attention_block else min(case.block, case.length)
    context, _ = model.inner.prefill(rows, [start] * case.rows, width)
    block = rows.view(torch.full_like(context_rows, start), width)[0]
    tokens, row = (x.repeat_interleave(case.candidates, 0) for x in (block, context_rows))
    masked = tokens == model.mask_id
    count = int(masked.sum())

    def forward() -> None:
        model.inner.at_masks(tokens, MaskedColumns(masked, count), context, row, case.candidates)

    times = FORWARDS[model.device.type]
    if model.device.type == "cpu":
        return {"forward_ms": repeat_ms(forward, model.device, times)}
    forward()  # recorded, and nothing left to do but rest
    synchronize(model.device)
    time.sleep(REST)
    rested = repeat_ms(forward, model.device, times)
    return {"forward_ms": rested, "sustained_ms": sustained_ms(forward, model.device, times, SUSTAINED)}
