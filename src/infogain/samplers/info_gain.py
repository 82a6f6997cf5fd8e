"""Info-Gain: the action that leaves the least uncertainty for the price it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.objective import info_gain_objective, surprisal
from infogain.algorithm.state import Candidates, State
from infogain.errors import OptionError
from infogain.options import HOTTEST, Plain, option
from infogain.samplers.actions import LookAhead
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("info-gain")
@dataclass(frozen=True)
class InfoGain(LookAhead):
    """Listing 1: N candidates in one batched forward, keep argmax J (Eq. 5)."""

    purpose: ClassVar[str] = (
        "Tries candidates and keeps the one whose gain most exceeds its cost. As info-gain:validated, which is our "
        "setting, it is the default; by itself it has the paper's."
    )
    criteria: ClassVar[str] = "IG(a; z) − Σ_A H"
    sensitivity: ClassVar[str] = "Low"
    presets: ClassVar[Mapping[str, Plain]] = {
        "paper": {},
        # chosen on validation problems by the study `preset`, see ADR 22
        "validated": {"cost_of": "surprisal", "gain_power": 0.0, "tau_pos": 0.4, "bypass_of": "drawn"},
    }

    gain_power: float = option(
        1.0, "what remains is Σ H / |M|^power: 1 the paper's mean, 0 the plain sum", low=0, high=1
    )

    cost_weight: float = option(
        1.0, "J = gain − weight · cost: 1 the paper's, 0 what LookUM looks at", low=0, high=HOTTEST, implied=True
    )
    cost_of: str = option(
        "entropy",
        "what a token costs: the entropy of its position, as in the paper, or its own surprisal, −log p",
        choices=("entropy", "surprisal"),
        implied=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost_of != "entropy" and self.traits.beam > 1:
            raise OptionError(
                f"{self.name}: cost_of must be entropy where several hypotheses are kept, for a beam ranks them by H̃; "
                f"got {self.cost_of}. Use a sampler without a beam, such as info-gain."
            )

    def propose(self, z: State, budget: Tensor) -> Candidates:
        a = super().propose(z, budget)
        return a if self.cost_of == "entropy" else replace(a, surprisal=surprisal(z, a))

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        return info_gain_objective(z, a, z_next, self.gain_power, self.cost_weight)
