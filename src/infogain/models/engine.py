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

    def __init__(self, forward: Forward, rows: int, width: int, most: int, context: BackboneContext) -> None:
        device = context.tokens.device
        self.tokens = torch.zeros((rows, width), dtype=torch.int64, device=device)
        self.row = torch.zeros(rows, dtype=torch.int64, device=device)
        self.run = lambda: forward(self.tokens, context, self.row, most)
        self.graph: torch.cuda.CUDAGraph | None = None

    def record(self, pool: Any) -> None:
        """Run once on the side, so that kernels are built and libraries ready, then record."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.run()
            self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.output = self.run()

    def __call__(self, tokens: Tensor, row: Tensor) -> Tensor:
        count = len(tokens)
        self.tokens[:count] = tokens
        self.row[:count] = row
        if self.graph is None:  # on a CPU the same buffers, called plainly
            return self.run()[:count]
        self.graph.replay()
        return self.output[:count]


class Engine:
    """Recorded forwards by size, and the context they all read."""

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self.recorded: dict[tuple[int, ...], Recorded] = {}
        self.context: BackboneContext | None = None  # the buffers
        self.held: weakref.ref[BackboneContext] | None = None  # whose values they hold
        self.pool: Any = None  # memory that all graphs share: one runs at a time

    def __call__(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        rows = _rounded(len(tokens))
        if not rows or rows * context.width > MOST_TOKENS:
            return self.forward(tokens, context, row, most)
        with torch.inference_mode():
            self._hold(context)
            assert self.context is not None
            if kernels.can_attend(context.layers[0].k, context.width):
                most = rows  # it packs nothing, so one recording does for all
            else:
                most = _rounded(most + rows - len(tokens))  # those that fill up may all name one context row
            key = (rows, tokens.shape[1], _even(context.width), most)
            if key not in self.recorded:
                self._record(key)
            return self.recorded[key](tokens, row)

    def _record(self, key: tuple[int, ...]) -> None:
        rows, width, window, most = key
        assert self.context is not None
        recorded = Recorded(self.forward, rows, width, most, replace(self.context, width=window))
        if self.context.tokens.is_cuda:
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            recorded.record(self.pool)
        self.recorded[key] = recorded

    def _hold(self, context: BackboneContext) -> None:
        """Move a context into the buffers. Its keys are views of them from then on: there is one copy."""
        if self.held is not None and self.held() is context:
            return
        self._let_go()
        if self.context is None or not self.context.has_room(context):
            self.recorded.clear()  # they read the old buffers
            self.context = None  # before the new ones are made
            self.context = context.empty(COLUMNS)
        self.context.take_in(context)
        self.held = weakref.ref(context)

    def _let_go(self) -> None:
        """Whoever still uses what the buffers hold gets a copy of it."""
        other = self.held() if self.held is not None else None
        if other is not None:
            other.layers[:] = [Keys(keys.k.clone(), keys.v.clone()) for keys in other.layers]
