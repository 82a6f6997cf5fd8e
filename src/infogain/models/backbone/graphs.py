"""Forwards of a backbone as recorded CUDA graphs.

At batch 1 a step of a large model is a few hundred short kernels, and starting them one by one takes longer than
running them. A CUDA graph starts them all at once, but it reads and writes fixed addresses: so tokens, context and
activations live in buffers that are made once, for sizes rounded up to a few.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor

from infogain import kernels
from infogain.errors import OptionError, UnknownName
from infogain.kernels import KV
from infogain.models.backbone.buffers import COLUMNS, Buffers
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.eager import Eager

ENGINES = {
    "eager": "one kernel after the other; nothing to prepare",
    "graphs": "recorded CUDA graphs; the first steps of each size record them",
}
ROWS = (1, 2, 3, 4, 6, *range(8, 65, 4))  # numbers of candidates that are recorded; others are rounded up
TILE = COLUMNS // 8  # a prefill is recorded for a multiple of so many columns, and buffers are as wide
MOST_RECORDED = 128  # recordings kept at a time; each has its output and a graph of some hundred kernels
MOST_TOKENS = 1152  # larger forwards are bound by arithmetic, and recording them would save nothing

Key = tuple[str | int, ...]  # the name of a forward, and its sizes


def check_engine(name: str) -> None:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)


def engine_for(device: torch.device, asked: str | None = None) -> str:
    """The engine that was asked for, or the one that suits the device. Graphs need CUDA, and are refused elsewhere."""
    if asked is None:
        return "graphs" if device.type == "cuda" else "eager"
    check_engine(asked)
    if asked == "graphs" and device.type != "cuda":
        raise OptionError(
            f"engine 'graphs' records CUDA graphs, so the device must be a GPU; it is {device}. "
            "Leave the engine unset, or use engine='eager' (--engine eager)."
        )
    return asked


class Graphs:
    """The forwards of `Eager`, recorded once for each size, and the buffers that all recordings read."""

    def __init__(self, eager: Eager) -> None:
        self.eager = eager
        self.buffers = Buffers()
        self.recorded: OrderedDict[Key, Recording] = OrderedDict()  # the least recently used comes first
        self.times_recorded = 0
        self.weights_version = eager.transformer.weights_version

    def candidates(self, tokens: Tensor, context: BackboneContext, row: Tensor, max_per_row: int) -> Tensor:
        """`Eager.candidates`, from a recording where the forward is small enough."""
        rows = _rounded_rows(len(tokens))
        if not rows or rows * context.width > MOST_TOKENS:
            return self.eager.candidates(tokens, context, row, max_per_row)
        with torch.inference_mode():
            buffers = self._hold(context)
            width, window = tokens.shape[1], _even(context.width)
            slots = _rounded_rows(max_per_row + rows - len(tokens))  # rows that fill up may share a context row
            slots = kernels.slots(context.layers[0].k, window, rows, slots)
            run = self.eager.candidates  # not self: a recording that refers to it would keep it alive

            def record() -> Recording:
                inputs = tokens.new_zeros(rows, width), row.new_zeros(rows)
                return Recording(lambda t, r: run(t, buffers, r, slots, window), *inputs)

            return self._replay(("candidates", rows, width, window, slots), record, tokens, row)

    def free_layers(self, tokens: Tensor, like: Tensor) -> list[KV] | None:
        """K/V for `prefill` to fill, in the buffers; None where they are in use or too small."""
        rows, columns = tokens.shape
        return self.buffers.free(rows, columns, like)

    def prefill(self, context: BackboneContext, start: Tensor, columns: int, width: int) -> Tensor:
        """`Eager.prefill`, for a context whose K/V are `free_layers`."""
        run, block = self.eager.prefill, width
        if len(start) * _whole_tiles(columns) <= MOST_TOKENS:
            columns, block = _whole_tiles(columns), _whole_tiles(width)
        key = ("prefill", columns, block)
        return self._open(context, start, columns, key, lambda own, s: run(own, s, columns, block))[:, :width]

    def append(self, context: BackboneContext, since: Tensor, done: int, span: int, width: int) -> Tensor:
        """`Eager.append`, for a context that grows in place."""
        run, key = self.eager.append, ("append", done, span, width)
        return self._open(context, since, span, key, lambda own, s: run(own, s, done, span, width))

    def _open(self, context: BackboneContext, at: Tensor, columns: int, key: Key, run: Callable[..., Tensor]) -> Tensor:
        """Open a block in every row of a context by a forward over `columns` columns, recorded if that is small."""
        rows = len(at)
        with torch.inference_mode():
            self._hold(context)
            if rows * columns > MOST_TOKENS:
                return run(self.buffers.first_rows(rows), at)

            def record() -> Recording:
                return Recording(partial(run, self.buffers.first_rows(rows)), torch.zeros_like(at))

            return self._replay((*key, rows), record, at)

    def _replay(self, key: Key, record: Callable[[], Recording], *values: Tensor) -> Tensor:
        """Run the recording of this forward and these sizes. Past `MOST_RECORDED`, the least recently used one goes."""
        if key in self.recorded:
            self.recorded.move_to_end(key)
        else:
            if len(self.recorded) >= MOST_RECORDED:
                self.recorded.popitem(last=False)
            self.recorded[key] = record()
            self.times_recorded += 1
        return self.recorded[key](self.recorded.values(), *values)

    def _hold(self, context: BackboneContext) -> BackboneContext:
        """Move a context into the buffers. Recordings that read old buffers or old weights are dropped first."""
        version = self.eager.transformer.weights_version
        stale = not self.buffers.fits(context) or version != self.weights_version
        if stale:
            self.weights_version = version
            self.recorded.clear()  # before new buffers are made, so that the old ones can go
        buffers = self.buffers.hold(context)
        if stale and context.tokens.is_cuda:  # loading, recordings and buffers have left much that is not needed again
            torch.cuda.synchronize(context.tokens.device)
            torch.cuda.empty_cache()
        return buffers


class Recording:
    """One forward at one size: its fixed inputs, and a CUDA graph that is captured when it first runs."""

    def __init__(self, run: Callable[..., Tensor], *inputs: Tensor) -> None:
        self.run, self.inputs = run, inputs
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, others: Iterable[Recording], *values: Tensor) -> Tensor:
        """Copy the values into the inputs and replay the graph. `others` share its memory: one runs at a time."""
        count = len(values[0])
        for buffer, value in zip(self.inputs, values, strict=True):
            buffer[:count] = value
        if not self.inputs[0].is_cuda:  # tests without a GPU: the buffers are used, and nothing is captured
            return self.run(*self.inputs)[:count]
        if self.graph is None:
            self._record(others)
        assert self.graph is not None
        self.graph.replay()
        return self.output[:count]

    def _record(self, others: Iterable[Recording]) -> None:
        """Run twice, so that kernels are built and libraries ready, then capture."""
        self.run(*self.inputs)
        self.run(*self.inputs)
        try:
            return self._capture(others)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
        torch.cuda.synchronize()  # and once more, now that nothing of the first try is alive
        torch.cuda.empty_cache()  # during a capture the allocator gives nothing back by itself
        return self._capture(others)

    def _capture(self, others: Iterable[Recording]) -> None:
        """Capture without `torch.cuda.graph`, which gives idle memory back that the next steps would ask for again."""
        pool = next((other.graph.pool() for other in others if other.graph), None)  # of one that lives, or a new one
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(_capture_stream(self.inputs[0].device)):
            graph.capture_begin(pool)
            try:
                self.output = self.run(*self.inputs)
            finally:
                graph.capture_end()
        self.graph = graph  # only once it is whole


@functools.cache
def _capture_stream(device: torch.device) -> torch.cuda.Stream:
    """One stream for all captures: cuBLAS keeps some 30 MiB for each stream that it has ever seen."""
    return torch.cuda.Stream(device)


def _rounded_rows(rows: int) -> int:
    """The next number of rows that is recorded; 0 where there is none."""
    return next((size for size in ROWS if size >= rows), 0)


def _even(width: int) -> int:
    """The width, or one more column that nothing sees: products of an odd size take longer on a GPU."""
    return width + width % 2


def _whole_tiles(columns: int) -> int:
    return -(-columns // TILE) * TILE
