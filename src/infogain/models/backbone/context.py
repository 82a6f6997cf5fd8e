"""What a backbone keeps of the columns outside each row's block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import PAD
from infogain.device import upload
from infogain.kernels import Keys

PER_ROW = ("length", "start", "first", "last", "limit")


@dataclass(frozen=True, eq=False)
class BackboneContext:
    layers: list[Keys]  # of every column, those of the live window unread; empty where nothing is frozen
    tokens: Tensor  # [C, L] the canvas as it was read
    length: Tensor  # [C]
    start: Tensor  # [C] of the block
    first: Tensor  # [C] of the live window
    last: Tensor  # [C] one past it
    limit: Tensor  # [C] one past what the block sees: frozen are the columns before it, but for the window
    widths: tuple[int, ...]  # of each row's window, known to the host

    @property
    def width(self) -> int:
        """Columns of the widest window."""
        return max(self.widths)

    @property
    def bytes(self) -> int:
        """Memory of the keys and values."""
        return sum(x.numel() * x.element_size() for keys in self.layers for x in keys)

    @property
    def columns(self) -> int:
        """Of which keys are kept."""
        return self.layers[0].k.shape[2] if self.layers else 0

    def grown(self, row: Tensor, columns: int) -> list[Keys]:
        """A copy of these rows' keys, with room for so many columns."""
        kept = min(columns, self.columns)

        def copied(x: Tensor) -> Tensor:
            wide = x.new_zeros(len(row), x.shape[1], columns, x.shape[3])
            wide[:, :, :kept] = x[row, :, :kept]
            return wide

        return [Keys(copied(keys.k), copied(keys.v)) for keys in self.layers]

    def take(self, rows: Sequence[int]) -> Self:
        index = upload(rows, self.tokens.device)
        picked = {name: getattr(self, name)[index] for name in ("tokens", *PER_ROW)}
        layers = [Keys(keys.k[index], keys.v[index]) for keys in self.layers]
        return replace(self, layers=layers, widths=tuple(self.widths[row] for row in rows), **picked)

    def join(self, other: Self) -> Self:
        layers = [
            Keys(*(_stack(a, b, 2) for a, b in zip(x, y, strict=True)))
            for x, y in zip(self.layers, other.layers, strict=True)
        ]
        tokens = _stack(self.tokens, other.tokens, 1)
        rest = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in PER_ROW}
        return replace(self, layers=layers, tokens=tokens, widths=self.widths + other.widths, **rest)


def _stack(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """The rows of both; the one with fewer columns (dimension `dim`) is padded."""
    size = max(a.shape[dim], b.shape[dim])
    right = [[0] * (2 * (x.ndim - dim - 1)) + [0, size - x.shape[dim]] for x in (a, b)]
    return torch.cat([torch.nn.functional.pad(x, pad, value=PAD) for x, pad in zip((a, b), right, strict=True)])
