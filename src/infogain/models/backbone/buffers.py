"""Fixed memory for contexts, which recorded forwards read: it holds one context after another.

A context is moved in when it is first needed; its keys are views of the buffers from then on, so there is one copy.
Whoever still uses what lay there before gets a copy of it first: contexts stay values.
"""

from __future__ import annotations

import weakref
from operator import ge
from typing import Any

import torch
from torch import Tensor

from infogain.algorithm.canvas import PAD
from infogain.kernels import Keys
from infogain.models.backbone.context import PER_ROW, BackboneContext
from infogain.models.denoiser import Past

COLUMNS = 512  # room grows by so many
Size = tuple[int, int, int]


class Buffers:
    def __init__(self) -> None:
        self.context: BackboneContext | None = None
        self.inside: list[weakref.ref[BackboneContext]] = []  # whose keys lie here; of the last, tokens and bounds too

    @property
    def live(self) -> list[BackboneContext]:
        """Contexts inside that somebody still uses."""
        return [context for reference in self.inside if (context := reference()) is not None]

    def hold(self, context: BackboneContext) -> BackboneContext:
        """The buffers, with this context's values in them."""
        if self.context is not None and self._is_last(context):
            return self.context
        others = [other for other in self.live if other is not context]
        if not self._has_keys_of(context):
            for other in others:
                other.layers[:] = [Keys(keys.k.clone(), keys.v.clone()) for keys in other.layers]
            others = []
        if self.context is None or not self.fits(context):
            least = self._room
            self.context = None  # before the new ones are made
            self.context = _room_for(context, least)
        self.inside = []  # until all is there: a move that breaks off leaves nobody behind
        self._take_in(context)
        self.inside = [weakref.ref(each) for each in (*others, context)]
        return self.context

    def fits(self, context: BackboneContext) -> bool:
        """Whether it can be held in the buffers there are. Where it cannot, `hold` makes others."""
        return self._alike(context.layers[0].k) and all(map(ge, self._room, _size(context)))

    def in_place(self, past: Past, tokens: Tensor, columns: int) -> list[Keys] | None:
        """The keys of a context with room for more columns, where it alone is inside and all its rows go on; else None.

        They are not copied: what is written there lies past all that the context itself reads, or in its window, which
        it does not read either. The context that is made of them must be held before anything else runs.
        """
        rows = len(past.context.length)
        alone = self._is_last(past.context) and len(self.live) == 1
        if self.context is None or not alone or past.places != list(range(rows)):
            return None
        if self.context.columns < columns or self.context.tokens.shape[1] < tokens.shape[1]:
            return None
        return self._part(rows, columns)

    def free(self, rows: int, columns: int, like: Tensor) -> list[Keys] | None:
        """Keys that are to be filled, where there is room for them and nobody inside; else None.

        The context that is made of them must be held before anything else runs.
        """
        fits = self._alike(like) and all(map(ge, self._room, (rows, columns, columns)))
        return self._part(rows, columns) if fits and not self.live else None

    def first_rows(self, rows: int) -> BackboneContext:
        """Buffers of so many rows."""
        assert self.context is not None
        picked = {name: getattr(self.context, name)[:rows] for name in ("tokens", *PER_ROW)}
        return BackboneContext(self._part(rows, self.context.columns), **picked, widths=())

    def _alike(self, like: Tensor) -> bool:
        """Whether there are buffers, of this precision, on this device."""
        mine = self.context.layers[0].k if self.context is not None else None
        return mine is not None and mine.dtype == like.dtype and mine.device == like.device

    def _is_last(self, context: BackboneContext) -> bool:
        return bool(self.inside) and self.inside[-1]() is context

    def _has_keys_of(self, context: BackboneContext) -> bool:
        if self.context is None or not context.columns:
            return False
        return context.layers[0].k.data_ptr() == self.context.layers[0].k.data_ptr()

    @property
    def _room(self) -> Size:
        return (0, 0, 0) if self.context is None else _size(self.context)

    def _part(self, rows: int, columns: int) -> list[Keys]:
        """The first of all rows and columns, as views."""
        assert self.context is not None
        return [Keys(keys.k[:rows, :, :columns], keys.v[:rows, :, :columns]) for keys in self.context.layers]

    def _take_in(self, context: BackboneContext) -> None:
        assert self.context is not None
        rows, columns = len(context.length), context.columns
        self.context.tokens[:rows, : context.tokens.shape[1]] = context.tokens
        self.context.tokens[:rows, context.tokens.shape[1] :] = PAD  # whole tiles run, and nobody else's words
        for name in PER_ROW:
            getattr(self.context, name)[:rows] = getattr(context, name)
        views = self._part(rows, columns)
        if not self._has_keys_of(context):
            for buffer, view, keys in zip(self.context.layers, views, context.layers, strict=True):
                view.k.copy_(keys.k)
                view.v.copy_(keys.v)
                buffer.v[:rows, :, columns:] = 0  # nothing reads it, but 0 · NaN would show
        context.layers[:] = views


def _size(context: BackboneContext) -> Size:
    """Rows, columns of tokens, columns of keys."""
    rows, tokens = context.tokens.shape
    return rows, tokens, context.columns


def _room_for(context: BackboneContext, least: Size) -> BackboneContext:
    """Buffers with room for this context, and for what the ones before had room for."""
    rows, tokens, columns = (max(pair) for pair in zip(least, _size(context), strict=True))

    def room(x: Tensor, dim: int, size: int) -> Tensor:
        shape = [rows, *x.shape[1:]]
        shape[dim] = max(1, -(-size // COLUMNS)) * COLUMNS
        return x.new_zeros(shape)

    layers = [Keys(room(keys.k, 2, columns), room(keys.v, 2, columns)) for keys in context.layers]
    rest: dict[str, Any] = {name: torch.zeros_like(getattr(context, name)[:1]).repeat(rows) for name in PER_ROW}
    return BackboneContext(layers, room(context.tokens, 1, tokens), **rest, widths=())
