"""Laws of independence: a row's tokens are a function of its own seed, whatever stands beside it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from torch import Tensor

import infogain
from infogain import Canvas, Lane, Recipe, TokensPerStep
from infogain.models import Tabular, judgement, parity, random_joint
from infogain.models.tabular import TabularContext
from infogain.samplers import Sampler, make
from tests.cases import ALL, LAYOUTS, MODEL, label, rows, same_tokens

SHAPES = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=5)


def canvas_of(model: Tabular, shapes: list[tuple[int, int]]) -> Canvas:
    prompts = [[i % 3 for _ in range(prompt)] for i, (prompt, _) in enumerate(shapes)]
    return Canvas.from_prompts(prompts, [length for _, length in shapes], model.mask_id)


WIDE = random_joint(10, 3, seed=5, support=300)


@pytest.mark.parametrize("sampler", ALL, ids=label)
@budget(max_examples=6)
@given(shapes=SHAPES, k=st.integers(1, 3), block=st.sampled_from([None, 2, 3]), seed=st.integers(-(2**40), 2**40))
def test_a_row_alone_is_the_row_in_a_batch(
    sampler: Sampler, shapes: list[tuple[int, int]], k: int, block: int | None, seed: int
) -> None:
    canvas = canvas_of(WIDE, shapes)
    together = infogain.decode(WIDE, canvas, sampler, schedule=k, block=block, seed=seed)
    for i in range(len(shapes)):
        # Global decoding takes the widest span of the batch as its block; alone, a row's own: the same columns.
        alone = infogain.decode(WIDE, rows(canvas, [i]), sampler, schedule=k, block=block, seeds=[together.seeds[i]])
        assert same_tokens(alone.tokens[0], together.tokens[i])
        assert alone.cumulative_entropy[0] == together.cumulative_entropy[i]
        assert alone.token_forwards[0] == together.token_forwards[i]


@pytest.mark.parametrize("toy", [parity(), judgement()], ids=lambda toy: toy.name)
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_order_and_company_do_not_matter_even_among_ties(sampler: Sampler, toy: infogain.models.Toy) -> None:
    """Symmetric joints are full of exact ties, where one bit of difference would change the choice."""
    canvas = toy.canvas(6, seed=2)
    base = infogain.decode(toy.model, canvas, sampler, schedule=2, block=4, seed=8)
    order = [3, 0, 5, 1]
    other = infogain.decode(
        toy.model, rows(canvas, order), sampler, schedule=2, block=4, seeds=[base.seeds[i] for i in order]
    )
    for j, i in enumerate(order):
        assert same_tokens(other.tokens[j], base.tokens[i])


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_two_lanes_in_one_batch_are_the_lanes_alone(sampler: Sampler) -> None:
    """Different samplers, schedules, blocks and row lengths share forwards and nothing else."""
    ours = Lane(LAYOUTS[4].canvas(MODEL), Recipe(sampler, TokensPerStep(2), block=3, seed=5))
    other = Lane(LAYOUTS[1].canvas(MODEL), Recipe(make("info-gain", n=5, gamma=0.5), TokensPerStep(1), block=2, seed=6))
    third = Lane(LAYOUTS[0].canvas(MODEL), Recipe(make("uniform"), TokensPerStep(3), seed=7))
    lanes = [ours, other, third]
    together = infogain.decode_lanes(MODEL, lanes)
    for lane, result in zip(lanes, together, strict=True):
        alone = infogain.decode_lanes(MODEL, [lane])[0]
        assert torch.equal(alone.tokens, result.tokens)
        assert torch.equal(alone.cumulative_entropy, result.cumulative_entropy)
        assert torch.equal(alone.forwards, result.forwards)
        assert torch.equal(alone.token_forwards, result.token_forwards)
    assert together[0].calls < sum(infogain.decode_lanes(MODEL, [lane])[0].calls for lane in lanes)


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_the_seed_is_all_the_randomness(sampler: Sampler) -> None:
    canvas = LAYOUTS[2].canvas(MODEL)
    outcomes = [infogain.decode(MODEL, canvas, sampler, seed=seed).tokens for seed in range(12)]
    again = infogain.decode(MODEL, canvas, sampler, seed=3).tokens
    assert torch.equal(outcomes[3], again)
    if getattr(sampler, "tau_token", 1.0) > 0:
        assert len({tuple(tokens[0].tolist()) for tokens in outcomes}) > 1


def test_rows_of_one_decode_differ() -> None:
    canvas = Canvas.from_prompts([[]] * 40, 7, MODEL.mask_id)
    tokens = infogain.decode(MODEL, canvas, "uniform", seed=0).tokens
    assert len({tuple(row) for row in tokens.tolist()}) > 20


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_float32_logits_on_fixed_seeds(sampler: Sampler) -> None:
    class Single(Tabular):
        def __call__(self, tokens: Tensor, context: TabularContext, row: Tensor, max_per_row: int) -> Tensor:
            return super().__call__(tokens, context, row, max_per_row).float()

    model = Single(MODEL.sequences, MODEL.weights.long(), MODEL.mask_id)
    canvas = LAYOUTS[4].canvas(MODEL)
    together = infogain.decode(model, canvas, sampler, schedule=2, block=3, seed=1)
    for i, seed in enumerate(together.seeds):
        alone = infogain.decode(model, rows(canvas, [i]), sampler, schedule=2, block=3, seeds=[seed])
        assert same_tokens(alone.tokens[0], together.tokens[i])
