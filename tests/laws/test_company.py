"""The law of company on real networks: whatever stands beside a row, it comes out as it would alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from infogain import Canvas, Lane, Recipe, Result, decode_lanes
from infogain.algorithm.schedule import TokensPerStep
from infogain.samplers import Sampler, make
from tests.laws.test_backbone import BASE, CASES, model_of

MASK = BASE.mask_id
SAMPLERS: list[Sampler] = [
    make("entropy"),
    make("eb", bound=6.0),
    make("klass"),
    make("info-gain", n=4),
    make("info-gain", n=4, draws="shared", tau_select=0.3),
    make("info-gain-beam", n=3, width=3),
    make("info-gain-beam", n=3, width=3, draws="fixed"),
    make("best-of-n", n=2, base="ar"),
]
# a word, then words and masks in any order, one mask at least: holes, gaps, and texts to complete
ROWS = st.lists(st.sampled_from([1, 2, 3, 4, MASK, MASK]), min_size=1, max_size=18).map(lambda row: [5, *row, MASK])


@st.composite
def lanes_of(draw: st.DrawFn, block: int, causal: bool, most: int = 3) -> Lane:
    sampler = draw(st.sampled_from(SAMPLERS))
    order = "sequence" if causal or sampler.traits.beam > 1 else draw(st.sampled_from(["sequence", "random"]))
    recipe = Recipe(
        sampler,
        TokensPerStep(draw(st.integers(1, 3))),
        block=block if causal else draw(st.sampled_from([block, None])),
        order=order,
        eos_ids=tuple(draw(st.sets(st.integers(0, 20), max_size=4))),
        seed=draw(st.integers(0, 99)),
    )
    ends = sampler.traits.beam == 1 and order == "sequence" and draw(st.booleans())
    canvas = Canvas.infill(draw(st.lists(ROWS, min_size=1, max_size=most)), MASK)
    return Lane(canvas, recipe, stop=(lambda _, written: 7 in written) if ends else None)


@pytest.mark.parametrize(("family", "cache"), CASES)
@budget(max_examples=8)
@given(data=st.data())
def test_a_row_comes_out_as_it_would_alone(family: str, cache: str | None, data: st.DataObject) -> None:
    model = model_of(family, cache)
    block, count = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 3))
    lanes = [data.draw(lanes_of(block, model.attention_block is not None)) for _ in range(count)]
    for lane, result in zip(lanes, decode_lanes(model, lanes, trace=False), strict=True):
        written = result.generated & ~result.skipped
        assert not (result.tokens[result.generated] == MASK).any()
        assert torch.equal(result.revealed >= 0, written)
        assert torch.equal(result.committed, written.sum(-1))
        for i, row in enumerate(lane.canvas.rows()):
            single = Lane(Canvas.infill([row], MASK), lane.recipe, [result.seeds[i]], lane.stop)
            assert_alike(decode_lanes(model, [single], trace=False)[0], result, i, len(row))


def assert_alike(alone: Result, together: Result, i: int, columns: int) -> None:
    for name in ("tokens", "revealed", "skipped"):
        assert torch.equal(getattr(alone, name)[0, :columns], getattr(together, name)[i, :columns]), name
    for name in ("forwards", "token_forwards"):
        assert getattr(alone, name)[0] == getattr(together, name)[i], name
    assert float(alone.cumulative_entropy[0]) == pytest.approx(float(together.cumulative_entropy[i]), abs=1e-9)
