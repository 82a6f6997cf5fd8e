"""Laws of guidance: every row is decoded as a plain implementation does it, with caches, in company, and by its own
weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

import infogain
from infogain import Canvas, InputError, Lane, OptionError, Recipe, TokensPerStep, UnknownName, decode_stream
from infogain.algorithm.guidance import GUIDANCE_SHAPES, guided_logits
from infogain.kernels import MaskedColumns
from infogain.models import Backbone, Denoiser, FullCanvas, Guided, Past, Wrapper
from infogain.samplers import Sampler, make
from tests.cases import ALL, label, rows, same_tokens
from tests.laws.test_backbone import BASE, model_of
from tests.laws.test_backbone import CASES as ALL_CASES

MASK, WIDTH = BASE.mask_id, 4
CASES = [case for case in ALL_CASES if case[0] != "tied"]
EXACT = [case for case in CASES if case[1] in (None, "none")]
FROZEN = [case for case in CASES if case not in EXACT]
PROMPTS = {1: 3, 4: 1, 5: 4, 12: 1, 13: 6}  # columns of the prompt, by the row's first token
WEIGHTS = {1: 1.5, 4: 0.0, 5: 3.0, 12: 0.5, 13: 1.5}  # of guidance
MASKS = {1: 9, 4: 6, 5: 5, 12: 2, 13: 7}
FEW: list[Sampler] = [
    make("klass"),
    make("info-gain", n=3, gamma=0.4),
    make("info-gain-beam", width=2, n=3),
    make("best-of-n", n=2, base={"name": "eb", "bound": 1.0}),
]


def canvas_of(shape: str = "constant") -> Canvas:
    """Ragged rows: text after masks, a prompt that ends before the first mask, and blocks that begin in a prompt."""
    given = [
        [1, 2, 3, *[MASK] * 9],
        [4, *[MASK] * 6],
        [5, 6, 7, 8, 9, *[MASK] * 5, 10, 11],
        [12, MASK, MASK],
        [13, 14, 15, 16, 17, 18, *[MASK] * 7],
    ]
    canvas = Canvas.infill(given, MASK, [PROMPTS[row[0]] for row in given])
    return canvas.with_guidance([WEIGHTS[row[0]] for row in given], shape)


class Naive(FullCanvas):
    """No cache and no company: the whole row with its prompt, the whole row without, and their logits combined.

    It knows a row's prompt and weight by its first token, so nothing that the loop carries for it is trusted here.
    """

    guides = True

    def __init__(self, model: Backbone, shape: str = "constant", empty: Sequence[int] | None = None) -> None:
        super().__init__(self.logits, model.vocabulary)
        self.attention_block = model.attention_block
        self.model, self.shape, self.empty = model, GUIDANCE_SHAPES[shape], empty

    def logits(self, tokens: Tensor, inside: Tensor) -> Tensor:
        """Row by row, for a twin may be of another length."""
        found = [self.row(row[own]) for row, own in zip(tokens, inside, strict=True)]
        return torch.stack([pad(each, (0, 0, 0, tokens.shape[1] - len(each))) for each in found])

    def row(self, tokens: Tensor) -> Tensor:
        first, columns = int(tokens[0]), len(tokens)
        end = PROMPTS[first]
        empty = torch.tensor([MASK] * end if self.empty is None else self.empty)
        twin = torch.cat([empty, tokens[end:]])
        one, two = (_whole(self.model, x[None], torch.ones(1, len(x), dtype=torch.bool))[0] for x in (tokens, twin))
        two = torch.cat([one[:end], two[len(empty) :]]) if self.empty is not None else two  # no prompt is asked for
        share = (tokens == MASK).sum() / MASKS[first]
        return one + WEIGHTS[first] * self.shape(share) * (one - two)[:columns]


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
    weight: Tensor

    def take(self, rows: Sequence[int]) -> Self:
        kept = torch.tensor(rows)
        both = self.conditional.take(rows), self.unconditional.take(rows)
        return type(self)(*both, self.start[kept], self.prompt[kept], self.weight[kept])

    def join(self, other: Self) -> Self:
        both = self.conditional.join(other.conditional), self.unconditional.join(other.unconditional)
        rest = [(self.start, other.start), (self.prompt, other.prompt), (self.weight, other.weight)]
        return type(self)(*both, *map(torch.cat, rest))


class ByHand(Wrapper):
    """Two decodes with a cache each, one of rows without their prompts, whose logits are combined."""

    guides = True

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
        weight = context.weight[row, None, None]
        return one + weight * (one - self.inner(without, context.unconditional, row, max_per_row))

    def _two(self, canvas: Canvas) -> tuple[Canvas, Canvas]:
        in_prompt = torch.arange(canvas.tokens.shape[1]) < canvas.prompt[:, None]
        return canvas, replace(canvas, tokens=canvas.tokens.masked_fill(in_prompt, MASK))

    def _opened(self, canvas: Canvas, start: Sequence[int], one: Any, two: Any) -> Any:
        weight = canvas.guidance[:, 0]
        context = Two(one[0], two[0], torch.tensor(start), canvas.prompt, weight)
        return context, one[1] + weight[:, None, None] * (one[1] - two[1])


def same(guided: Denoiser, plain: Denoiser, sampler: Sampler, block: int = WIDTH, canvas: Canvas | None = None) -> None:
    rows = canvas_of() if canvas is None else canvas
    one, two = (infogain.decode(m, rows, sampler, schedule=2, block=block, seed=3) for m in (guided, plain))
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.forwards, two.forwards)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-8)


@pytest.mark.parametrize(("family", "cache"), EXACT)
@pytest.mark.parametrize("sampler", ALL[::5], ids=label)
def test_guidance_is_what_a_plain_implementation_gives(sampler: Sampler, family: str, cache: str | None) -> None:
    model = model_of(family, cache)
    same(Guided(model), Naive(model), sampler)


@pytest.mark.parametrize("shape", GUIDANCE_SHAPES)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_weight_changes_by_its_shape_as_masks_are_filled(sampler: Sampler, shape: str) -> None:
    model = model_of("llada", "none")
    same(Guided(model), Naive(model, shape), sampler, 0, canvas_of(shape))


@pytest.mark.parametrize("empty", [[7], [7, 8, 9], [7, 8, 9, 10, 11, 12, 13, 14]], ids=len)
@pytest.mark.parametrize(("family", "cache"), [case for case in EXACT if case[1]])
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_another_prompt_may_stand_in_for_a_rows_own(
    sampler: Sampler, family: str, cache: str, empty: list[int]
) -> None:
    """It may be shorter than the row's prompt or longer: the twin's block then begins in another column."""
    model = model_of(family, cache)
    same(Guided(model, empty), Naive(model, empty=empty), sampler)


@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_with_one_layer_caches_are_exact_under_guidance_too(sampler: Sampler, family: str, cache: str) -> None:
    """A key hangs on its own token alone there, so what is frozen is as the plain implementation reads it anew."""
    cached, exact = model_of(family, cache, refresh=3, layers=1), model_of(family, "none", layers=1)
    same(Guided(cached), Naive(exact), sampler, block=3)
    same(Guided(cached, [7, 8]), Naive(exact, empty=[7, 8]), sampler, block=3)


@pytest.mark.parametrize("refresh", [1, 2])
@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_cache_freezes_what_two_caches_would(sampler: Sampler, family: str, cache: str, refresh: int) -> None:
    model = model_of(family, cache, refresh=refresh)
    same(Guided(model), ByHand(model), sampler, block=3)


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
    came = {(i, row): result for i, row, result in decode_stream(Guided(model), [lane, other])}
    assert len(came) == 8
    for (i, row), result in came.items():
        own, recipe, seed = [(several, lane.recipe, row), (other.canvas, other.recipe, 7 + row)][i]
        alone = Lane(rows(own, [row]), recipe, seeds=[seed])
        (expected,) = infogain.decode_lanes(Naive(model), [alone])
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
        for empty in (None, [7, 8]) if cache else (None,):
            same(Guided(model, empty), Guided(plain, empty), sampler)


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_without_weight_on_it_guidance_is_the_model_itself(family: str, cache: str | None) -> None:
    """Guidance of weight 0 changes nothing; with weight the texts differ, so the laws above can fail."""
    model, canvas = model_of(family, cache), canvas_of()
    unguided = canvas.with_guidance(0.0)
    for sampler in FEW[1:3]:
        nothing, plain, guided = (
            infogain.decode(m, rows, sampler, block=WIDTH, seed=3)
            for m, rows in ((Guided(model), unguided), (model, unguided), (Guided(model), canvas))
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
    result = infogain.decode(Guided(calls), canvas_of(), "info-gain", block=WIDTH)
    assert calls.count == result.calls


@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_recipe_guides_the_rows_that_carry_no_weight_of_their_own(sampler: Sampler) -> None:
    """The model is wrapped where a row asks for it, and each row comes out as it does alone with its weight."""
    model, canvas = model_of("llada", "none"), canvas_of()
    unset = replace(canvas, guidance=torch.where(torch.arange(5)[:, None] < 3, torch.nan, canvas.guidance))
    came = infogain.decode(model, unset, sampler, guidance=2.0, guidance_shape="rising", seeds=range(5), block=WIDTH)
    assert came.recipe["guidance"] == 2.0
    for i, row in enumerate([2.0, 2.0, 2.0, 0.5, 1.5]):
        one = canvas.take(slice(i, i + 1)).with_guidance(row, "rising" if i < 3 else "constant")
        alone = infogain.decode(Guided(model), one, sampler, seeds=[i], block=WIDTH)
        assert torch.equal(came.tokens[i : i + 1], alone.tokens)


def test_a_model_that_does_not_guide_says_so() -> None:
    batch = infogain.Batch(model_of("llada", "none"))
    with pytest.raises(InputError, match=r"infogain\.models\.Guided"):
        batch.open(Lane(canvas_of(), Recipe(make("ar"))))
    assert Wrapper(Guided(model_of("llada", "none"))).guides
    with pytest.raises(InputError, match="block-causal"):
        Guided(model_of("sdar", None), [1, 2])


@pytest.mark.parametrize("wrong", [-1.0, float("inf"), float("nan"), [1.0, 2.0], [1.0, 2.0, 3.0, 4.0, -5.0]], ids=str)
def test_weights_must_be_numbers_one_for_each_row(wrong: float | list[float]) -> None:
    with pytest.raises(InputError, match="guidance must be"):
        canvas_of().with_guidance(wrong)
    with pytest.raises(UnknownName, match="rising"):
        canvas_of().with_guidance(1.0, "risin")


def test_what_is_excluded_stays_excluded() -> None:
    """−inf on either side is no number to combine; NaN is not hidden."""
    none, nan = -torch.inf, torch.nan
    one, two = torch.tensor([1.0, none, 2.0, none, nan, 3.0]), torch.tensor([0.5, 1.0, none, none, 1.0, nan])
    came = guided_logits(one, two, torch.tensor(1.0))
    assert torch.equal(came[:4], torch.tensor([1.5, none, 2.0, none]))
    assert came[4:].isnan().all()


class Asking(Wrapper):
    """Asks the model below for every column, whatever is masked: as a wrapper may that changes all logits."""

    def at_masks(self, tokens: Tensor, masked_columns: Any, context: Any, row: Tensor, max_per_row: int) -> Any:
        every = MaskedColumns(torch.ones_like(masked_columns.masked), masked_columns.masked.numel())
        found = self.inner.at_masks(tokens, every, context, row, max_per_row)
        return found[masked_columns.flat_index]


@pytest.mark.parametrize("shape", GUIDANCE_SHAPES)
def test_the_weight_does_not_depend_on_which_columns_are_asked_for(shape: str) -> None:
    model = Guided(model_of("llada", "none"))
    plain, asking = (
        infogain.decode(each, canvas_of(shape), "info-gain", block=WIDTH, seed=3) for each in (model, Asking(model))
    )
    assert same_tokens(plain.tokens, asking.tokens)
    assert torch.allclose(plain.cumulative_entropy, asking.cumulative_entropy, atol=1e-8)


def test_a_model_is_guided_once() -> None:
    with pytest.raises(InputError, match="must not be guided again"):
        Guided(Guided(model_of("llada", "none")))


def test_a_shape_without_a_weight_is_refused() -> None:
    with pytest.raises(OptionError, match="guidance_shape says how guidance changes"):
        Recipe(make("ar"), guidance_shape="rising")
    assert Recipe(make("ar"), guidance=1.0, guidance_shape="rising").guidance == 1.0


def test_numbers_of_numpy_are_weights_and_truth_values_are_not() -> None:
    numpy = pytest.importorskip("numpy")
    assert canvas_of().with_guidance(numpy.float32(1.5)).guidance[:, 0].tolist() == [1.5] * 5
    with pytest.raises(InputError, match="guidance must be a finite number"):
        canvas_of().with_guidance(True)
