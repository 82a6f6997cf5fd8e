"""What goes wrong while a batch is decoded: rows whose logits are spoilt, models and samplers that raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from infogain import Canvas
from infogain.algorithm.state import Candidates, State
from infogain.kernels import MaskedColumns
from infogain.loop.batch import Batch
from infogain.loop.result import RowResult
from infogain.models import Denoiser, Wrapper
from infogain.models.denoiser import Past
from infogain.samplers import Sampler

When = Callable[[Tensor, Tensor], Tensor]  # (where the block starts, masks it has left) [M] each -> spoil it? [M]
WHENS: dict[str, When] = {
    "from the start": lambda start, left: left > 0,
    "in the middle of a block": lambda start, left: left == 1,
    "in a later block": lambda start, left: start > 3,
    "in the middle of a later block": lambda start, left: (start > 3) & (left == 1),
}


@dataclass(frozen=True)
class MarkedContext:
    """A context that knows which rows are ill, by their first token, and where their blocks start."""

    inner: Any
    ill: Tensor  # [C]
    start: Tensor  # [C]

    def take(self, rows: Sequence[int]) -> Self:
        index = torch.tensor(rows)
        return type(self)(self.inner.take(rows), self.ill[index], self.start[index])

    def join(self, other: Self) -> Self:
        ill, start = torch.cat([self.ill, other.ill]), torch.cat([self.start, other.start])
        return type(self)(self.inner.join(other.inner), ill, start)


class Ailing(Wrapper):
    """A model whose logits are spoilt, at one masked column, for rows that begin with `mark`."""

    def __init__(self, inner: Denoiser, mark: int, when: When, spoil: float = torch.nan) -> None:
        super().__init__(inner)
        self.mark, self.when, self.spoil = mark, when, spoil

    def _opened(self, canvas: Canvas, start: Sequence[int], width: int, found: tuple[Any, Tensor]) -> Any:
        inner, logits = found
        context = MarkedContext(inner, canvas.tokens[:, 0] == self.mark, torch.tensor(start))
        _, masked = canvas.view(context.start, width)
        ill = context.ill & self.when(context.start, masked.sum(-1))
        logits[ill, masked[ill].long().argmax(-1), 0] = self.spoil
        return context, logits

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        found: tuple[Any, Tensor] = self._opened(canvas, start, width, self.inner.prefill(canvas, start, width, end))
        return found

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        past = past._replace(context=past.context.inner)
        found: tuple[Any, Tensor] = self._opened(canvas, start, width, self.inner.append(canvas, start, width, past))
        return found

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: MarkedContext, row: Tensor, max_per_row: int
    ) -> Tensor:
        logits = self.inner.at_masks(tokens, masked_columns, context.inner, row, max_per_row)
        assert isinstance(logits, Tensor)
        ill = context.ill[row] & self.when(context.start[row], masked_columns.masked.sum(-1))
        whose, _ = masked_columns.masked.nonzero(as_tuple=True)
        first = whose != torch.cat([whose.new_tensor([-1]), whose[:-1]])
        logits[ill[whose] & first, 0] = self.spoil
        return logits


class Fault(Exception):
    """What a model or a sampler in these tests raises."""


class Faulty(Wrapper):
    """A model whose calls raise once each time their number is one of `at`; what failed is not counted again."""

    def __init__(self, inner: Denoiser, at: Sequence[int]) -> None:
        super().__init__(inner)
        self.at, self.calls = list(at), 0

    def _pass(self, found: Callable[[], Any]) -> Any:
        if self.calls in self.at:
            self.at.remove(self.calls)
            raise Fault(f"call {self.calls} fails")
        self.calls += 1
        return found()

    def prefill(self, *given: Any) -> Any:
        return self._pass(lambda: self.inner.prefill(*given))

    def append(self, *given: Any) -> Any:
        return self._pass(lambda: self.inner.append(*given))

    def at_masks(self, *given: Any) -> Any:
        return self._pass(lambda: self.inner.at_masks(*given))


Wrongly = Callable[[State, Any], Any]  # what becomes of a sampler's answer


def unruly(base: Sampler, propose: Wrongly | None = None, score: Wrongly | None = None) -> Sampler:
    """A sampler that answers as `base` does, until a function spoils its answers."""

    class Unruly(type(base)):  # type: ignore[misc]
        def propose(self, z: State, budget: Tensor) -> Any:
            a = super().propose(z, budget)
            return propose(z, a) if propose else a

        def score(self, z: State, a: Candidates, z_next: State) -> Any:
            worth = super().score(z, a, z_next)
            return score(z, worth) if score else worth

    sampler: Sampler = Unruly(**vars(base))
    return sampler


def run(batch: Batch) -> dict[tuple[int, int], RowResult]:
    """Steps to the end; what has left, by lane and row."""
    came: dict[tuple[int, int], RowResult] = {}
    while True:
        for left in batch.leave():
            assert left[:2] not in came, "a row leaves once"
            came[left[:2]] = left
        if not batch.live:
            return came
        batch.step()
