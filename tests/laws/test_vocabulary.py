"""Laws of the vocabulary: a model of a range of ids decodes as one of all ids whose other logits are −∞."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, ContractError, Lane, OptionError, Recipe, Vocabulary
from infogain.algorithm.marginals import LazyLogits
from infogain.decode import decode_lanes
from infogain.kernels import MaskedColumns
from infogain.models import Backbone, Denoiser, Wrapper, random_joint
from infogain.samplers import Sampler, make
from tests.cases import ALL, label, same_tokens
from tests.laws.test_backbone import BASE, CASES, canvas_of, model_of

JOINT = random_joint(5, 5, seed=3)  # ids 0 to 4, the mask is 5; every text is possible
PART = Vocabulary(6, 5, first=1, count=3)
CODES = Vocabulary(BASE.vocab_size, BASE.mask_id, first=9, count=12, never=(11, 2))
FEW = [
    make("entropy", top_k=3),
    make("pc"),
    make("klass"),
    make("info-gain", n=3, gamma=0.4),
    make("info-gain-beam", n=3, top_p=0.8),
]


class Changed(Wrapper):
    """All logits of a model, changed."""

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        context, logits = self.inner.prefill(canvas, start, width, end)
        return context, self.change(logits)

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        return self.change(self.inner(tokens, context, row, max_per_row))

    def change(self, logits: Tensor) -> Tensor:
        raise NotImplementedError


class Narrowed(Changed):
    """Gives the logits of a range alone."""

    vocabulary = PART

    def change(self, logits: Tensor) -> Tensor:
        return logits[..., 1:4]


class Elsewhere(Changed):
    """Gives all logits, −∞ for what another vocabulary does not predict."""

    def __init__(self, inner: Denoiser, part: Vocabulary) -> None:
        super().__init__(inner)
        self.others = [token for token in range(part.size) if token not in part or token in part.never]

    def change(self, logits: Tensor) -> Tensor:
        return logits.index_fill(-1, torch.tensor(self.others), -torch.inf)


@pytest.mark.parametrize("block", [None, 2])
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_a_table_of_a_range_decodes_as_the_whole_table(sampler: Sampler, block: int | None) -> None:
    """Prompts may hold ids outside the range; what is written never does."""
    canvas = Canvas.from_prompts([[4], [0, 2], []], [4, 3, 5], JOINT.mask_id)
    one, two = (
        infogain.decode(model, canvas, sampler, schedule=2, block=block, seed=2)
        for model in (Narrowed(JOINT), Elsewhere(JOINT, PART))
    )
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.forwards, two.forwards)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-9)
    assert set(one.tokens[one.generated].tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("sampler", FEW, ids=label)
@pytest.mark.parametrize(("family", "cache"), CASES)
def test_a_backbone_of_a_range_decodes_as_the_whole_one(family: str, cache: str | None, sampler: Sampler) -> None:
    plain = model_of(family, cache)
    models = Backbone(plain.transformer, cache, vocabulary=CODES), Elsewhere(plain, CODES)
    one, two = (infogain.decode(model, canvas_of(), sampler, schedule=2, block=4, seed=2) for model in models)
    assert torch.equal(one.tokens, two.tokens)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-9)
    assert set(one.tokens[one.generated].tolist()) <= set(range(9, 21)) - {11}


@pytest.mark.parametrize("family", ["llada", "tied"])
def test_the_head_of_a_range_is_a_view(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the rows of these ids are multiplied by, where they lie."""
    model = Backbone(model_of(family, "dual").transformer, "dual", vocabulary=CODES)
    transformer = model.transformer
    head = transformer.embed.weight if transformer.head is None else transformer.head.weight
    linear, seen = torch.nn.functional.linear, list[Tensor]()

    def noted(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        seen.append(weight)
        return linear(x, weight, bias)

    monkeypatch.setattr("torch.nn.functional.linear", noted)
    _, logits = model.prefill(canvas_of(), [3, 1, 5, 1], 4)
    assert logits.shape == (4, 4, 12)
    assert seen[-1].data_ptr() == head[9].data_ptr()
    assert len(seen[-1]) == 12


def test_a_ceiling_counts_the_range_alone() -> None:
    """As many rows of logits fit as there is room for numbers."""
    transformer = model_of("llada", "dual").transformer
    ceiling = 2 * 8 * 4 * CODES.count / 2**30  # four rows
    model = Backbone(transformer, "dual", ceiling=ceiling, vocabulary=CODES)
    canvas, masked = canvas_of(), torch.ones(4, 4, dtype=torch.bool)
    context, _ = model.prefill(canvas, [3, 1, 5, 1], 4)
    block = canvas.view(torch.tensor([3, 1, 5, 1]), 4)[0]
    lazy = model.at_masks(block, MaskedColumns(masked, 16), context, torch.arange(4), 1)
    assert isinstance(lazy, LazyLogits)
    assert (lazy.shape, lazy.rows_at_once) == ((16, 12), 4)
    plain = Backbone(transformer, "dual", vocabulary=CODES)
    for sampler in FEW:
        one, two = (infogain.decode(m, canvas, sampler, schedule=2, block=4, seed=2) for m in (model, plain))
        assert torch.equal(one.tokens, two.tokens)
    transformer.most_tokens = None


@pytest.mark.parametrize("ceiling", [None, 2 * 8 * 4 * BASE.vocab_size / 2**30])
def test_lanes_of_one_batch_predict_what_their_recipes_allow(ceiling: float | None) -> None:
    """Ids that are never predicted are so in each lane whose recipe does not end texts with them."""
    never = tuple(range(3, 20))
    transformer = model_of("dream", "dual").transformer
    model = Backbone(transformer, "dual", ceiling=ceiling, vocabulary=Vocabulary(24, 23, never=never))
    recipes = [
        Recipe(sampler, block=4, eos_ids=ends)
        for sampler, ends in ((FEW[0], ()), (FEW[3], (7,)), (FEW[4], (7, 8, 9, 10, 11)), (FEW[1], ()))
    ]
    lanes = [Lane(canvas_of(), recipe) for recipe in recipes]
    for lane, together in zip(lanes, decode_lanes(model, lanes), strict=True):
        alone = decode_lanes(model, [lane])[0]
        assert same_tokens(together.tokens, alone.tokens)
        assert torch.allclose(together.cumulative_entropy, alone.cumulative_entropy, atol=1e-9)
        written = set(together.tokens[together.generated].tolist())
        assert not written & (set(never) - set(lane.recipe.eos_ids or ()))
    transformer.most_tokens = None


def test_what_does_not_fit_the_vocabulary_is_told() -> None:
    canvas = Canvas.from_prompts([[4]], 4, JOINT.mask_id)

    class Wide(Wrapper):
        vocabulary = PART

    with pytest.raises(ContractError, match=r"here \[1, 4, 3\]; it returned \[1, 4, 6\]"):
        infogain.decode(Wide(JOINT), canvas)
    with pytest.raises(OptionError, match="eos_ids must be predicted by the model, 1 to 3 here; got 4"):
        infogain.decode(Narrowed(JOINT), canvas, eos_ids=4)
    with pytest.raises(OptionError, match="top_k must be at most the vocabulary of 3; got 4"):
        infogain.decode(Narrowed(JOINT), canvas, "entropy", top_k=4)
    with pytest.raises(OptionError, match="must have the 24 ids of the model's embedding; got 30"):
        Backbone(model_of("llada", "dual").transformer, vocabulary=Vocabulary(30, 23))
