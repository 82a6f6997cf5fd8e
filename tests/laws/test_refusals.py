"""Laws of what a batch refuses: what it cannot decode changes nothing of what it is decoding."""

from __future__ import annotations

from typing import Any

import numpy as np
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


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"recipe": "entropy"}, r"a Canvas and a Recipe; got Canvas and str\. .*Recipe\("),
        ({"canvas": [[0, 1]]}, r"a Canvas and a Recipe; got list and Recipe"),
        ({"seeds": 3}, r"seeds must be a list of whole numbers of 64 bits, one per row; got 3"),
        ({"seeds": [1.5] * 6}, "whole numbers of 64 bits"),
        ({"seeds": [2**63] * 6}, "whole numbers of 64 bits"),
        ({"seeds": [1, 2]}, r"one per row \(6\); got 2"),
        ({"max_in_flight": 0}, "max_in_flight must be a whole number of at least 1"),
    ],
)
def test_a_lane_is_refused_where_it_is_made(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Lane(**{"canvas": CANVAS, "recipe": Recipe(), **wrong})


def test_the_keyword_of_before_is_no_keyword() -> None:
    with pytest.raises(TypeError, match="at_once"):
        Lane(CANVAS, Recipe(), at_once=2)  # type: ignore[call-arg]


def test_whole_numbers_of_any_kind_are_seeds() -> None:
    plain = infogain.decode(MODEL, CANVAS, "info-gain", seeds=range(6), block=3)
    for seeds in (np.arange(6), torch.arange(6), [np.int32(i) for i in range(6)]):
        again = infogain.decode(MODEL, CANVAS, "info-gain", seeds=seeds, block=3)  # type: ignore[arg-type]
        assert torch.equal(plain.tokens, again.tokens)
        assert again.seeds == list(range(6))
    assert all(type(seed) is int for seed in again.seeds), "as JSON wants them"
