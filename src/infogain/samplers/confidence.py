"""Confidence: the most probable token first (MaskGIT, LLaDA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import State
from infogain.options import option
from infogain.samplers.actions import Greedy, certainty
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("confidence")
@dataclass(frozen=True)
class Confidence(Greedy):
    """Eq. 7: φ = max_v p(v). With of='drawn', p of the token that was drawn, as MaskGIT and LLaDA code it."""

    purpose: ClassVar[str] = (
        "Writes the most probable token first. For when every forward counts, with --of drawn and one token a step."
    )
    criteria: ClassVar[str] = "Σ_A max p"
    sensitivity: ClassVar[str] = "High"

    of: str = option("top1", "probability of the most likely token, or of the drawn one", choices=("top1", "drawn"))

    @property
    def phi_draws(self) -> bool:
        return self.of == "drawn"

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return certainty(self.of, z.p, tokens[:, None])[:, 0]
