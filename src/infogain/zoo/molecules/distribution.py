"""One-dimensional distributions as points with weights: means, quantiles, and how far two lie apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Distribution:
    values: Tensor  # ascending, [points]
    weights: Tensor  # of each, summing to 1, [points]

    @classmethod
    def of(cls, values: Sequence[float], weights: Sequence[float] | None = None) -> Distribution:
        """The distribution of a sample, or of points with these weights."""
        points = torch.tensor(values, dtype=torch.float64)
        each = torch.ones_like(points) if weights is None else torch.tensor(weights, dtype=torch.float64)
        order = points.argsort(stable=True)
        return cls(points[order], each[order] / each.sum())

    @property
    def mean(self) -> float:
        return float(self.values @ self.weights)

    def quantile(self, share: float) -> float:
        """The smallest value that at least this share does not exceed."""
        at = int(torch.searchsorted(self.weights.cumsum(0), share - 1e-12))
        return float(self.values[min(at, len(self.values) - 1)])

    def below(self, points: Tensor) -> Tensor:
        """The share of the distribution at or below each point."""
        shares = torch.cat([torch.zeros(1, dtype=torch.float64), self.weights.cumsum(0)])
        return shares[torch.searchsorted(self.values, points, right=True)]

    def distance(self, other: Distribution) -> float:
        """The 1-Wasserstein distance: ∫ |F(x) − G(x)| dx, in the unit of the values."""
        points = torch.cat([self.values, other.values]).sort().values
        apart = (self.below(points[:-1]) - other.below(points[:-1])).abs()
        return float(apart @ points.diff())

    def summary(self) -> dict[str, float]:
        return {"mean": self.mean, **{f"q{round(100 * share):02}": self.quantile(share) for share in QUANTILES}}


def compact(values: Sequence[float], points: int, digits: int) -> dict[str, list[float]]:
    """A sample as few points: whole numbers with their counts, others as so many quantiles of equal weight."""
    if all(float(value).is_integer() for value in values):
        counts = sorted(Counter(values).items())
        return {"values": [int(value) for value, _ in counts], "weights": [count for _, count in counts]}
    ordered = sorted(values)
    places = [int((i + 0.5) / points * len(ordered)) for i in range(points)]
    return {"values": [round(ordered[place], digits) for place in places], "weights": [1] * points}
