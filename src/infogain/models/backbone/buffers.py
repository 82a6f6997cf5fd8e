"""Fixed memory that recorded forwards read: it holds one context after another.

A context is moved in when it is first evaluated; its K/V are views of the buffers from then on, so there is one copy.
If the context that lay there before is still in use, it gets a copy of its own first: contexts stay values.
"""

from __future__ import annotations

import weakref
from operator import ge
from typing import Any

import torch
from torch import Tensor

from infogain.algorithm.canvas import PAD
from infogain.kernels import KV
from infogain.models.backbone.context import PER_ROW, BackboneContext
from infogain.models.denoiser import Past

COLUMNS = 512  # buffers are a multiple of so many columns wide
Size = tuple[int, int, int]  # rows, columns of tokens, columns of K/V


class Buffers:
    """One context of the largest size so far, which others are moved into."""

    def __init__(self) -> None:
        self.context: BackboneContext | None = None
        # contexts whose K/V lie in the buffers; of the last one, tokens and bounds lie there too
        self.inside: list[weakref.ref[BackboneContext]] = []

    @property
    def live(self) -> list[BackboneContext]:
        """Contexts in the buffers that are still in use."""
        return [context for reference in self.inside if (context := reference()) is not None]

    def hold(self, context: BackboneContext) -> BackboneContext:
        """Move a context in, unless it is there already, and return the buffers."""
        if self.context is not None and self._is_last(context):
            return self.context
        others = [other for other in self.live if other is not context]
        if not self._has_kv_of(context):
            for other in others:
                other.layers[:] = [KV(kv.k.clone(), kv.v.clone()) for kv in other.layers]
            others = []
        if self.context is None or not self.fits(context):
            least = self._size
            self.context = None  # let the old buffers go before new ones are made
            self.context = _make_buffers(context, least)
        self.inside = []  # nothing counts as inside until the move is complete
        self._move_in(context)
        self.inside = [weakref.ref(each) for each in (*others, context)]
        return self.context

    def fits(self, context: BackboneContext) -> bool:
        """Whether the present buffers can hold a context. Where they cannot, `hold` makes new ones."""
        return self._alike(context.layers[0].k) and all(map(ge, self._size, _size_of(context)))

    def in_place(self, past: Past, tokens: Tensor, columns: int) -> list[KV] | None:
        """A context's K/V, grown to `columns` columns without a copy; None unless it is alone and all its rows stay.

        Columns that are written afterwards lie past those that the context reads, or in its window, which it does not
        read either. The context that is made of these K/V must be held before anything else runs.
        """
        rows = len(past.context.length)
        alone = self._is_last(past.context) and len(self.live) == 1
        if self.context is None or not alone or past.host_rows != list(range(rows)):
            return None
        if self.context.columns < columns or self.context.tokens.shape[1] < tokens.shape[1]:
            return None
        return self._part(rows, columns)

    def free(self, rows: int, columns: int, like: Tensor) -> list[KV] | None:
        """K/V to be filled, where the buffers are large enough and no context in them is in use; else None.

        The context that is made of them must be held before anything else runs.
        """
        fits = self._alike(like) and all(map(ge, self._size, (rows, columns, columns)))
        return self._part(rows, columns) if fits and not self.live else None

    def first_rows(self, rows: int) -> BackboneContext:
        """The first `rows` rows of the buffers, as a context."""
        assert self.context is not None
        picked = {name: getattr(self.context, name)[:rows] for name in ("tokens", *PER_ROW)}
        return BackboneContext(self._part(rows, self.context.columns), **picked, widths=())

    def _alike(self, like: Tensor) -> bool:
        """Whether there are buffers, of this precision, on this device."""
        mine = self.context.layers[0].k if self.context is not None else None
        return mine is not None and mine.dtype == like.dtype and mine.device == like.device

    def _is_last(self, context: BackboneContext) -> bool:
        return bool(self.inside) and self.inside[-1]() is context

    def _has_kv_of(self, context: BackboneContext) -> bool:
        if self.context is None or not context.columns:
            return False
        return context.layers[0].k.data_ptr() == self.context.layers[0].k.data_ptr()

    @property
    def _size(self) -> Size:
        return (0, 0, 0) if self.context is None else _size_of(self.context)

    def _part(self, rows: int, columns: int) -> list[KV]:
        """The first rows and columns of the K/V, as views."""
        assert self.context is not None
        return [KV(kv.k[:rows, :, :columns], kv.v[:rows, :, :columns]) for kv in self.context.layers]

    def _move_in(self, context: BackboneContext) -> None:
        assert self.context is not None
        rows, columns = len(context.length), context.columns
        self.context.tokens[:rows, : context.tokens.shape[1]] = context.tokens
        self.context.tokens[:rows, context.tokens.shape[1] :] = PAD  # whole tiles run, these columns too
        for name in PER_ROW:
            getattr(self.context, name)[:rows] = getattr(context, name)
        views = self._part(rows, columns)
        if not self._has_kv_of(context):
            for buffer, view, kv in zip(self.context.layers, views, context.layers, strict=True):
                view.k.copy_(kv.k)
                view.v.copy_(kv.v)
                buffer.v[:rows, :, columns:] = 0  # never attended to, but 0 · NaN would show
        context.layers[:] = views


def _size_of(context: BackboneContext) -> Size:
    rows, tokens = context.tokens.shape
    return rows, tokens, context.columns


def _make_buffers(context: BackboneContext, least: Size) -> BackboneContext:
    """Buffers for this context, at least as large as the ones before."""
    rows, tokens, columns = (max(pair) for pair in zip(least, _size_of(context), strict=True))

    def zeros(x: Tensor, dim: int, size: int) -> Tensor:
        shape = [rows, *x.shape[1:]]
        shape[dim] = max(1, -(-size // COLUMNS)) * COLUMNS
        return x.new_zeros(shape)

    layers = [KV(zeros(kv.k, 2, columns), zeros(kv.v, 2, columns)) for kv in context.layers]
    rest: dict[str, Any] = {name: torch.zeros_like(getattr(context, name)[:1]).repeat(rows) for name in PER_ROW}
    return BackboneContext(layers, zeros(context.tokens, 1, tokens), **rest, widths=())
