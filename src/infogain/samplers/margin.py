"""Margin: the clearest winner first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import State
from infogain.samplers.actions import Greedy
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("margin")
@dataclass(frozen=True)
class Margin(Greedy):
    """Eq. 9: φ = p_top1 − p_top2."""

    purpose: ClassVar[str] = (
        "Writes where the best token leads the second best by most. For single answers, with --tau-token 0."
    )
    criteria: ClassVar[str] = "Σ_A (p_top1 − p_top2)"
    sensitivity: ClassVar[str] = "High"

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return z.p.margin
