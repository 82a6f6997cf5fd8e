"""A backbone's context: the K/V of the columns outside each row's block, and where that block stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import PAD
from infogain.device import upload
from infogain.kernels import KV

PER_ROW = ("length", "start", "first", "last", "limit")


@dataclass(frozen=True, eq=False)
class BackboneContext:
    """C rows with an open block each. Candidates run a row's live window and read the K/V of its frozen columns."""

    layers: list[KV]  # K/V of all columns, of which those in the live window are not read; empty: nothing is frozen
    tokens: Tensor  # [C, L] the canvas as it was read
    length: Tensor  # [C] columns of the row
    start: Tensor  # [C] first column of the block
    first: Tensor  # [C] first column of the live window
    last: Tensor  # [C] one past the live window
    limit: Tensor  # [C] one past what the block sees: columns before it are frozen, except the live window
    widths: tuple[int, ...]  # of each row's live window, known to the host

    @property
    def width(self) -> int:
        """The width of the widest live window."""
        return max(self.widths)

    @property
    def bytes(self) -> int:
        """Memory that the K/V take."""
        return sum(x.numel() * x.element_size() for kv in self.layers for x in kv)

    @property
    def columns(self) -> int:
        """How many columns have K/V here."""
        return self.layers[0].k.shape[2] if self.layers else 0

    def grown(self, row: Tensor, columns: int) -> list[KV]:
        """A copy of these rows' K/V, grown to `columns` columns."""
        known = min(columns, self.columns)

        def copied(x: Tensor) -> Tensor:
            larger = x.new_zeros(len(row), x.shape[1], columns, x.shape[3])
            larger[:, :, :known] = x[row, :, :known]
            return larger

        return [KV(copied(kv.k), copied(kv.v)) for kv in self.layers]

    def take(self, rows: Sequence[int]) -> Self:
        index = upload(rows, self.tokens.device)
        picked = {name: getattr(self, name)[index] for name in ("tokens", *PER_ROW)}
        layers = [KV(kv.k[index], kv.v[index]) for kv in self.layers]
        return replace(self, layers=layers, widths=tuple(self.widths[row] for row in rows), **picked)

    def join(self, other: Self) -> Self:
        layers = [
            KV(*(_stack(a, b, 2) for a, b in zip(x, y, strict=True)))
            for x, y in zip(self.layers, other.layers, strict=True)
        ]
        tokens = _stack(self.tokens, other.tokens, 1)
        rest = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in PER_ROW}
        return replace(self, layers=layers, tokens=tokens, widths=self.widths + other.widths, **rest)


def _stack(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """The rows of both tensors; the one with fewer columns (dimension `dim`) is padded."""
    size = max(a.shape[dim], b.shape[dim])
    right = [[0] * (2 * (x.ndim - dim - 1)) + [0, size - x.shape[dim]] for x in (a, b)]
    return torch.cat([torch.nn.functional.pad(x, pad, value=PAD) for x, pad in zip((a, b), right, strict=True)])
