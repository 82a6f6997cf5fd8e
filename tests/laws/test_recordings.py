"""A long life with rows of every size: recordings stay few, and nobody sees that some have gone."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.models.backbone.graphs import MOST_RECORDED, Recording
from infogain.samplers import make
from tests.laws.test_backbone import BASE, SPECS, WIDTH, canvas_of

ROWS = 1000
BATCHES = [1, 2, 3, 5, 8, 13, 21, 34]  # rows of each
SAMPLERS = [make("info-gain", n=3), make("entropy"), make("klass"), make("entropy")]
MASK = BASE.mask_id


def batches(rows: int) -> Iterator[Canvas]:
    """So many rows of ragged lengths, some with a hole in their text and others open at the end."""
    generator = torch.Generator().manual_seed(0)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=generator))

    def row() -> list[int]:
        prompt, hole, rest = number(1, 9), number(1, 14), number(0, 1) * number(1, 6)
        return [*(number(0, MASK - 1) for _ in range(prompt)), *[MASK] * hole, *[1] * rest]

    while rows:
        count = min(rows, BATCHES[number(0, len(BATCHES) - 1)])
        rows -= count
        yield Canvas.infill([row() for _ in range(count)], MASK)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many recordings there were, each time one ran. Buffers are as small as the rows, so that it takes seconds."""
    monkeypatch.setattr("infogain.models.backbone.buffers.COLUMNS", 32)
    monkeypatch.setattr("infogain.models.backbone.graphs.TILE", 4)
    counts, run = list[int](), Recording.__call__

    def counted(self: Recording, others: Sized, *values: Tensor) -> Tensor:
        counts.append(len(others))
        return run(self, others, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(Recording, "__call__", counted)
    return counts


def test_recordings_stay_few_over_a_thousand_rows_of_mixed_widths(held: list[int]) -> None:
    plain = random_backbone(replace(SPECS["dream"], layers=1))
    model = Backbone(plain.transformer, engine="graphs")
    assert model.graphs is not None
    for i, canvas in enumerate(batches(ROWS)):
        sampler, block = SAMPLERS[i % len(SAMPLERS)], 2 + 7 * i % 13
        one, two = (infogain.decode(m, canvas, sampler, schedule=4, block=block, seed=i) for m in (plain, model))
        assert torch.equal(one.tokens, two.tokens)
    assert max(held) == MOST_RECORDED
    assert model.graphs.times_recorded > MOST_RECORDED


def test_what_was_used_longest_ago_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.models.backbone.graphs.MOST_RECORDED", 2)
    model = Backbone(random_backbone(SPECS["llada"]).transformer, engine="graphs")
    context, _ = model.prefill(canvas_of(), [3, 2, 6, 1], WIDTH)
    assert model.graphs is not None
    for rows in (1, 2, 1, 3):
        model(torch.full((rows, WIDTH), MASK), context, torch.arange(rows), 1)
    assert [key[1] for key in model.graphs.recorded] == [1, 3]
    assert model.graphs.times_recorded == 3
