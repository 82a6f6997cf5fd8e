"""Means, lines and correlations; their intervals are in intervals.py."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The a and b of the line y = a + b·x that fits best. Needs two different x."""
    mx, my = mean(x), mean(y)
    slope = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / math.fsum((a - mx) ** 2 for a in x)
    return my - slope * mx, slope


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Fig. 3b: Pearson's r; not a number where either never changes."""
    mx, my = mean(x), mean(y)
    along = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    size = math.sqrt(math.fsum((a - mx) ** 2 for a in x) * math.fsum((b - my) ** 2 for b in y))
    return along / size if size else math.nan
