"""AR: left to right, as an autoregressive model would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import State
from infogain.samplers.actions import Greedy
from infogain.samplers.base import SAMPLERS


@SAMPLERS.register("ar")
@dataclass(frozen=True)
class AR(Greedy):
    """Sec. 3.1, the autoregressive baseline: φ = −ℓ."""

    purpose: ClassVar[str] = (
        "Writes from left to right, as an autoregressive model does: a baseline that selects for nothing."
    )
    criteria: ClassVar[str] = "−Σ ℓ"
    greedy: ClassVar[bool] = False

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return -z.column.to(z.cost)
