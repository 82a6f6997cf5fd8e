"""Threshold: every position confident enough (Fast-dLLM)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from infogain.algorithm.state import State
from infogain.options import option
from infogain.samplers.actions import Greedy, drawn, leading
from infogain.samplers.base import SAMPLERS, Traits


@SAMPLERS.register("threshold")
@dataclass(frozen=True)
class Threshold(Greedy):
    """Fast-dLLM, whose rule the bypass borrows: all positions with p(x) ≥ threshold, at least K.

    variant='factor' lets the threshold rise with the number taken: the n-th needs p(x) ≥ 1 − factor/(n + 1).
    With a position temperature the order is perturbed, and positions are taken up to the first that fails.
    """

    purpose: ClassVar[str] = (
        "Writes every token that is probable enough at once, as Fast-dLLM does. For the fewest steps."
    )
    criteria: ClassVar[str] = "|A| with p(x) ≥ threshold"

    variant: str = option("threshold", "one threshold, or one per rank", choices=("threshold", "factor"))
    threshold: float = option(0.9, "probability needed", above=0, high=1, when=("variant", "threshold"))
    factor: float = option(1.0, "the n-th position needs 1 − factor/(n+1)", low=0, when=("variant", "factor"))

    @property
    def traits(self) -> Traits:
        return replace(super().traits, adaptive=True)

    @property
    def phi_draws(self) -> bool:
        return True

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return drawn(z, tokens)

    def count(self, z: State, phi: Tensor, order: Tensor, budget: Tensor) -> Tensor:
        confidence = phi.gather(-1, order)
        needed = torch.full_like(confidence, self.threshold)
        if self.variant == "factor":
            rank = torch.arange(1, order.shape[1] + 1, device=order.device)  # n = 1, 2, …
            needed = 1 - self.factor / (rank + 1)
        confident = leading((confidence >= needed) & z.masked.gather(-1, order))
        return torch.maximum(confident, budget)
