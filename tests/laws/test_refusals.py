"""Laws of what a batch refuses: what it cannot decode changes nothing of what it is decoding."""

from __future__ import annotations

import pytest
import torch

import infogain
from infogain import Batch, Canvas, ContextError, InputError, Lane, Recipe
from infogain.samplers import make
from tests.laws.test_life import CANVAS
from tests.laws.test_life import JOINT as MODEL


def test_a_batch_takes_what_decode_takes_and_refuses_what_the_model_cannot_hold() -> None:
    """A row past the model's context, or more candidates than memory has room for, changes nothing of what is there."""

    class Duck:
        mask_id, vocab_size, attention_block, device = MODEL.mask_id, MODEL.vocab_size, None, MODEL.device
        columns, prefill, __call__ = MODEL.columns, MODEL.prefill, lambda _, *values: MODEL(*values)

    lane = Lane(CANVAS, Recipe(make("info-gain"), block=3))
    alone = infogain.decode_lanes(MODEL, [lane])[0]
    batch = Batch(Duck())  # type: ignore[arg-type]
    batch.open(lane)
    assert batch.results()[0].seeds == alone.seeds
    batch = Batch(MODEL)
    number = batch.open(lane)
    columns = MODEL.context or 0
    with pytest.raises(ContextError, match=f"context of {columns} columns; one has {columns + 1}"):
        batch.admit(number, Canvas.from_prompts([[]], columns + 1, MODEL.mask_id))
    many = batch.open(Lane(CANVAS.take(slice(0, 1)), Recipe(make("info-gain", n=2**20), block=3)))
    with pytest.raises(InputError, match="must fit into memory"):
        batch.admit(many, Canvas.from_prompts([[]] * 3000, 3, MODEL.mask_id))
    batch.cancel(many, [0])
    for wrong in (CANVAS, None):
        with pytest.raises(InputError, match="lanes of a Canvas and a Recipe"):
            batch.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lanes of a Canvas and a Recipe"):
        batch.admit(number, [[0, 1]])  # type: ignore[arg-type]
    for nonsense in (0, "0", [1.5]):
        with pytest.raises(InputError, match="a list of their numbers"):
            batch.cancel(number, nonsense)  # type: ignore[arg-type]
    batch.close(many)
    batch.cancel(many, [0])  # its lane is gone: who cancels may be late
    while batch.live:
        batch.step()
    assert torch.equal(batch.results()[0].tokens, alone.tokens)
