"""Time on a device: CUDA's own events on a GPU, the host's clock elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Span:
    """The time of some work on a device: begun and ended without waiting for it, read afterwards."""

    def __init__(self, device: torch.device) -> None:
        self.cuda = device.type == "cuda"
        self.begun, self.ended = self._mark(), None

    def end(self) -> None:
        self.ended = self._mark()

    def _mark(self) -> Any:
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    @property
    def ms(self) -> float:
        """Milliseconds it took; to be read once the device is done."""
        return float(self.begun.elapsed_time(self.ended) if self.cuda else 1e3 * (self.ended - self.begun))


def repeat_ms(action: Callable[[], Any], device: torch.device, times: int, warm_up: int = 3) -> float:
    """Milliseconds of an action, the median of several in a row."""
    for _ in range(warm_up):
        action()
    spans = []
    for _ in range(times):
        span = Span(device)
        action()
        span.end()
        spans.append(span)
    synchronize(device)
    return sorted(span.ms for span in spans)[times // 2]


def sustained_ms(action: Callable[[], Any], device: torch.device, times: int, seconds: float) -> float:
    """Milliseconds of an action after some seconds of it without a pause: a GPU at its power limit lowers its clock."""
    until = time.perf_counter() + seconds
    while True:
        ms = repeat_ms(action, device, times, warm_up=0)
        if time.perf_counter() >= until:
            return ms
