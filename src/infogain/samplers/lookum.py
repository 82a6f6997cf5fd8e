"""LookUM: look-ahead by what remains alone, without the price of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import Candidates, State, masked_or, total
from infogain.options import option
from infogain.samplers.actions import LookAhead, certainty
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("lookum")
@dataclass(frozen=True)
class LookUM(LookAhead):
    """Eq. 13: the mean certainty of the positions still masked in z′; with metric='entropy', −𝓗(z′)."""

    purpose: ClassVar[str] = "Tries candidates and keeps the one that leaves least uncertain. For two tokens a step."
    criteria: ClassVar[str] = "mean of φ over M′"
    sensitivity: ClassVar[str] = "Moderate"

    metric: str = option("entropy", "certainty of what remains", choices=("entropy", "top1", "margin"))

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        metric = certainty(self.metric, z_next.p, z_next.tokens[:, None])[:, 0]
        return total(masked_or(metric, z_next.masked)) / z_next.left.clamp(min=1)
