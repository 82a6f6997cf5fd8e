"""One test for each mistake seen in public decoding code: each would fail where the mistake is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, Steps
from infogain.algorithm.marginals import Marginals
from infogain.models import Tabular, judgement, random_joint
from infogain.samplers import SAMPLERS, Sampler, make
from tests.cases import ALL, LAYOUTS, MODEL, Counting, label


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("gamma", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("name", ["info-gain", "lookum", "info-gain-beam"])
def test_bypass_with_k_above_one_commits_k(name: str, gamma: float, k: int) -> None:
    """Seen: with K = 2, a step that pinned one position committed it alone, and masks were left in the output."""
    result = infogain.decode(MODEL, LAYOUTS[4].canvas(MODEL), make(name, gamma=gamma), schedule=k)
    assert result.forwards.tolist() == [math.ceil(length / k) for length in LAYOUTS[4].lengths]
    assert not (result.tokens[result.generated] == MODEL.mask_id).any()


def test_bypass_pins_what_is_certain_and_samples_the_rest() -> None:
    """Fewer pinned than K: every candidate holds the pinned ones, with one token; more: the K most confident alone."""
    # columns 0 and 1 are nearly certain, columns 2 to 5 are fair coins
    coins = torch.cartesian_prod(*[torch.arange(2)] * 4)
    certain = [[0, 0, 95], [1, 0, 2], [0, 1, 3]]
    table = torch.tensor([[a, b, *c, w] for a, b, w in certain for c in coins.tolist()])
    model = Tabular(table[:, :-1], table[:, -1], mask_id=2)
    canvas = Canvas.from_prompts([[]], 6, 2)
    for seed in range(8):
        steps = infogain.decode(model, canvas, make("info-gain", gamma=0.9), schedule=3, seed=seed).trace.steps  # type: ignore[union-attr]
        first = steps[0].rows[0].candidates
        assert len(first) > 1
        assert all({0, 1} < set(candidate.columns) for candidate in first)
        pinned = {tuple(t for c, t in zip(a.columns, a.tokens, strict=True) if c < 2) for a in first}
        assert len(pinned) == 1, "a pinned position has one shared draw"
        steps = infogain.decode(model, canvas, make("info-gain", gamma=0.9), schedule=1, seed=seed).trace.steps  # type: ignore[union-attr]
        (only,) = steps[0].rows[0].candidates
        assert only.columns == [0], "two are pinned, one may go: the more confident"


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_fewer_steps_than_tokens_and_uneven_blocks_drop_nothing(sampler: Sampler) -> None:
    """Seen: steps < tokens, or a length the block does not divide, silently lost the tail."""
    canvas = Canvas.from_prompts([[1], []], [6, 7], MODEL.mask_id)
    for schedule, block in ((Steps(3), 3), (Steps(2), 4), (Steps(1), None), (Steps(5, "cosine"), 5)):
        result = infogain.decode(MODEL, canvas, sampler, schedule=schedule, block=block)
        assert result.committed.tolist() == [6, 7]
        assert not (result.tokens[result.generated] == MODEL.mask_id).any()


class LovesMask(Counting):
    """A model that puts almost all its probability on the mask token."""

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        context, logits = self.inner.prefill(canvas, start, width, end)
        return context, self._tempt(logits)

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        return self._tempt(self.inner(tokens, context, row, max_per_row))

    def _tempt(self, logits: Tensor) -> Tensor:
        logits[..., self.mask_id] = 50.0
        return logits


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_the_mask_token_is_never_a_prediction(sampler: Sampler) -> None:
    """Seen: a model that predicts the mask "commits" it. Struck out, it changes neither tokens nor H̃."""
    canvas = LAYOUTS[4].canvas(MODEL)
    tempted = infogain.decode(LovesMask(MODEL), canvas, sampler, schedule=2, block=3, seed=1)
    plain = infogain.decode(MODEL, canvas, sampler, schedule=2, block=3, seed=1)
    assert torch.equal(tempted.tokens, plain.tokens)
    assert torch.equal(tempted.cumulative_entropy, plain.cumulative_entropy)


def test_information_gain_looks_at_the_block_alone() -> None:
    """Seen: columns outside the block counted as uniform, which dilutes the gain; the block ignored without a cache."""
    model = random_joint(8, 3, seed=3, support=200)
    canvas = Canvas.from_prompts([[]], 8, model.mask_id)
    result = infogain.decode(model, canvas, make("info-gain", gamma=1.0, n=4), block=4)
    for step in result.trace.steps:  # type: ignore[union-attr]
        for row in step.rows:
            assert all(row.start <= column < row.start + 4 for column in row.columns)
            entropy = dict(zip(row.columns, row.entropy, strict=True))
            now = sum(row.entropy) / len(row.entropy)
            for a in row.candidates:
                if len(row.columns) == 1:
                    assert a.score == pytest.approx(now - entropy[a.columns[0]])
                    continue
                filled = canvas_after(result.trace, step.step, row.prompt)  # type: ignore[arg-type]
                for column, token in zip(a.columns, a.tokens, strict=True):
                    filled[column] = token
                rest = [column for column in row.columns if column not in a.columns]
                after = sum(entropies(model, filled)[column] for column in rest) / len(rest)
                assert a.score == pytest.approx(now - after - sum(entropy[column] for column in a.columns))


def canvas_after(trace: infogain.Trace, steps: int, prompt: int) -> list[int]:
    row = list(trace.canvas[prompt])
    for step in trace.steps[:steps]:
        for kept in (a for r in step.rows if r.prompt == prompt for a in r.candidates if a.kept):
            for column, token in zip(kept.columns, kept.tokens, strict=True):
                row[column] = token
    return row


def entropies(model: Tabular, row: list[int]) -> list[float]:
    canvas = Canvas.infill([row], model.mask_id)
    _, logits = model.prefill(canvas, [0], len(row))
    entropy: list[float] = Marginals.of(logits, model.vocabulary).entropy[0].tolist()
    return entropy


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name != "best-of-n"])
def test_token_temperature_has_an_effect_on_every_token(name: str) -> None:
    """Seen: the first token of each block always greedy; token temperature without effect."""
    model = Tabular(torch.cartesian_prod(*[torch.arange(2)] * 4), torch.ones(16, dtype=torch.int64), mask_id=2)
    canvas = Canvas.from_prompts([[]] * 64, 4, 2)
    warm = infogain.decode(model, canvas, make(name, tau_token=1.0), block=2).tokens
    assert (warm.double().mean(0) - 0.5).abs().max() < 0.3, "every column sees both tokens"
    cold = infogain.decode(model, canvas, make(name, tau_token=0.0), block=2).tokens
    assert (cold == cold[0]).all()


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_each_row_goes_its_own_way(sampler: Sampler) -> None:
    """Seen: batch size 1 only, or row 0's positions applied to every row."""
    toy = judgement((2, 3))
    result = infogain.decode(toy.model, toy.canvas(12, seed=1), sampler, schedule=1)
    reveal: dict[int, list[int]] = {}
    for step in result.trace.steps:  # type: ignore[union-attr]
        for row in step.rows:
            if row.copy == 0:
                reveal.setdefault(row.prompt, []).extend(next((a.columns for a in row.candidates if a.kept), []))
    assert len(reveal) == 12
    if not sampler.traits.adaptive:
        assert toy.accuracy(result.rows()) == 1, "one token at a time, an exact model makes no mistake in any order"
        assert sampler.name in ("ar", "pc") or len({tuple(columns) for columns in reveal.values()}) > 1


