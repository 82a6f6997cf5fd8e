"""The exact oracle: a joint distribution as a table, which answers every conditional exactly.

Weights are whole numbers, so sums of them are exact in any order: what a row is told cannot depend
on the batch it sits in. Laws that hold "for the true model" are tested on it to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas, block_columns
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import upload
from infogain.errors import InputError
from infogain.models.denoiser import Denoiser


@dataclass(frozen=True)
class TabularContext:
    """C rows, and which sequences of the table are still possible in each."""

    agrees: Tensor  # [C, S] sequences that agree with everything outside the block
    start: Tensor  # [C]
    length: Tensor  # [C]

    def take(self, rows: Sequence[int]) -> Self:
        index = upload(rows, self.start.device)
        return type(self)(self.agrees[index], self.start[index], self.length[index])

    def join(self, other: Self) -> Self:
        agrees, start = torch.cat([self.agrees, other.agrees]), torch.cat([self.start, other.start])
        return type(self)(agrees, start, torch.cat([self.length, other.length]))


class Tabular(Denoiser):
    """p(x) = weight of x / Σ weights, over the listed sequences.

    A canvas that no listed sequence agrees with (independent draws can write one) gets the limit of an
    infinitesimal admixture of independent columns: each token that the column ever holds is equally
    likely. Rows shorter than the table are marginalised: their missing columns stay unknown.
    """

    dtype = torch.float64

    def __init__(
        self,
        sequences: Tensor,
        weights: Tensor,
        mask_id: int,
        attention_block: int | None = None,
        name: str | None = None,
    ) -> None:
        if sequences.ndim != 2 or sequences.shape[0] == 0 or weights.shape != sequences.shape[:1]:
            raise InputError(
                f"a table needs sequences [S, L] and weights [S], S at least 1; "
                f"got {list(sequences.shape)} and {list(weights.shape)}."
            )
        if weights.is_floating_point() or (weights < 1).any() or weights.sum() >= 2**53:
            raise InputError(
                "weights must be whole numbers of at least 1 with a sum below 2^53, so that sums are exact."
            )
        if mask_id < 0 or (sequences == mask_id).any():
            raise InputError(f"the mask id must be at least 0 and in none of the sequences; got {mask_id}.")
        self.sequences = sequences
        self.weights = weights.double()
        self.vocabulary = Vocabulary(max(int(sequences.max()), mask_id) + 1, mask_id)
        self.device = sequences.device
        self.name = name  # what outputs call it
        self.attention_block, self.context = attention_block, sequences.shape[1]
        # [S, L·V]: row s marks the tokens of sequence s
        self._one_hot = torch.nn.functional.one_hot(sequences, self.vocab_size).double().flatten(1)
        self._possible = (self._one_hot.sum(0) > 0).double()  # [L·V]

    @property
    def length(self) -> int:
        return self.sequences.shape[1]

    def entropy(self) -> float:
        """H of the joint, in nats."""
        p = self.weights / self.weights.sum()
        return float(torch.special.entr(p).sum())

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        return length - (previous_start or 0), length  # it has no cache, but counts as if it had

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[TabularContext, Tensor]:
        columns = canvas.tokens.shape[1]
        if columns > self.length:
            raise InputError(f"this table holds {self.length} columns; the canvas has {columns}. Shorten the canvas.")
        column, first = torch.arange(columns, device=self.device), upload(start, self.device)[:, None]
        known = canvas.inside & (canvas.tokens != self.mask_id)
        # what lies behind the row's own block counts here, because later calls need not show it
        last = first + width if end is None else upload(end, self.device)[:, None]
        in_block = (column >= first) & (column < last)
        outside = known & ~in_block
        if self.attention_block:  # what comes after the block is not seen
            outside &= column < first
        fits = canvas.tokens[:, None] == self.sequences[:, :columns]  # [C, S, L]
        agrees = (fits | ~outside[:, None]).all(-1)
        context = TabularContext(agrees, first[:, 0], canvas.length)
        block, _ = canvas.view(first[:, 0], width)
        return context, self(block, context, torch.arange(len(start), device=self.device), max_per_row=1)

    def __call__(self, tokens: Tensor, context: TabularContext, row: Tensor, max_per_row: int) -> Tensor:
        column = block_columns(context.start[row], tokens.shape[1])  # [M, W]
        unknown = (tokens == self.mask_id) | (column >= context.length[row, None])
        column = column.clamp(max=self.length - 1)
        fits = tokens.T[:, :, None] == self.sequences.T[column.T]  # [W, M, S]
        agrees = context.agrees[row] & (fits | unknown.T[:, :, None]).all(0)  # [M, S]
        weights = agrees * self.weights
        mass = weights @ self._one_hot
        mass = torch.where(agrees.any(-1, keepdim=True), mass, self._possible).view(-1, self.length, self.vocab_size)
        return mass[torch.arange(len(row), device=self.device)[:, None], column].log()  # [M, W, V]
