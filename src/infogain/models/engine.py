"""How candidates and blocks that open run through the layers as recorded graphs.

At batch 1 a step of a large model is a few hundred short kernels, and starting them one by one takes longer than
running them. A CUDA graph starts them all at once, but it reads and writes fixed addresses: so tokens, context and
activations live in buffers that are made once, for sizes rounded up to a few buckets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from infogain import kernels
from infogain.errors import UnknownName
from infogain.models.attention import Keys
from infogain.models.buffers import COLUMNS, Buffers
from infogain.models.context import BackboneContext
from infogain.models.windows import Windows

ENGINES = {
    "eager": "one kernel after the other; nothing to prepare",
    "graphs": "recorded CUDA graphs; the first steps of each size record them",
}
ROWS = (1, 2, 3, 4, 6, *range(8, 65, 4))
TILE = COLUMNS // 8  # a canvas is recorded for a multiple of so many columns, and so is the room in buffers
MOST_TOKENS = 1152  # beyond that a step is bound by arithmetic, and starting kernels costs nothing


def default_engine(device: torch.device) -> str:
    return "graphs" if device.type == "cuda" else "eager"


def _rounded(rows: int) -> int:
    """Up to the next size that is recorded; 0: there is none."""
    return next((size for size in ROWS if size >= rows), 0)


def _even(width: int) -> int:
    """One more column, which nothing sees, where the number is odd: products of an odd size take longer on a GPU."""
    return width + width % 2


def _whole_tiles(columns: int) -> int:
    return -(-columns // TILE) * TILE


def check_engine(name: str) -> None:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)


@functools.cache
def _side(device: torch.device) -> torch.cuda.Stream:
    """One stream to record on: cuBLAS keeps some 30 MiB for each that it has ever seen."""
    return torch.cuda.Stream(device)


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
        """Run twice, so that kernels are built and libraries ready, then record."""
        self.run(*self.inputs)
        self.run(*self.inputs)
        try:
            self._capture(pool)
        except torch.OutOfMemoryError:  # during a capture the allocator lets go of nothing by itself
            torch.cuda.empty_cache()
            self._capture(pool)

    def _capture(self, pool: Any) -> None:
        """`torch.cuda.graph` would first give back all that is idle, and the next steps would ask for it again."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(_side(self.inputs[0].device)):
            graph.capture_begin(pool)
            try:
                self.output = self.run(*self.inputs)
            finally:
                graph.capture_end()
        self.graph = graph  # only once it is whole


class Engine:
    """Recorded forwards by size, and the buffers they all read."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.buffers = Buffers()
        self.recorded: dict[tuple[str | int, ...], Recorded] = {}
        self.laid = windows.transformer.laid
        self.pool: Any = None  # memory that all graphs share: one runs at a time

    def candidates(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        """As `windows` has them."""
        rows = _rounded(len(tokens))
        if not rows or rows * context.width > MOST_TOKENS:
            return self.windows.candidates(tokens, context, row, most)
        with torch.inference_mode():
            buffers = self._hold(context)
            width, window = tokens.shape[1], _even(context.width)
            packs = not kernels.can_attend(context.layers[0].k, window)  # one that packs nothing has one recording
            most = _rounded(most + rows - len(tokens)) if packs else rows  # those that fill up may name one row
            key = ("candidates", rows, width, window, most)
            if key not in self.recorded:
                wide = replace(buffers, width=window)
                inputs = tokens.new_zeros(rows, width), row.new_zeros(rows)
                run = self.windows.candidates  # and not the engine, which would keep itself alive
                self.recorded[key] = Recorded(lambda t, r: run(t, wide, r, most), *inputs)
            return self.recorded[key](self.pool, tokens, row)

    def room(self, tokens: Tensor, like: Tensor) -> list[Keys] | None:
        """Keys for `canvas` to fill, where candidates read them; None where that cannot be."""
        rows, columns = tokens.shape
        return self.buffers.free(rows, columns, like)

    def canvas(self, context: BackboneContext, start: Tensor, columns: int, width: int) -> Tensor:
        """As `windows` has it, for a context that was given room here."""
        run, wide = self.windows.canvas, width
        if len(start) * _whole_tiles(columns) <= MOST_TOKENS:
            columns, wide = _whole_tiles(columns), _whole_tiles(width)
        key = ("canvas", columns, wide)
        return self._open(context, start, columns, key, lambda own, s: run(own, s, columns, wide))[:, :width]

    def next_block(self, context: BackboneContext, since: Tensor, done: int, span: int, width: int) -> Tensor:
        """As `windows` has it, for a context that goes on in place."""
        run, key = self.windows.next_block, ("next block", done, span, width)
        return self._open(context, since, span, key, lambda own, s: run(own, s, done, span, width))

    def _open(
        self,
        context: BackboneContext,
        at: Tensor,
        columns: int,
        key: tuple[str | int, ...],
        run: Callable[..., Tensor],
    ) -> Tensor:
        """Blocks of all rows of a context, each from so many columns, by what is recorded for that many."""
        key = (*key, len(at))
        with torch.inference_mode():
            self._hold(context)
            if key not in self.recorded:
                own = self.buffers.first_rows(len(at), context.width)
                if len(at) * columns > MOST_TOKENS:
                    return run(own, at)
                self.recorded[key] = Recorded(lambda a: run(own, a), torch.zeros_like(at))
            return self.recorded[key](self.pool, at)

    def _hold(self, context: BackboneContext) -> BackboneContext:
        laid = self.windows.transformer.laid
        if not self.buffers.fits(context) or laid != self.laid:
            self.laid = laid
            self.recorded.clear()  # they keep the old buffers or weights, which are to go before new ones are made
            self.pool = None
            if context.tokens.is_cuda:
                torch.cuda.empty_cache()  # they, or loading, have left much that nothing else would give back
                self.pool = torch.cuda.graph_pool_handle()
        return self.buffers.hold(context)
