"""Info-Gain with a bypass rate that is given and not found, for timing.

Random weights give distributions so flat that no position ever passes γ. To time the loop at the rate a
trained model shows, a row's step is bypassed with that probability; all else is Info-Gain's own.
Results are stored under the name of this module.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.state import State
from infogain.options import option
from infogain.samplers import InfoGain

BYPASS = 100  # a noise stream of its own, far from those of the loop


@dataclass(frozen=True)
class ForcedBypass(InfoGain):
    """Every position of a bypassed row is pinned: its N candidates are one, as they are under a real bypass."""

    rate: float = option(0.9, "probability that a row's step is bypassed", low=0, high=1)

    def pinned(self, z: State, sure: Tensor) -> Tensor:  # noqa: ARG002  # how sure a position is does not count here
        bypassed = noise.uniform(z.seed, BYPASS, z.start, z.step) < self.rate  # [R]
        return z.masked & bypassed[:, None]
