"""Cached against exact: how far a cache's logits drift as a block fills, and how often the choice changes.

The dual and prefix caches freeze columns as they were when the row was last read. Every token written since
makes them a little more wrong; this measures by how much, on the decode's own canvases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals
from infogain.device import upload
from infogain.errors import InputError
from infogain.generate import Generation, collect, decode_job
from infogain.loop.batch import Observer
from infogain.models.backbone.backbone import Backbone
from infogain.models.backbone.context import BackboneContext
from infogain.models.denoiser import Past
from infogain.models.wrapper import Wrapper
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text.prompts import Job
from infogain.text.text_model import TextModel


@dataclass
class DriftSums:
    """Sums over canvases that were evaluated with the cache and without."""

    canvases: int = 0
    columns: int = 0  # masked ones
    gap: float = 0.0  # Σ mean |Δlogit| of a column
    widest: float = 0.0  # max |Δlogit|
    kl: float = 0.0  # Σ KL(exact ‖ cached) of a column
    tokens: int = 0  # columns whose likeliest token changed
    choices: int = 0  # canvases whose surest column, or its token, changed

    def means(self) -> Plain:
        columns, canvases = max(self.columns, 1), max(self.canvases, 1)
        return {
            "canvases": self.canvases,
            "mean_gap": self.gap / columns,
            "widest_gap": self.widest,
            "mean_kl": self.kl / columns,
            "tokens_changed": self.tokens / columns,
            "choices_changed": self.choices / canvases,
        }


@dataclass(frozen=True)
class Drift:
    """How far a cache drifts. Texts are decoded twice from the same seeds, with the cache and without."""

    cache: str
    refresh: int  # blocks that were opened from one reading
    by_age: dict[int, Plain]  # tokens written since the block opened (from 0 on where `refresh` is above 1) -> means
    texts: int
    texts_changed: int
    tokens: int
    tokens_changed: int
    recipe: Plain
    provenance: Plain  # which model it was, with its cache

    def plain(self) -> Plain:
        return asdict(self)


@dataclass(frozen=True)
class PairContext:
    cached: Any
    exact: Any
    masks: Tensor  # [C] when the block opened

    def take(self, rows: Sequence[int]) -> Self:
        index = torch.tensor(rows, device=self.masks.device)
        return type(self)(self.cached.take(rows), self.exact.take(rows), self.masks[index])

    def join(self, other: Self) -> Self:
        masks = torch.cat([self.masks, other.masks])
        return type(self)(self.cached.join(other.cached), self.exact.join(other.exact), masks)


class Pair(Wrapper):
    """A cached model beside its exact twin: answers like the first, and notes how far off it was."""

    def __init__(self, cached: Backbone, exact: Backbone) -> None:
        super().__init__(cached)
        self.exact = exact
        self.by_age: dict[int, DriftSums] = defaultdict(DriftSums)

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[PairContext, Tensor]:
        context, logits = self.inner.prefill(canvas, start, width, end)
        return self._opened(context, logits, canvas, start, end or [at + width for at in start]), logits

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[PairContext, Tensor]:
        context, logits = self.inner.append(canvas, start, width, past._replace(context=past.context.cached))
        return self._opened(context, logits, canvas, start, past.next_ends(start)), logits

    def _opened(
        self, context: BackboneContext, logits: Tensor, canvas: Canvas, start: Sequence[int], end: Sequence[int]
    ) -> PairContext:
        """Open the block in both models, and compare them where the cached one has not read the whole row."""
        exact, expected = self.exact.prefill(canvas, start, logits.shape[1], end)
        _, masked = canvas.view(context.start, logits.shape[1])
        if self.refresh > 1:
            column = torch.arange(logits.shape[1], device=masked.device)
            own = upload([b - a for a, b in zip(start, end, strict=True)], masked.device)
            self._compare(masked & (column < own[:, None]), torch.zeros_like(own), logits, expected)
        return PairContext(context, exact, masked.sum(-1))

    def __call__(self, tokens: Tensor, context: PairContext, row: Tensor, max_per_row: int) -> Tensor:
        cached = self.inner(tokens, context.cached, row, max_per_row)
        exact = self.exact(tokens, context.exact, row, max_per_row)
        masked = tokens == self.mask_id
        self._compare(masked, context.masks[row] - masked.sum(-1), cached, exact)
        return cached

    def _compare(self, masked: Tensor, age: Tensor, cached: Tensor, exact: Tensor) -> None:
        """Blocks [M, W] of which the logits are known both ways, so many tokens after they opened. [M]"""
        for m in range(len(masked)):
            self._note(self.by_age[int(age[m])], cached[m][masked[m]], exact[m][masked[m]])

    def _note(self, sums: DriftSums, cached: Tensor, exact: Tensor) -> None:
        """Add the logits of one canvas, both [masked columns, V], to the sums."""
        gap = (cached.float() - exact.float()).abs()
        p, q = (Marginals.of(logits.clone()[None], self.vocabulary) for logits in (exact, cached))
        surest = [int(x.entropy.argmin()) for x in (p, q)]
        changed = (p.argmax != q.argmax)[0]
        sums.canvases += 1
        sums.columns += len(gap)
        sums.gap += float(gap.mean(-1).sum())
        sums.widest = max(sums.widest, float(gap.max()))
        sums.kl += float(p.kl(q).sum())
        sums.tokens += int(changed.sum())
        sums.choices += surest[0] != surest[1] or bool(changed[surest[0]])


def measure(model: TextModel, job: Job, recipe: Recipe, batch_size: int = 16, observe: Observer | None = None) -> Drift:
    """Decode a job with the model's cache, checking every canvas it evaluates, and again without a cache."""
    cached = model.denoiser
    if not isinstance(cached, Backbone):
        raise InputError("drift is for models with a cache; masked LMs of transformers run without one.")
    if cached.attention_block:
        raise InputError("drift is for models that attend everywhere; a block-causal model's cache is exact.")
    if cached.cache == "none":
        raise InputError("drift compares a cache with none; this model was loaded without one. Use cache='dual'.")
    exact = Backbone(cached.transformer, "none")
    pair = Pair(cached, exact)
    one, two = (
        collect(decode_job(TextModel(twin, model.tokenizer), job, recipe, (), None, batch_size, observe))
        for twin in (pair, exact)
    )
    changed = [sum(differences(a, b)) for a, b in zip(one, two, strict=True)]
    return Drift(
        cache=cached.cache,
        refresh=cached.refresh,
        by_age={age: pair.by_age[age].means() for age in sorted(pair.by_age)},
        texts=len(one),
        texts_changed=sum(count > 0 for count in changed),
        tokens=sum(max(len(a.tokens), len(b.tokens)) for a, b in zip(one, two, strict=True)),
        tokens_changed=sum(changed),
        recipe=recipe.plain(),
        provenance=model.provenance,
    )


def differences(a: Generation, b: Generation) -> Iterator[bool]:
    """Whether each token differs; where one text is longer, it does."""
    for i in range(max(len(a.tokens), len(b.tokens))):
        yield a.tokens[i : i + 1] != b.tokens[i : i + 1]
