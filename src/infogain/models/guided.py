"""Guidance as a wrapper around any model: rows with and without their prompts run in one forward.

Row 2r of the inner model's context is row r of ours, row 2r + 1 is its twin without the prompt. What the two say is
combined by `guided_logits`, with the weight that the row carries, so H̃ and J are those of the guided distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.algorithm.canvas import PAD, Canvas, block_columns
from infogain.algorithm.guidance import guided_logits, weight_of
from infogain.algorithm.marginals import LazyLogits
from infogain.device import upload
from infogain.errors import InputError
from infogain.kernels import MaskedColumns
from infogain.models.denoiser import Denoiser, Past
from infogain.models.wrapper import Wrapper


@dataclass(frozen=True)
class GuidedContext:
    """What the inner model has read of C rows and of their twins, and what guidance needs to know of the rows."""

    inner: Any  # of 2C rows
    start: Tensor  # [C] of the block
    end: Tensor  # [C] one past the block
    masks: Tensor  # [C] that the block began with
    prompt: Tensor  # [C] columns of the prompt
    shift: list[int]  # [C] columns that the twin is shorter by
    guidance: Tensor  # [C, 2]

    def take(self, rows: Sequence[int]) -> Self:
        index = upload(rows, self.start.device)
        shift = [self.shift[row] for row in rows]
        return self._with(self.inner.take(_pairs(rows)), shift, lambda x: x[index])

    def join(self, other: Self) -> Self:
        others = iter(other.tensors)
        inner, shift = self.inner.join(other.inner), self.shift + other.shift
        return self._with(inner, shift, lambda x: torch.cat([x, next(others)]))

    @property
    def tensors(self) -> list[Tensor]:
        """What there is of each row on the device."""
        return [x for field in fields(self) if isinstance(x := getattr(self, field.name), Tensor)]

    def _with(self, inner: Any, shift: list[int], change: Any) -> Self:
        start, end, masks, prompt, guidance = map(change, self.tensors)
        return type(self)(inner, start, end, masks, prompt, shift, guidance)

    def g(self, row: Tensor, left: Tensor) -> Tensor:
        """The weight of candidates, from how many masks their blocks have left. [M], [M] -> [M]"""
        return weight_of(self.guidance[row], left / self.masks[row].clamp(min=1))


class Guided(Wrapper):
    """A model whose rows may carry guidance: `canvas.with_guidance(1.5)`, or a recipe's `guidance`.

    Every row runs twice, those without guidance too: which of a step's candidates have some, the host does not know.
    Token-forwards count a twin as if it were as long as its row.
    """

    guides = True

    def __init__(self, inner: Denoiser, empty: Sequence[int] | None = None) -> None:
        """`empty`: the tokens that take the place of a row's prompt; unset: as many masks as the prompt has columns."""
        super().__init__(inner)
        if self.inner.guides:
            raise InputError("a model that guides must not be guided again; got one. Leave out infogain.models.Guided.")
        if empty is not None and self.attention_block:
            raise InputError(
                "a block-causal model counts blocks from column 0, so a prompt gives way to as many masks; "
                f"got empty={list(empty)!r:.80}. Leave it unset."
            )
        self.empty = None if empty is None else list(empty)

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        opening, candidate = self.inner.columns(length, start, width, previous_start)
        return 2 * opening, 2 * candidate

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[GuidedContext, Tensor]:
        both, shift = self._both(canvas)
        ends = None if end is None else _twins(end, shift)
        opened = self.inner.prefill(both, _twins(start, shift), width, ends)
        return self._opened(canvas, start, end or [at + width for at in start], shift, opened)

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[GuidedContext, Tensor]:
        both, shift = self._both(canvas)
        host_rows = None if past.host_rows is None else _pairs(past.host_rows)
        inner = Past(past.context.inner, _twin_rows(past.row), _twins(past.previous_start, shift), host_rows)
        opened = self.inner.append(both, _twins(start, shift), width, inner)
        end = [at + width for at in start] if self.attention_block else past.next_ends(start)
        return self._opened(canvas, start, end, shift, opened)

    def __call__(self, tokens: Tensor, context: GuidedContext, row: Tensor, max_per_row: int) -> Tensor:
        blocks, rows = self._blocks(tokens, context, row)
        logits = self.inner(blocks, context.inner, rows, max_per_row)
        count = len(tokens)
        return guided_logits(logits[:count], logits[count:], self._weights(tokens, context, row)[:, None, None])

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: GuidedContext, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        masked, count = masked_columns.masked, masked_columns.count
        blocks, rows = self._blocks(tokens, context, row)
        both = MaskedColumns(torch.cat([masked, masked]), 2 * count)
        found = self.inner.at_masks(blocks, both, context.inner, rows, max_per_row)
        g = self._weights(tokens, context, row)[masked_columns.flat_index // masked.shape[1], None]  # [X, 1]
        if isinstance(found, Tensor):
            return guided_logits(found[:count], found[count:], g)
        return _guided_lazily(found, count, g)

    def _weights(self, tokens: Tensor, context: GuidedContext, row: Tensor) -> Tensor:
        """g of each candidate, by the masks that it has left; which columns are asked for does not matter. [M]"""
        masked = (tokens == self.mask_id) & _in_block(context, row, tokens.shape[1])
        return context.g(row, masked.sum(-1))

    def _opened(
        self,
        canvas: Canvas,
        start: Sequence[int],
        end: Sequence[int],
        shift: list[int],
        opened: tuple[Any, Tensor],
    ) -> tuple[GuidedContext, Tensor]:
        inner, logits = opened
        first, last = upload(start, self.device), upload(end, self.device)
        last = torch.minimum(last, canvas.length)
        column = block_columns(first, logits.shape[1])
        masked = canvas.view(first, logits.shape[1])[1] & (column < last[:, None])
        context = GuidedContext(inner, first, last, masked.sum(-1), canvas.prompt, shift, canvas.guidance)
        g = weight_of(canvas.guidance, torch.ones_like(canvas.guidance[:, 0]))[:, None, None]
        return context, guided_logits(logits[0::2], logits[1::2], g)

    def _both(self, canvas: Canvas) -> tuple[Canvas, list[int]]:
        """Each row followed by its twin, and by how many columns the twins are shorter. [C] -> [2C]"""
        twins, shift = self._twins_of(canvas)
        rows = canvas.join(twins)
        order = torch.arange(len(shift), device=self.device)
        return rows.take(torch.stack([order, order + len(shift)], 1).flatten()), shift

    def _twins_of(self, canvas: Canvas) -> tuple[Canvas, list[int]]:
        """The rows without their prompts. Where something stands in for these, the host must ask how long they are."""
        column = torch.arange(canvas.tokens.shape[1], device=self.device)
        if self.empty is None:
            tokens = canvas.tokens.masked_fill(column < canvas.prompt[:, None], self.mask_id)
            return replace(canvas, tokens=tokens), [0] * len(tokens)
        prompt, length = torch.stack([canvas.prompt, canvas.length]).tolist()
        shift = [columns - len(self.empty) for columns in prompt]
        width = max(columns - less for columns, less in zip(length, shift, strict=True))
        column = torch.arange(width, device=self.device) + upload(shift, self.device)[:, None]
        wide = pad(canvas.tokens, (0, 1), value=PAD)
        tokens = wide.gather(1, column.clamp(0, canvas.tokens.shape[1]))
        tokens[:, : len(self.empty)] = upload(self.empty, self.device)
        length_of_twin = canvas.length - upload(shift, self.device)
        return Canvas(tokens, length_of_twin, canvas.mask_id, guidance=canvas.guidance), shift

    def _blocks(self, tokens: Tensor, context: GuidedContext, row: Tensor) -> tuple[Tensor, Tensor]:
        """Candidate blocks, then the twins': without what they hold of the prompt. [M, W] -> [2M, W], [2M]"""
        in_prompt = block_columns(context.start[row], tokens.shape[1]) < context.prompt[row, None]
        without = tokens.masked_fill(in_prompt, self.mask_id)
        return torch.cat([tokens, without]), torch.cat([2 * row, 2 * row + 1])


def _guided_lazily(found: LazyLogits, count: int, g: Tensor) -> LazyLogits:
    """Logits of both kinds of rows, `count` of each, combined when they are computed."""
    head = found.head

    def combined(g: Tensor, *inputs: Tensor) -> Tensor:
        pairs = zip(inputs[::2], inputs[1::2], strict=True)
        logits = head(*(torch.cat(pair) for pair in pairs))
        return guided_logits(logits[: len(g)], logits[len(g) :], g)

    inputs = [part for x in found.inputs for part in (x[:count], x[count:])]
    return replace(found, inputs=(g, *inputs), head=combined, rows_at_once=max(1, found.rows_at_once // 2))


def _in_block(context: GuidedContext, row: Tensor, width: int) -> Tensor:
    """The columns that belong to each candidate's own block: others may be shown beside it. [M, W]"""
    return block_columns(context.start[row], width) < context.end[row, None]


def _twins(values: Iterable[int], shift: Sequence[int]) -> list[int]:
    """Columns of rows, each followed by the same column of its twin."""
    return [column for value, less in zip(values, shift, strict=True) for column in (value, value - less)]


def _pairs(rows: Iterable[int]) -> list[int]:
    """The rows of the inner context that belong to these."""
    return [number for row in rows for number in (2 * row, 2 * row + 1)]


def _twin_rows(row: Tensor) -> Tensor:
    """`_pairs` on the device. [C] -> [2C]"""
    return torch.stack([2 * row, 2 * row + 1], 1).flatten()
