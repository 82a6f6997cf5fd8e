"""KLASS: confidence among positions whose distribution has stopped moving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from infogain.algorithm.state import State
from infogain.options import option
from infogain.samplers.actions import Greedy, drawn, leading
from infogain.samplers.base import SAMPLERS, Traits

HISTORY = {"paper": 1, "original": 2}  # steps in a row a position must have been stable


@SAMPLERS.register("klass")
@dataclass(frozen=True)
class KLASS(Greedy):
    """Eq. 10: φ = max p + 1[D_KL(p ‖ p of the previous step) < ε]; exactly K positions.

    variant='original' is the authors' own: every position that was stable for the last two steps and
    whose drawn token's probability exceeds `threshold`, however many; where none is, the K most confident.
    """

    purpose: ClassVar[str] = (
        "Like confidence, but first where the prediction has stopped changing. Cheap: an alternative to confidence."
    )
    criteria: ClassVar[str] = "Σ_A (max p + 1[KL < ε])"
    sensitivity: ClassVar[str] = "High"

    variant: str = option("paper", "Eq. 10, or the authors' dynamic rule", choices=("paper", "original"))
    epsilon: float | None = option(
        None, "KL below which a position is stable; unset: 5e-4 paper, .01 original", above=0
    )
    threshold: float = option(0.9, "confidence a stable position needs", above=0, high=1, when=("variant", "original"))

    @property
    def traits(self) -> Traits:
        return replace(super().traits, adaptive=self.variant == "original", memory=HISTORY[self.variant])

    @property
    def phi_draws(self) -> bool:
        return self.variant == "original"

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        if self.variant == "paper":
            return z.p.confidence + self._stable(z)
        confidence = drawn(z, tokens)
        return confidence + (self._stable(z) & (confidence > self.threshold))

    def count(self, z: State, phi: Tensor, order: Tensor, budget: Tensor) -> Tensor:
        if self.variant == "paper":
            return budget
        ready = leading((z.masked & (phi > 1)).gather(-1, order))
        return torch.where(ready > 0, ready, budget)

    def _stable(self, z: State) -> Tensor:
        epsilon = self.epsilon or (5e-4 if self.variant == "paper" else 0.01)
        stable = (z.step >= HISTORY[self.variant])[:, None].expand_as(z.masked)
        for now, past in zip((z.p, *z.before), z.before, strict=False):
            stable = stable & (now.kl(past) < epsilon)
        return stable
