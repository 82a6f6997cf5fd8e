"""How candidates run through the layers: call by call, or as recorded graphs.

At batch 1 a step of a large model is a few hundred short kernels, and starting them one by one takes longer than
running them. A CUDA graph starts them all at once, but it reads and writes fixed addresses: so tokens, context and
activations live in buffers that are made once, for sizes rounded up to a few buckets.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from infogain import kernels
from infogain.errors import UnknownName
from infogain.models.base import Past
from infogain.models.context import BackboneContext
from infogain.models.transformer import Keys

ENGINES = {
    "eager": "one kernel after the other; nothing to prepare",
    "graphs": "recorded CUDA graphs; the first steps of each size record them",
}
ROWS = (1, 2, 3, 4, 6, *range(8, 65, 4))
MOST_TOKENS = 1152  # beyond that a step is bound by arithmetic, and starting kernels costs nothing
COLUMNS = 512  # room for frozen columns grows by so many

Forward = Callable[[Tensor, BackboneContext, Tensor, int], Tensor]  # tokens, context, row, most -> activations
Reopened = Callable[[BackboneContext, Tensor, int], Tensor]  # context, since, span -> activations


def default_engine(device: torch.device) -> str:
    return "graphs" if device.type == "cuda" else "eager"


def _rounded(rows: int) -> int:
    """Up to the next size that is recorded; 0: there is none."""
    return next((size for size in ROWS if size >= rows), 0)


def _even(width: int) -> int:
    """One more column, which nothing sees, where the number is odd: products of an odd size take longer on a GPU."""
    return width + width % 2


def check_engine(name: str) -> None:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)


class Recorded:
    """One forward at one size: fixed inputs, and the graph that goes with them."""

    def __init__(self, run: Callable[..., Tensor], *inputs: Tensor) -> None:
        self.run, self.inputs = run, inputs
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, pool: Any, *values: Tensor) -> Tensor:
        count = len(values[0])
        for buffer, value in zip(self.inputs, values, strict=True):
            buffer[:count] = value
        if pool is None:  # on a CPU the same buffers, called plainly
            return self.run(*self.inputs)[:count]
        if self.graph is None:
            self._record(pool)
        assert self.graph is not None
        self.graph.replay()
        return self.output[:count]

    def _record(self, pool: Any) -> None:
        """Run twice on the side, so that kernels are built and libraries ready, then record."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.run(*self.inputs)
            self.run(*self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.output = self.run(*self.inputs)


class Engine:
    """Recorded forwards by size, and the context they all read."""

    def __init__(self, forward: Forward, reopened: Reopened) -> None:
        self.forward, self.reopened = forward, reopened
        self.recorded: dict[tuple[str | int, ...], Recorded] = {}
        self.context: BackboneContext | None = None  # the buffers
        self.held: list[weakref.ref[BackboneContext]] = []  # contexts whose keys lie there; of the last, all
        self.pool: Any = None  # memory that all graphs share: one runs at a time

    def __call__(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        """Activations of candidates, as `forward` has them."""
        rows = _rounded(len(tokens))
        if not rows or rows * context.width > MOST_TOKENS:
            return self.forward(tokens, context, row, most)
        with torch.inference_mode():
            buffers = self._hold(context)
            if kernels.can_attend(context.layers[0].k, context.width):
                most = rows  # it packs nothing, so one recording does for all
            else:
                most = _rounded(most + rows - len(tokens))  # those that fill up may all name one context row
            width, window = tokens.shape[1], _even(context.width)
            key = (rows, width, window, most)
            if key not in self.recorded:
                wide = replace(buffers, width=window)
                inputs = tokens.new_zeros(rows, width), row.new_zeros(rows)
                self.recorded[key] = Recorded(lambda t, r: self.forward(t, wide, r, most), *inputs)
            return self.recorded[key](self.pool, tokens, row)

    def reopen(self, context: BackboneContext, since: Tensor, span: int) -> Tensor:
        """Activations of the block that opens, as `reopened` has them."""
        rows, width = len(since), context.width
        if rows * span > MOST_TOKENS:
            return self.reopened(context, since, span)
        with torch.inference_mode():
            buffers = self._hold(context)
            key = ("reopen", rows, span, width)
            if key not in self.recorded:
                own = buffers.first_rows(rows, width)
                self.recorded[key] = Recorded(lambda s: self.reopened(own, s, span), torch.zeros_like(since))
            return self.recorded[key](self.pool, since)

    def more_room(self, past: Past, tokens: Tensor, columns: int) -> list[Keys] | None:
        """The keys of a context with room for more columns, where it alone is held and all its rows go on; else None.

        It is not copied: what is written there lies past all that the context itself reads.
        """
        rows = len(past.context.length)
        alone = [reference() for reference in self.held if reference() is not None] == [past.context]
        if self.context is None or not alone or past.places != list(range(rows)):
            return None
        return self.context.part(rows, columns) if self.context.has_room(tokens, columns) else None

    def _hold(self, context: BackboneContext) -> BackboneContext:
        """Move a context into the buffers. Its keys are views of them from then on: there is one copy."""
        if self.held and self.context is not None and self.held[-1]() is context:
            return self.context
        if self.context is None or not context.shares(self.context):
            self._let_go()
        if self.context is None or not self.context.has_room(context.tokens, context.columns):
            self.recorded.clear()  # they read the old buffers
            self.context = None  # before the new ones are made
            self.context = context.empty(COLUMNS)
            self.pool = torch.cuda.graph_pool_handle() if context.tokens.is_cuda else None
        self.context.take_in(context)
        self.held = [reference for reference in self.held if reference() is not None] + [weakref.ref(context)]
        return self.context

    def _let_go(self) -> None:
        """Whoever still uses what the buffers hold gets a copy of it."""
        for other in (reference() for reference in self.held):
            if other is not None:
                other.layers[:] = [Keys(keys.k.clone(), keys.v.clone()) for keys in other.layers]
        self.held = []
