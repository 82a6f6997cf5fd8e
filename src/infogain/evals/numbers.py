"""Means with their intervals, and correlations. Problems are independent; seeds of one problem are not."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z = 1.959964  # 95 % of a normal distribution


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def spread(values: Sequence[float]) -> float:
    """Standard deviation of a sample; 0 where there is one value only."""
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean, by the normal approximation; one value per problem."""
    return Z * spread(values) / math.sqrt(len(values)) if values else math.nan


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` independent trials: right at 0 and 1, too."""
    if not count:
        return 0.0, 1.0
    centre = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def interval(shares: Sequence[float]) -> tuple[float, float, float]:
    """The mean of the problems' shares and its 95 % interval.

    Normal, over the problems. Where all agree that has no width, and Wilson's, with one trial per problem, has.
    """
    share, half = mean(shares), half_width(shares)
    if half == 0:
        return share, *wilson(share, len(shares))
    return share, max(0.0, share - half), min(1.0, share + half)


def clustered(hits: Sequence[int], trials: int) -> tuple[float, float, float]:
    """Share of hits and its 95 % interval: of each problem, how many of its `trials` decodes were right."""
    return interval([count / trials for count in hits])


def pooled(errors: Sequence[float]) -> float:
    """Half-width of the mean of independent means."""
    return math.sqrt(math.fsum(error**2 for error in errors)) / len(errors) if errors else math.nan


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Where y = a + b·x fits best: a and b. Needs two different x."""
    mx, my = mean(x), mean(y)
    slope = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / math.fsum((a - mx) ** 2 for a in x)
    return my - slope * mx, slope


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Fig. 3b: Pearson's r; not a number where either never changes."""
    mx, my = mean(x), mean(y)
    along = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    size = math.sqrt(math.fsum((a - mx) ** 2 for a in x) * math.fsum((b - my) ** 2 for b in y))
    return along / size if size else math.nan
