"""A model that times its own forwards, and the log of a decode on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import LazyLogits
from infogain.bench.clock import Span
from infogain.kernels import MaskedColumns
from infogain.loop.result import Result
from infogain.loop.step import StepEvent
from infogain.models.denoiser import Denoiser, Past
from infogain.models.wrapper import Wrapper


class TimedStep(NamedTuple):
    """One whole iteration of the loop."""

    seconds: float
    opened: bool  # a block: a prefill is in it
    called: bool  # the model was: not so in the last step of a block
    prompts: int  # that take it: others may be between blocks
    rows: int
    candidates: int
    read: int  # columns whose logits its forwards made


@dataclass
class Log:
    """Times and sizes of one decode. Reading a span waits for nothing once the decode has ended."""

    steps: list[TimedStep] = field(default_factory=list)
    openings: list[Span] = field(default_factory=list)
    forwards: list[Span] = field(default_factory=list)
    kv_bytes: int | None = None  # at most; None: the model keeps none that it can count
    logits_bytes: int = 0  # of the largest forward
    begun: float = 0.0
    seconds: float = 0.0
    allocations: int = 0  # asked of the device
    result: Result | None = None
    read: int = 0  # columns whose logits forwards made, but for openings
    _counted: tuple[int, int, int] = (0, 0, 0)

    def begin(self) -> None:
        self.begun = self._last = time.perf_counter()

    def step(self, event: StepEvent) -> None:
        """Nothing is read back, so the host's clock shows the wait for the forward before: one in every step."""
        now = time.perf_counter()
        counts = len(self.openings), len(self.forwards), self.read
        opened, called, read = (new - old for new, old in zip(counts, self._counted, strict=True))
        rows, candidates = len(event.rows), event.a.parent.shape[0]
        prompts = len(set(event.rows))
        self.steps.append(TimedStep(now - self._last, opened > 0, called > 0, prompts, rows, candidates, read))
        self._last, self._counted = now, counts

    @property
    def whole_steps(self) -> list[TimedStep]:
        """The steps that call the model and open no block."""
        return [step for step in self.steps if step.called and not step.opened]

    def saw(self, logits: Tensor | LazyLogits, context: Any) -> None:
        if isinstance(logits, Tensor):  # others are made a few rows at a time
            self.logits_bytes = max(self.logits_bytes, logits.numel() * logits.element_size())
        held = getattr(context, "bytes", None)
        if held is not None:
            self.kv_bytes = max(self.kv_bytes or 0, held)


class Timed(Wrapper):
    """Any model, with a clock around its forwards."""

    def __init__(self, inner: Denoiser) -> None:
        super().__init__(inner)
        self.log = Log()

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        return self._open(lambda: self.inner.prefill(canvas, start, width, end))

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        return self._open(lambda: self.inner.append(canvas, start, width, past))

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        logits: Tensor = self._call(lambda: self.inner(tokens, context, row, max_per_row), context)
        return logits

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: Any, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        logits: Tensor | LazyLogits = self._call(
            lambda: self.inner.at_masks(tokens, masked_columns, context, row, max_per_row), context
        )
        return logits

    def _call(self, forward: Callable[[], Any], context: Any) -> Any:
        span = Span(self.device)
        logits = forward()
        span.end()
        self.log.forwards.append(span)
        self.log.read += math.prod(logits.shape[:-1])
        self.log.saw(logits, context)
        return logits

    def _open(self, opened: Callable[[], tuple[Any, Tensor]]) -> tuple[Any, Tensor]:
        span = Span(self.device)
        context, logits = opened()
        span.end()
        self.log.openings.append(span)
        self.log.saw(logits, context)
        return context, logits