def test_marginals_are_of_logits_not_of_probabilities() -> None:
    """Seen: probabilities fed where logits were expected. On a known joint the entropies are the known ones."""
    model = Tabular(torch.tensor([[0], [1]]), torch.tensor([3, 1]), mask_id=2)
    result = infogain.decode(model, Canvas.from_prompts([[]], 1, 2), "entropy")
    assert float(result.cumulative_entropy) == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))


def test_a_context_is_never_written() -> None:
    """Seen: a cache written in place, wrong for every candidate after the first. Ours reads the same after a decode."""
    contexts: list[tuple[Any, Tensor]] = []

    class Watched(Counting):
        def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
            context, logits = self.inner.prefill(canvas, start, width, end)
            contexts.append((context, context.agrees.clone()))
            return context, logits

    infogain.decode(Watched(MODEL), LAYOUTS[4].canvas(MODEL), make("info-gain", gamma=1.0), block=3)
    assert contexts
    for context, before in contexts:
        assert torch.equal(context.agrees, before)


def test_the_first_look_ahead_of_a_block_sees_the_finished_blocks() -> None:
    """Seen: the first look-ahead of a block run on a stale cache. Every state equals the exact one of its canvas."""
    result = infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), make("info-gain", gamma=1.0, n=3), block=3)
    for step in result.trace.steps:  # type: ignore[union-attr]
        (row,) = step.rows
        exact = entropies(MODEL, canvas_after(result.trace, step.step, 0))  # type: ignore[arg-type]
        assert row.entropy == pytest.approx([exact[column] for column in row.columns])
