"""How many tokens each step commits: K_t, per row.

A schedule spreads a block's masks over its steps; a remainder is spread, never dropped.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from infogain.algorithm.state import State
from infogain.errors import OptionError
from infogain.options import MOST, Options, Registry, option


class Schedule(Options):
    """How many steps the blocks of a row get, and how many tokens each step writes."""

    def allot(self, masks: Sequence[int]) -> list[int]:
        """Steps for each block of one row, given the masks each holds."""
        raise NotImplementedError

    def budget(self, z: State) -> Tensor:
        """K_t: tokens to commit in this step, between 1 and the masks left. [R]"""
        raise NotImplementedError


SCHEDULES: Registry[Schedule] = Registry("schedule", {})


@SCHEDULES.register("tokens")
@dataclass(frozen=True)
class TokensPerStep(Schedule):
    """K tokens every step; the last step of a block takes what is left."""

    k: int = option(
        1, "tokens committed per step", low=1, high=MOST, hint="Use 1 (best quality) or 2 (half the steps)."
    )

    def allot(self, masks: Sequence[int]) -> list[int]:
        return [math.ceil(count / self.k) for count in masks]

    def budget(self, z: State) -> Tensor:
        return z.left.clamp(max=self.k)


SHAPES: dict[str, Callable[[Tensor], Tensor]] = {  # share of masks left at time 0 ≤ t ≤ 1
    "linear": lambda t: 1 - t,
    "cosine": lambda t: (t * math.pi / 2).cos(),
}
# (share of masks to leave at time t, masks of the block) -> masks to leave
ROUNDINGS: dict[str, Callable[[Callable[[Tensor], Tensor], Tensor, Tensor], Tensor]] = {
    "nearest": lambda shape, time, masks: (masks * shape(time)).round(),
    # in float32, as MMaDA's program computes it: cos(π/3) · 1024 is 511 there
    "down": lambda shape, time, masks: (masks * shape(time.float())).floor(),
}


@SCHEDULES.register("steps")
@dataclass(frozen=True)
class Steps(Schedule):
    """A number of steps for the whole row, shared among its blocks by their masks."""

    count: int = option(help="steps in all", low=1, high=MOST)
    shape: str = option("linear", "how the masks fall: evenly, or slowly first", choices=tuple(SHAPES))
    rounding: str = option(
        "nearest",
        "what becomes of a fraction of a mask to leave: the nearest number, or down as in MMaDA's program",
        choices=tuple(ROUNDINGS),
        implied=True,
    )

    def allot(self, masks: Sequence[int]) -> list[int]:
        if self.count < len(masks):
            raise OptionError(
                f"steps: count must be at least the number of blocks, for each takes a step; got {self.count} steps "
                f"for {len(masks)} blocks. Use more steps or a wider block."
            )
        return list(_share(self.count, tuple(masks)))

    def budget(self, z: State) -> Tensor:
        later = (z.steps_allotted - z.step - 1).clamp(min=0)  # steps still to come after this one
        time = ((z.step + 1).double() / z.steps_allotted).clamp(max=1)
        target = ROUNDINGS[self.rounding](SHAPES[self.shape], time, z.block_masks).long()  # masks to leave
        ones = torch.ones_like(target)
        # at least one now, and one left for every later step
        return torch.maximum(torch.minimum(z.left - target, z.left - later), ones)


@lru_cache(maxsize=1024)
def _share(count: int, masks: tuple[int, ...]) -> tuple[int, ...]:
    """One step for each block, the others one by one to the block with the most masks per step (ties to the left).

    No block gets more steps than it has masks.
    """
    steps = [1] * len(masks)
    crowded = [(-float(size), block) for block, size in enumerate(masks)]
    heapq.heapify(crowded)
    for _ in range(min(count, sum(masks)) - len(masks)):
        _, block = heapq.heappop(crowded)
        steps[block] += 1
        heapq.heappush(crowded, (-masks[block] / steps[block], block))
    return tuple(steps)
