"""Entropy: the least uncertain position first (Dream)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import State
from infogain.samplers.actions import Greedy
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("entropy")
@dataclass(frozen=True)
class Entropy(Greedy):
    """Eq. 8: φ = −H_ℓ(z)."""

    purpose: ClassVar[str] = (
        "Writes where the model is least uncertain first. Cheap: the greedy order that Dream decodes with."
    )
    criteria: ClassVar[str] = "−Σ_A H"
    sensitivity: ClassVar[str] = "High"

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return -z.p.entropy
