"""Confidence: the most probable token first (MaskGIT, LLaDA)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import State
from infogain.errors import OptionError
from infogain.options import option
from infogain.samplers.actions import Greedy, certainty
from infogain.samplers.base import SAMPLERS

LEAST = 1e-20  # of a probability whose logarithm is taken
# (steps taken in the block, steps allotted to it) -> the share of tau_pos that is left
ANNEALED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "linear": lambda step, steps: (1 - (step + 1) / steps).clamp(min=0),
    # Π (1 − (i + 1) / steps) over the steps up to this one: each multiplies what the one before has left
    "compound": lambda step, steps: (
        steps.lgamma() - (steps - step - 1).clamp(min=0).lgamma() - (step + 1) * steps.log()
    ).exp(),
}


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
    anneal: str = option(
        "none",
        "rank by log p + noise, whose temperature tau_pos falls over the steps of a block: linear as in MaskGIT, "
        "compound as in MMaDA's program",
        choices=("none", *ANNEALED),
        implied=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.anneal != "none" and not self.tau_pos:
            raise OptionError(
                f"confidence: anneal={self.anneal!r} lets tau_pos fall; tau_pos must be above 0, got 0. Use 1 (MMaDA)."
            )

    @property
    def phi_draws(self) -> bool:
        return self.of == "drawn"

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        p = certainty(self.of, z.p, tokens[:, None])[:, 0]
        return p if self.anneal == "none" else p.clamp(min=LEAST).log()

    def temperature(self, z: State) -> float | Tensor:
        if self.anneal == "none":
            return self.tau_pos
        return self.tau_pos * ANNEALED[self.anneal](z.step.double(), z.steps_allotted.double())[:, None]
