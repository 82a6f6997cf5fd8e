"""Guidance as a wrapper: (1 + g)·logits with the prompt − g·logits without it, both from one forward of the model.

Without its prompt a row holds the mask token there. Both kinds stand side by side in one context of the inner model:
row 2r with the prompt, row 2r + 1 without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from infogain import Canvas
from infogain.algorithm.canvas import block_columns
from infogain.algorithm.marginals import LazyLogits
from infogain.kernels import MaskedColumns
from infogain.models import Denoiser, Past, Wrapper

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class GuidedContext:
    inner: Any  # of 2C rows
    start: Tensor  # [C]
    prompt: Tensor  # [C]

    def take(self, rows: Sequence[int]) -> Self:
        index = torch.tensor(rows, device=self.start.device)
        return replace(self, inner=self.inner.take(pairs(rows)), start=self.start[index], prompt=self.prompt[index])

    def join(self, other: Self) -> Self:
        start, prompt = torch.cat([self.start, other.start]), torch.cat([self.prompt, other.prompt])
        return replace(self, inner=self.inner.join(other.inner), start=start, prompt=prompt)


class Guided(Wrapper):
    def __init__(self, inner: Denoiser, scale: float) -> None:
        super().__init__(inner)
        self.scale = scale

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        opening, candidate = self.inner.columns(length, start, width, previous_start)
        return 2 * opening, 2 * candidate

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[GuidedContext, Tensor]:
        opened = self.inner.prefill(self._both(canvas), twice(start), width, None if end is None else twice(end))
        return self._opened(canvas, start, *opened)

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[GuidedContext, Tensor]:
        host_rows = None if past.host_rows is None else pairs(past.host_rows)
        inner = Past(past.context.inner, self._rows(past.row), twice(past.previous_start), host_rows)
        return self._opened(canvas, start, *self.inner.append(self._both(canvas), twice(start), width, inner))

    def __call__(self, tokens: Tensor, context: GuidedContext, row: Tensor, max_per_row: int) -> Tensor:
        logits = self.inner(self._blocks(tokens, context, row), context.inner, self._rows(row), max_per_row)
        return self._combined(logits[0::2], logits[1::2])

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: GuidedContext, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        """Ask the inner model for each masked column twice, with the prompt and without it, and combine the logits."""
        both = MaskedColumns(masked_columns.masked.repeat_interleave(2, 0), 2 * masked_columns.count)
        found = self.inner.at_masks(
            self._blocks(tokens, context, row), both, context.inner, self._rows(row), max_per_row
        )
        pair = both.logit_row.view(len(row), 2, -1).transpose(1, 2).flatten(0, 1)[masked_columns.flat_index]  # [X, 2]
        if isinstance(found, Tensor):
            return self._combined(*found[pair].unbind(1))
        head = found.head

        def combined(x: Tensor) -> Tensor:
            return self._combined(*head(x.flatten(0, 1)).view(len(x), 2, -1).unbind(1))

        return replace(found, x=found.x[pair], head=combined, rows_at_once=max(1, found.rows_at_once // 2))

    def _opened(
        self, canvas: Canvas, start: Sequence[int], context: Any, logits: Tensor
    ) -> tuple[GuidedContext, Tensor]:
        guided = GuidedContext(context, torch.tensor(start, device=self.device), canvas.prompt)
        return guided, self._combined(logits[0::2], logits[1::2])

    def _combined(self, conditional: Tensor, unconditional: Tensor) -> Tensor:
        return (1 + self.scale) * conditional - self.scale * unconditional

    def _both(self, canvas: Canvas) -> Canvas:
        """Each row, and itself without its prompt. [C] -> [2C]"""
        row = torch.arange(len(canvas.length), device=self.device)
        tokens = self._blank(canvas.tokens, torch.zeros_like(row), canvas.prompt)
        return replace(canvas.take(row.repeat_interleave(2)), tokens=tokens)

    def _blocks(self, tokens: Tensor, context: GuidedContext, row: Tensor) -> Tensor:
        """Each candidate block, and itself without what it holds of the prompt. [M, W] -> [2M, W]"""
        return self._blank(tokens, context.start[row], context.prompt[row])

    def _blank(self, tokens: Tensor, start: Tensor, prompt: Tensor) -> Tensor:
        """Tokens that begin at these columns, with the prompt and without. [M, W] -> [2M, W]"""
        in_prompt = block_columns(start, tokens.shape[1]) < prompt[:, None]
        return torch.stack([tokens, tokens.masked_fill(in_prompt, self.mask_id)], 1).flatten(0, 1)

    @staticmethod
    def _rows(row: Tensor) -> Tensor:
        return torch.stack([2 * row, 2 * row + 1], 1).flatten()


def twice(values: Iterable[Entry]) -> list[Entry]:
    return [value for value in values for _ in range(2)]


def pairs(rows: Iterable[int]) -> list[int]:
    """The rows of the inner context that belong to these."""
    return [2 * row + kind for row in rows for kind in range(2)]
