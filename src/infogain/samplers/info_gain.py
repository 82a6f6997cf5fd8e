"""Info-Gain: the action that leaves the least uncertainty for the price it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.objective import info_gain_objective
from infogain.algorithm.state import Candidates, State
from infogain.options import HOTTEST, Plain, option
from infogain.samplers.actions import LookAhead
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("info-gain")
@dataclass(frozen=True)
class InfoGain(LookAhead):
    """Listing 1: N candidates in one batched forward, keep argmax J (Eq. 5)."""

    purpose: ClassVar[str] = (
        "The default, as in the paper: keeps the candidate whose gain most exceeds its cost. For two tokens a step."
    )
    criteria: ClassVar[str] = "IG(a; z) − Σ_A H"
    sensitivity: ClassVar[str] = "Low"
    presets: ClassVar[Mapping[str, Plain]] = {
        "paper": {},
        "validated": {"tau_pos": 0.1, "phi": "drawn", "gain_power": 0.0},  # chosen on the zoo's first edition
    }

    gain_power: float = option(
        1.0, "what remains is Σ H / |M|^power: 1 the paper's mean, 0 the plain sum", low=0, high=1
    )

    cost_weight: float = option(
        1.0, "J = gain − weight · cost: 1 the paper's, 0 what LookUM looks at", low=0, high=HOTTEST, implied=True
    )

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        return info_gain_objective(z, a, z_next, self.gain_power, self.cost_weight)
