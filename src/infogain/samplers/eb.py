"""EB-Sampler: as many positions as an entropy budget allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from infogain.algorithm.state import State
from infogain.options import option
from infogain.samplers.actions import Greedy, leading
from infogain.samplers.base import SAMPLERS, Traits


@SAMPLERS.register("eb")
@dataclass(frozen=True)
class EB(Greedy):
    """Table 6, "Entropy" as its authors run it: the most certain positions while Σ H − max H ≤ bound; at least K."""

    purpose: ClassVar[str] = "Writes as many tokens at once as an entropy budget allows. For the fewest steps."
    criteria: ClassVar[str] = "|A| with Σ_A H − max_A H ≤ bound"

    bound: float = option(0.1, "entropy the step may spend besides its largest (γ of the EB paper; .01 to 1)", low=0)

    @property
    def traits(self) -> Traits:
        return replace(super().traits, adaptive=True)

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return -z.p.entropy

    def count(self, z: State, phi: Tensor, order: Tensor, budget: Tensor) -> Tensor:
        entropy = -phi.gather(-1, order)
        spent = entropy.cumsum(-1) - entropy.cummax(-1).values
        affordable = leading((spent <= self.bound) & z.masked.gather(-1, order))
        return torch.maximum(affordable, budget)
