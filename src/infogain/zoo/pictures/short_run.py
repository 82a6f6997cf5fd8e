"""A training run of minutes over pictures that fit in memory: batches, and a rate that falls to nothing at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from infogain.errors import InputError


@dataclass(frozen=True)
class ShortRun:
    """How long to train, whichever ends first, and how fast."""

    minutes: float
    rate: float  # highest learning rate
    steps: int = 1_000_000
    rows: int = 256
    warm_up: int = 200  # steps
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.minutes > 0 and self.steps > 0):
            raise InputError(f"a training must take time; got {self.minutes} minutes and {self.steps} steps.")

    def batches(self, count: int, optimiser: torch.optim.Optimizer, device: torch.device) -> Iterator[Tensor]:
        """The rows of each step, out of `count`, until the run is over; sets the optimiser's rate for it."""
        began = time.perf_counter()
        for step, rows in enumerate(shuffled(count, self.rows, self.seed, device)):
            progress = max(step / self.steps, (time.perf_counter() - began) / (60 * self.minutes))
            if progress >= 1:
                return
            for group in optimiser.param_groups:
                group["lr"] = self.rate * min(1.0, (step + 1) / self.warm_up) * (1 - progress)
            yield rows


def shuffled(count: int, rows: int, seed: int, device: torch.device) -> Iterator[Tensor]:
    """Numbers below `count`, so many at a time, in a new order whenever all have been seen."""
    generator = torch.Generator(device).manual_seed(seed)
    while True:
        order = torch.randperm(count, device=device, generator=generator)
        yield from (some for some in torch.split(order, rows) if len(some) == min(rows, count))
