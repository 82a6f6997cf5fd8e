"""Laws of guidance, which a wrapper carries: it decodes as a plain implementation does, with caches and in company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, Lane, Recipe, TokensPerStep, decode_stream
from infogain.models import Backbone, Denoiser, FullCanvas, Past, Wrapper
from infogain.samplers import Sampler, make
from tests.cases import ALL, label, rows, same_tokens
from tests.guided import Guided
from tests.laws.test_backbone import BASE, model_of
from tests.laws.test_backbone import CASES as ALL_CASES

SCALE, MASK, WIDTH = 1.5, BASE.mask_id, 4
CASES = [case for case in ALL_CASES if case[0] != "tied"]
EXACT = [case for case in CASES if case[1] in (None, "none")]
FROZEN = [case for case in CASES if case not in EXACT]
PROMPTS = {1: 3, 4: 1, 5: 4, 12: 1, 13: 6}  # columns of the prompt, by the row's first token
FEW: list[Sampler] = [
    make("klass"),
    make("info-gain", n=3, gamma=0.4),
    make("info-gain-beam", width=2, n=3),
    make("best-of-n", n=2, base={"name": "eb", "bound": 1.0}),
]


def canvas_of() -> Canvas:
    """Ragged rows: text after masks, a prompt that ends before the first mask, and blocks that begin in a prompt."""
    given = [
        [1, 2, 3, *[MASK] * 9],
        [4, *[MASK] * 6],
        [5, 6, 7, 8, 9, *[MASK] * 5, 10, 11],
        [12, MASK, MASK],
        [13, 14, 15, 16, 17, 18, *[MASK] * 7],
    ]
    return Canvas.infill(given, MASK, [PROMPTS[row[0]] for row in given])


def naive(model: Backbone) -> FullCanvas:
    """No cache and no company: the whole row with its prompt, the whole row without, and their logits combined.

    It knows a row's prompt by its first token, so nothing that the loop carries for it is trusted here.
    """

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        prompt = torch.tensor([PROMPTS[first] for first in tokens[:, 0].tolist()])
        without = tokens.masked_fill(torch.arange(tokens.shape[1]) < prompt[:, None], MASK)
        conditional, unconditional = (_whole(model, x, inside) for x in (tokens, without))
        return conditional + SCALE * (conditional - unconditional)

    made = FullCanvas(network, model.vocabulary)
    made.attention_block = model.attention_block
    return made


def _whole(model: Backbone, tokens: Tensor, inside: Tensor) -> Tensor:
    """Logits of every column, block after block where the model is block-causal."""
    canvas, (count, columns) = Canvas(tokens, inside.sum(-1), MASK), tokens.shape
    width = model.attention_block or columns
    blocks = [model.prefill(canvas, [start] * count, width)[1] for start in range(0, columns, width)]
    return torch.cat(blocks, 1)[:, :columns]


@dataclass(frozen=True)
class Two:
    conditional: Any
    unconditional: Any
    start: Tensor
    prompt: Tensor

    def take(self, rows: Sequence[int]) -> Self:
        kept = torch.tensor(rows)
        both = self.conditional.take(rows), self.unconditional.take(rows)
        return type(self)(*both, self.start[kept], self.prompt[kept])

    def join(self, other: Self) -> Self:
        both = self.conditional.join(other.conditional), self.unconditional.join(other.unconditional)
        return type(self)(*both, *(torch.cat(x) for x in ((self.start, other.start), (self.prompt, other.prompt))))


class ByHand(Wrapper):
    """Two decodes with a cache each, one of rows without their prompts, whose logits are combined."""

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        return self._opened(canvas, start, *(self.inner.prefill(x, start, width, end) for x in self._two(canvas)))

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> Any:
        pasts = (past._replace(context=x) for x in (past.context.conditional, past.context.unconditional))
        opened = (self.inner.append(x, start, width, p) for x, p in zip(self._two(canvas), pasts, strict=True))
        return self._opened(canvas, start, *opened)

    def __call__(self, tokens: Tensor, context: Two, row: Tensor, max_per_row: int) -> Tensor:
        column = context.start[row, None] + torch.arange(tokens.shape[1])
        without = tokens.masked_fill(column < context.prompt[row, None], MASK)
        one = self.inner(tokens, context.conditional, row, max_per_row)
        return one + SCALE * (one - self.inner(without, context.unconditional, row, max_per_row))

    def _two(self, canvas: Canvas) -> tuple[Canvas, Canvas]:
        in_prompt = torch.arange(canvas.tokens.shape[1]) < canvas.prompt[:, None]
        return canvas, replace(canvas, tokens=canvas.tokens.masked_fill(in_prompt, MASK))

    def _opened(self, canvas: Canvas, start: Sequence[int], one: Any, two: Any) -> Any:
        context = Two(one[0], two[0], torch.tensor(start), canvas.prompt)
        return context, one[1] + SCALE * (one[1] - two[1])


def same(guided: Denoiser, plain: Denoiser, sampler: Sampler, block: int = WIDTH) -> None:
    one, two = (infogain.decode(m, canvas_of(), sampler, schedule=2, block=block, seed=3) for m in (guided, plain))
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.forwards, two.forwards)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-8)


@pytest.mark.parametrize(("family", "cache"), EXACT)
@pytest.mark.parametrize("sampler", ALL[::5], ids=label)
def test_guidance_is_what_a_plain_implementation_gives(sampler: Sampler, family: str, cache: str | None) -> None:
    model = model_of(family, cache)
    same(Guided(model, SCALE), naive(model), sampler)


@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_with_one_layer_caches_are_exact_under_guidance_too(sampler: Sampler, family: str, cache: str) -> None:
    """A key hangs on its own token alone there, so what is frozen is as the plain implementation reads it anew."""
    cached, exact = model_of(family, cache, refresh=3, layers=1), model_of(family, "none", layers=1)
    same(Guided(cached, SCALE), naive(exact), sampler, block=3)


@pytest.mark.parametrize("refresh", [1, 2])
@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_cache_freezes_what_two_caches_would(sampler: Sampler, family: str, cache: str, refresh: int) -> None:
    model = model_of(family, cache, refresh=refresh)
    same(Guided(model, SCALE), ByHand(model), sampler, block=3)


@pytest.mark.parametrize(("family", "cache"), EXACT)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_rows_that_take_each_others_places_are_guided_as_alone(
    sampler: Sampler, family: str, cache: str | None
) -> None:
    """More rows than places, beside a lane of another recipe; each against the plain implementation, alone."""
    model, canvas = model_of(family, cache), canvas_of()
    several = canvas.take(torch.tensor([0, 3, 4, 1, 2, 0]))
    lane = Lane(several, Recipe(sampler, TokensPerStep(2), WIDTH), seeds=range(6), max_in_flight=2)
    other = Lane(canvas.take(slice(1, 3)), Recipe(make("ar"), TokensPerStep(1), WIDTH), seeds=[7, 8])
    came = {(i, row): result for i, row, result in decode_stream(Guided(model, SCALE), [lane, other])}
    assert len(came) == 8
    for (i, row), result in came.items():
        own, recipe, seed = [(several, lane.recipe, row), (other.canvas, other.recipe, 7 + row)][i]
        alone = Lane(rows(own, [row]), recipe, seeds=[seed])
        (expected,) = infogain.decode_lanes(naive(model), [alone])
        assert same_tokens(result.tokens, expected.tokens)
        assert torch.allclose(result.cumulative_entropy, expected.cumulative_entropy, atol=1e-8)


@pytest.mark.parametrize(("family", "cache"), [case for case in CASES if case[1] != "none"])
@pytest.mark.parametrize("sampler", FEW[1:3], ids=label)
def test_recorded_forwards_and_heads_that_read_a_few_rows_guide_alike(
    sampler: Sampler, family: str, cache: str | None
) -> None:
    plain = model_of(family, cache)
    for model in (
        Backbone(plain.transformer, cache, "graphs"),
        Backbone(model_of(family, cache).transformer, cache, ceiling=2 * 8 * 3 * BASE.vocab_size / 2**30),
    ):
        same(Guided(model, SCALE), Guided(plain, SCALE), sampler)


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_without_weight_on_it_guidance_is_the_model_itself(family: str, cache: str | None) -> None:
    """Guidance of weight 0 changes nothing; with weight the texts differ, so the laws above can fail."""
    model = model_of(family, cache)
    for sampler in FEW[1:3]:
        nothing, plain, guided = (
            infogain.decode(m, canvas_of(), sampler, block=WIDTH, seed=3)
            for m in (Guided(model, 0.0), model, Guided(model, SCALE))
        )
        assert torch.equal(nothing.tokens, plain.tokens)
        assert nothing.token_forwards.tolist() == [2 * columns for columns in plain.token_forwards.tolist()]
        assert not torch.equal(guided.tokens, plain.tokens)


class Calls(Wrapper):
    """Counts what runs through a model."""

    def __init__(self, inner: Denoiser) -> None:
        super().__init__(inner)
        self.count = 0

    def prefill(self, *given: Any) -> Any:
        self.count += 1
        return self.inner.prefill(*given)

    def append(self, *given: Any) -> Any:
        self.count += 1
        return self.inner.append(*given)

    def at_masks(self, *given: Any) -> Any:
        self.count += 1
        return self.inner.at_masks(*given)


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_both_kinds_of_rows_share_one_forward(family: str, cache: str | None) -> None:
    calls = Calls(model_of(family, cache, refresh=2 if cache in ("dual", "prefix") else None))
    result = infogain.decode(Guided(calls, SCALE), canvas_of(), "info-gain", block=WIDTH)
    assert calls.count == result.calls
