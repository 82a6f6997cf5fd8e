"""A forward that is recorded as a CUDA graph when it first runs, and replayed from then on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


@functools.cache
def _side(device: torch.device) -> torch.cuda.Stream:
    """One stream to record on: cuBLAS keeps some 30 MiB for each that it has ever seen."""
    return torch.cuda.Stream(device)


class Recorded:
    """One forward at one size: fixed inputs, and the graph that goes with them."""

    def __init__(self, run: Callable[..., Tensor], *inputs: Tensor) -> None:
        self.run, self.inputs = run, inputs
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, others: Iterable[Recorded], *values: Tensor) -> Tensor:
        """`others` share its memory: one runs at a time."""
        count = len(values[0])
        for buffer, value in zip(self.inputs, values, strict=True):
            buffer[:count] = value
        if not self.inputs[0].is_cuda:  # the same buffers, called plainly
            return self.run(*self.inputs)[:count]
        if self.graph is None:
            self._record(others)
        assert self.graph is not None
        self.graph.replay()
        return self.output[:count]

    def _record(self, others: Iterable[Recorded]) -> None:
        """Run twice, so that kernels are built and libraries ready, then capture."""
        self.run(*self.inputs)
        self.run(*self.inputs)
        try:
            return self._capture(others)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
        torch.cuda.synchronize()  # and once more, now that nothing of the first try is alive
        torch.cuda.empty_cache()  # during a capture the allocator lets go of nothing by itself
        return self._capture(others)

    def _capture(self, others: Iterable[Recorded]) -> None:
        """`torch.cuda.graph` would first give back all that is idle, and the next steps would ask for it again."""
        pool = next((other.graph.pool() for other in others if other.graph), None)  # of one that lives, or a new one
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(_side(self.inputs[0].device)):
            graph.capture_begin(pool)
            try:
                self.output = self.run(*self.inputs)
            finally:
                graph.capture_end()
        self.graph = graph  # only once it is whole
