"""What a backbone keeps of the columns outside each row's block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from infogain.canvas import PAD
from infogain.device import upload
from infogain.models.transformer import Keys

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
    width: int  # of the widest window

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
        return replace(self, layers=layers, **picked)

    def join(self, other: Self) -> Self:
        layers = [
            Keys(*(_stack(a, b, 2) for a, b in zip(x, y, strict=True)))
            for x, y in zip(self.layers, other.layers, strict=True)
        ]
        tokens = _stack(self.tokens, other.tokens, 1)
        rest = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in PER_ROW}
        return replace(self, layers=layers, tokens=tokens, width=max(self.width, other.width), **rest)

    # As buffers, which hold one context after another.
    def empty(self, step: int) -> Self:
        """Buffers with room for this one; columns are rounded up to a multiple of `step`."""

        def room(x: Tensor, dim: int) -> Tensor:
            shape = list(x.shape)
            shape[dim] = -(-shape[dim] // step) * step
            return torch.zeros(shape, dtype=x.dtype, device=x.device)

        layers = [Keys(room(keys.k, 2), room(keys.v, 2)) for keys in self.layers]
        rest: dict[str, Any] = {name: torch.zeros_like(getattr(self, name)) for name in PER_ROW}
        return replace(self, layers=layers, tokens=room(self.tokens, 1), **rest)

    def has_room(self, tokens: Tensor, columns: int) -> bool:
        pairs = zip((*self.tokens.shape, self.columns), (*tokens.shape, columns), strict=True)
        return all(mine >= theirs for mine, theirs in pairs)

    def part(self, rows: int, columns: int) -> list[Keys]:
        """The first of all rows and columns, as views."""
        return [Keys(keys.k[:rows, :, :columns], keys.v[:rows, :, :columns]) for keys in self.layers]

    def first_rows(self, rows: int, width: int) -> Self:
        """Buffers of so many rows, for windows so wide."""
        picked: dict[str, Any] = {name: getattr(self, name)[:rows] for name in ("tokens", *PER_ROW)}
        return replace(self, layers=self.part(rows, self.columns), width=width, **picked)

    def take_in(self, other: Self) -> None:
        """Hold the other's values; its keys and values become views of these buffers."""
        rows = len(other.length)
        self.tokens[:rows, : other.tokens.shape[1]] = other.tokens
        for name in PER_ROW:
            getattr(self, name)[:rows] = getattr(other, name)
        views = self.part(rows, other.columns)
        if not other.shares(self):
            for view, keys in zip(views, other.layers, strict=True):
                for mine, theirs in zip(view, keys, strict=True):
                    mine.copy_(theirs)
        other.layers[:] = views

    def shares(self, buffers: Self) -> bool:
        """Whether its keys lie in these buffers already."""
        return bool(self.columns) and self.layers[0].k.data_ptr() == buffers.layers[0].k.data_ptr()


def _stack(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """The rows of both; the one with fewer columns (dimension `dim`) is padded."""
    size = max(a.shape[dim], b.shape[dim])
    right = [[0] * (2 * (x.ndim - dim - 1)) + [0, size - x.shape[dim]] for x in (a, b)]
    return torch.cat([torch.nn.functional.pad(x, pad, value=PAD) for x, pad in zip((a, b), right, strict=True)])
