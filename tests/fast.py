"""A fast path equals the plain one: the same logits at every call, the same choices wherever none is close."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from infogain import Canvas, Result
from infogain.kernels import MaskedColumns
from infogain.loop.trace import Row, Trace
from infogain.models.backbone.backbone import Backbone
from infogain.models.denoiser import Past
from infogain.models.wrapper import Wrapper


@dataclass(frozen=True)
class Both:
    """The contexts of two models, whose rows come and go together."""

    plain: Any
    fast: Any

    def take(self, rows: Sequence[int]) -> Self:
        return replace(self, plain=self.plain.take(rows), fast=self.fast.take(rows))

    def join(self, other: Self) -> Self:
        return replace(self, plain=self.plain.join(other.plain), fast=self.fast.join(other.fast))


class Compared(Wrapper):
    """A model that decodes as `plain` does, and sees at every call that `fast` has the same logits."""

    def __init__(self, plain: Backbone, fast: Backbone, within: float) -> None:
        super().__init__(plain)
        self.plain, self.fast, self.within = plain, fast, within
        self.calls = 0

    def _same(self, plain: Any, fast: Any, inside: Any = slice(None)) -> Tensor:
        self.calls += 1
        assert isinstance(plain, Tensor)
        assert torch.allclose(plain[inside], fast[inside], rtol=0, atol=self.within), (plain - fast).abs().amax(-1)
        return plain

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Both, Tensor]:
        (a, plain), (b, fast) = (m.prefill(canvas, start, width, end) for m in (self.plain, self.fast))
        inside = _inside(canvas, start, width)
        return Both(a, b), self._same(plain, fast, inside)

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Both, Tensor]:
        pasts = past._replace(context=past.context.plain), past._replace(context=past.context.fast)
        opened = [m.append(canvas, start, width, p) for m, p in zip((self.plain, self.fast), pasts, strict=True)]
        (a, plain), (b, fast) = opened
        return Both(a, b), self._same(plain, fast, _inside(canvas, start, width))

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: Both, row: Tensor, max_per_row: int
    ) -> Tensor:
        plain = self.plain.at_masks(tokens, masked_columns, context.plain, row, max_per_row)
        return self._same(plain, self.fast.at_masks(tokens, masked_columns, context.fast, row, max_per_row))

    def __call__(self, tokens: Tensor, context: Both, row: Tensor, max_per_row: int) -> Tensor:
        return self._same(
            self.plain(tokens, context.plain, row, max_per_row), self.fast(tokens, context.fast, row, max_per_row)
        )


def _inside(canvas: Canvas, start: Sequence[int], width: int) -> Tensor:
    """Whether columns of a block lie inside the row; nothing reads the logits of others. [C, W]"""
    column = torch.tensor(start)[:, None] + torch.arange(width)
    return column.to(canvas.length.device) < canvas.length[:, None]


def closest(plain: Result, fast: Result) -> list[float]:
    """How close the choice was where two decodes part: a margin for each prompt with other tokens."""
    assert plain.trace is not None
    assert fast.trace is not None
    other = [p for p, (a, b) in enumerate(zip(plain.rows(), fast.rows(), strict=True)) if a != b]
    return [_margin(plain.trace, fast.trace, prompt) for prompt in other]


def _margin(plain: Trace, fast: Trace, prompt: int) -> float:
    """How close the choice was in the first step that differs or, if none does, in the last among hypotheses."""
    costs = [0.0]
    for one, two in zip(_steps(plain, prompt), _steps(fast, prompt), strict=False):
        if _choice(one, False) != _choice(two, False):
            return max(_gap(a, b) for a, b in zip(one, two, strict=True) if _choice([a], False) != _choice([b], False))
        if _choice(one, True) != _choice(two, True):
            return _lead(one)
        costs = [c.cost for row in one for c in row.candidates if c.kept]
    first, second, *_ = sorted(costs)
    return second - first


def _steps(trace: Trace, prompt: int) -> Iterator[list[Row]]:
    for step in trace.steps:
        rows = [row for row in step.rows if row.prompt == prompt]
        if rows:
            yield rows


def _choice(rows: list[Row], kept: bool) -> list[Any]:
    """The candidates of a step, or those of them that were kept."""
    return [[(c.columns, c.tokens) for c in row.candidates if c.kept or not kept] for row in rows]


def _lead(rows: list[Row]) -> float:
    """The lead of the worst score that was kept over the best that was not."""
    candidates = [c for row in rows for c in row.candidates]
    return min(c.score for c in candidates if c.kept) - max(c.score for c in candidates if not c.kept)


def _gap(one: Row, two: Row) -> float:
    """The difference in entropy between the columns that a greedy sampler chose here and there.

    How close other proposals were is not known: tokens and look-ahead candidates are drawn, and must be the same.
    """
    apart = {*one.candidates[0].columns} ^ {*two.candidates[0].columns}
    if len(one.candidates) > 1 or not apart:
        return math.inf
    entropy = dict(zip(one.columns, one.entropy, strict=True))
    taken = [entropy[column] for column in apart]
    return max(taken) - min(taken)
