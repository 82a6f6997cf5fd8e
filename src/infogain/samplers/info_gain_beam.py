"""Info-Gain beam search: several hypotheses at once, pruned by the same objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.objective import state_uncertainty
from infogain.algorithm.state import Candidates, State
from infogain.options import Plain, option
from infogain.samplers.base import SAMPLERS, Traits
from infogain.samplers.info_gain import InfoGain


@SAMPLERS.register("info-gain-beam")
@dataclass(frozen=True)
class InfoGainBeam(InfoGain):
    """Listing 2: rank hypotheses by f = −(H̃ + 𝓗(z)), which within one block is Σ J up to a constant.

    The final answer is the hypothesis of least H̃.
    """

    purpose: ClassVar[str] = (
        "Like info-gain, but follows several texts at once and keeps the best. For when a step may cost more."
    )
    criteria: ClassVar[str] = "−(H̃ + 𝓗(z′))"
    sensitivity: ClassVar[str] = "–"
    presets: ClassVar[Mapping[str, Plain]] = {}  # those of the sampler were chosen without a beam

    width: int = option(4, "hypotheses kept per prompt", low=1)

    @property
    def traits(self) -> Traits:
        return replace(super().traits, beam=self.width)

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        """f(z′) = f(z) + J, counted from the attempt's first hypothesis: with one hypothesis it is J to the bit."""
        worth = -(self.cost_weight * z.cost + state_uncertainty(z, self.gain_power))  # f(z) [R]
        first = (z.attempt[:, None] == z.attempt).byte().argmax(-1)  # [R]
        return (worth - worth[first])[a.parent] + super().score(z, a, z_next)
