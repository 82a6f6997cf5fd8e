"""How candidates and blocks that open run through the layers as recorded graphs.

At batch 1 a step of a large model is a few hundred short kernels, and starting them one by one takes longer than
running them. A CUDA graph starts them all at once, but it reads and writes fixed addresses: so tokens, context and
activations live in buffers that are made once, for sizes rounded up to a few buckets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from infogain import kernels
from infogain.errors import OptionError, UnknownName
from infogain.kernels import Keys
from infogain.models.backbone.buffers import COLUMNS, Buffers
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.eager import Windows
from infogain.models.backbone.recorded import Recorded

ENGINES = {
    "eager": "one kernel after the other; nothing to prepare",
    "graphs": "recorded CUDA graphs; the first steps of each size record them",
}
ROWS = (1, 2, 3, 4, 6, *range(8, 65, 4))
TILE = COLUMNS // 8  # a canvas is recorded for a multiple of so many columns, and so is the room in buffers
MOST_RECORDED = 128  # forwards at a time; each keeps its output and a graph of some hundred kernels
MOST_TOKENS = 1152  # beyond that a step is bound by arithmetic, and starting kernels costs nothing

Key = tuple[str | int, ...]  # what is recorded, and its sizes


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


def engine_for(device: torch.device, asked: str | None = None) -> str:
    """The engine that was asked for, or the one that suits the device. Recording is CUDA's, and refused elsewhere."""
    if asked is None:
        return "graphs" if device.type == "cuda" else "eager"
    check_engine(asked)
    if asked == "graphs" and device.type != "cuda":
        raise OptionError(
            f"engine 'graphs' records CUDA graphs, so the device must be a GPU; it is {device}. "
            "Leave the engine unset, or use engine='eager' (--engine eager)."
        )
    return asked


class Engine:
    """Recorded forwards by size, and the buffers they all read."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.buffers = Buffers()
        self.recorded: OrderedDict[Key, Recorded] = OrderedDict()  # the one that was used last comes last
        self.times_recorded = 0
        self.laid = windows.transformer.laid

    def candidates(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        """As `windows` has them."""
        rows = _rounded(len(tokens))
        if not rows or rows * context.width > MOST_TOKENS:
            return self.windows.candidates(tokens, context, row, most)
        with torch.inference_mode():
            buffers = self._hold(context)
            width, window = tokens.shape[1], _even(context.width)
            most = _rounded(most + rows - len(tokens))  # those that fill up may name one row
            most = kernels.places(context.layers[0].k, window, rows, most)
            run = self.windows.candidates  # and not the engine, which would keep itself alive

            def record() -> Recorded:
                inputs = tokens.new_zeros(rows, width), row.new_zeros(rows)
                return Recorded(lambda t, r: run(t, buffers, r, most, window), *inputs)

            return self._replay(("candidates", rows, width, window, most), record, tokens, row)

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

    def _open(self, context: BackboneContext, at: Tensor, columns: int, key: Key, run: Callable[..., Tensor]) -> Tensor:
        """Blocks of all rows of a context, each from so many columns, by what is recorded for that many."""
        rows = len(at)
        with torch.inference_mode():
            self._hold(context)
            if rows * columns > MOST_TOKENS:
                return run(self.buffers.first_rows(rows), at)

            def record() -> Recorded:
                return Recorded(partial(run, self.buffers.first_rows(rows)), torch.zeros_like(at))

            return self._replay((*key, rows), record, at)

    def _replay(self, key: Key, record: Callable[[], Recorded], *values: Tensor) -> Tensor:
        """Run what is recorded for these sizes. Where too much is, what was used longest ago makes room."""
        if key in self.recorded:
            self.recorded.move_to_end(key)
        else:
            if len(self.recorded) >= MOST_RECORDED:
                self.recorded.popitem(last=False)
            self.recorded[key] = record()
            self.times_recorded += 1
        return self.recorded[key](self.recorded.values(), *values)

    def _hold(self, context: BackboneContext) -> BackboneContext:
        laid = self.windows.transformer.laid
        anew = not self.buffers.fits(context) or laid != self.laid
        if anew:
            self.laid = laid
            self.recorded.clear()  # they keep the old buffers or weights, which are to go before new ones are made
        buffers = self.buffers.hold(context)
        if anew and context.tokens.is_cuda:  # loading, recordings and buffers have left much that nobody needs again
            torch.cuda.synchronize(context.tokens.device)
            torch.cuda.empty_cache()
        return buffers
