"""Uniform: positions in random order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.state import Candidates, State
from infogain.samplers.actions import Drawing, ordering, top
from infogain.samplers.base import SAMPLERS, Traits


@SAMPLERS.register("uniform")
@dataclass(frozen=True)
class Uniform(Drawing):
    """Eq. 6: φ = ε, ε ~ U(0, 1)."""

    purpose: ClassVar[str] = (
        "Writes in random order. With one token a step and --tau-token 1 it draws from the model's own distribution."
    )
    criteria: ClassVar[str] = "–"
    sensitivity: ClassVar[str] = "High"
    greedy: ClassVar[bool] = False

    @property
    def traits(self) -> Traits:
        return replace(super().traits, draws=True, draws_positions=True)

    def propose(self, z: State, budget: Tensor) -> Candidates:
        epsilon = noise.uniform(z.seed[:, None], noise.UNIFORM, z.step[:, None], z.column)
        chosen = top(ordering(z.masked, epsilon), budget) & z.masked
        return Candidates.grid(chosen[:, None], self.draw(z))
