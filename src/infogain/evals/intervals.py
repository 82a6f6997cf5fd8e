"""95 % intervals: of shares, of means, of paired differences, and of what is made of several.

Problems are independent, the texts of one problem are not: whatever is counted here is first averaged within each
problem, and then varies over problems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.evals.means import mean, pearson
from infogain.report.numbers import bounds, number

Z = 1.959964  # 97.5 % of a normal distribution lie below
FEW = 5  # problems that differ from the rest: of fewer, their variance says nothing
RESAMPLES = 10_000
PIECE = 2**21  # numbers drawn at once
STREAM = 100  # of the noise, for no other purpose


class Interval(NamedTuple):
    """A value and the 95 % interval around it; bounds that nothing tells, as of a single decode, are NaN."""

    value: float
    low: float
    high: float

    def show(self, digits: int = 1, scale: float = 1.0, signed: bool = False) -> str:
        """The value and both ends as text: `97.0 [84.7, 99.5]`."""
        return f"{number(self.value, digits, scale, signed)} {self.bounds(digits, scale, signed)}"

    def bounds(self, digits: int = 1, scale: float = 1.0, signed: bool = False) -> str:
        """Both ends as text: `[84.7, 99.5]`."""
        return bounds(self.low, self.high, digits, scale, signed)

    def plain(self) -> list[float] | None:
        """Both ends for JSON, which has no NaN: None where they are not known."""
        return None if math.isnan(self.low + self.high) else [self.low, self.high]

    def above(self, level: float = 0.0) -> bool | None:
        """Whether the value lies above a level; None where the interval holds it or is unknown: that is not decided."""
        return True if self.low > level else False if self.high < level else None

    def below(self, level: float = 0.0) -> bool | None:
        above = self.above(level)
        return None if above is None else not above

    def as_share(self) -> Interval:
        """The interval of a share, whose bounds lie within 0 and 1; those that are not known stay so."""
        return Interval(self.value, max(self.low, 0.0), min(self.high, 1.0))

    def at_least_zero(self) -> Interval:
        """The interval of what cannot be below 0, such as a distance; bounds that are not known stay so."""
        return Interval(self.value, max(self.low, 0.0), self.high)

    def rounded(self, digits: int) -> Interval:
        """The interval rounded to the digits that are shown, for a verdict that agrees with them."""
        return Interval(*(round(x, digits) for x in self))


def stored(value: float, found: Sequence[float] | None) -> Interval:
    """A value and its bounds as JSON holds them."""
    return Interval(value, *(found or (math.nan, math.nan)))


def share_interval(shares: Sequence[float], texts: int) -> Interval:
    """The mean of the problems' shares of right texts, `texts` in all: Wilson's interval with n_eff trials."""
    if not shares:
        return Interval(math.nan, math.nan, math.nan)
    found = share_intervals(torch.tensor(shares, dtype=torch.float64), texts)
    return Interval(*(float(x) for x in found))


def share_intervals(shares: Tensor, texts: int) -> tuple[Tensor, Tensor, Tensor]:
    """Wilson's interval around the mean p of the problems' shares, as if of n_eff independent trials. [..., P] -> [...]

    n_eff = p(1 − p)/v, v = s²/P the variance of the mean over P problems, never less than P nor more than the number of
    texts: texts of a problem that always agree are one trial, unrelated ones as many as they are. Two rules for what
    few problems cannot tell, each needed for a coverage of .93 (tests/laws/test_intervals.py):

    - p and s² of n_eff are those of the problems and four more, two right throughout and two wrong throughout: a
      problem that always fails may not have come up yet. Without them coverage falls to .79.
    - Where fewer than five problems differ from the most common share, n_eff is P, and the half-width is Agresti and
      Coull's (the same centre, never narrower): Wilson's alone covers .91 of 50 problems at an accuracy of .99.
    """
    count = shares.shape[-1]
    p, p_more = shares.mean(-1), (shares.sum(-1) + 2) / (count + 4)
    squares = ((shares - p_more[..., None]) ** 2).sum(-1) + 2 * p_more**2 + 2 * (1 - p_more) ** 2
    variance = squares / (count + 3) / count
    few = (shares != shares.mode(-1).values[..., None]).sum(-1) < FEW
    estimated = (p_more * (1 - p_more) / variance).clamp(count, max(count, texts))
    n = torch.where(few, float(count), estimated)
    centre, half = _wilson(p, n)
    half = torch.where(few, Z * (centre * (1 - centre) / (n + Z**2)).sqrt(), half)
    return p, (centre - half).clamp(min=0), (centre + half).clamp(max=1)


def wilson(share: float, count: int) -> Interval:
    """Wilson's interval of a share of `count` independent trials."""
    centre, half = (float(x) for x in _wilson(*torch.tensor([share, count], dtype=torch.float64)))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def _wilson(p: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    """Centre and half-width of Wilson's interval."""
    scale = 1 + Z**2 / n
    return (p + Z**2 / (2 * n)) / scale, Z / scale * (p * (1 - p) / n + Z**2 / (4 * n**2)).sqrt()


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of one value per problem, with Student's interval; of a single value nothing tells how far it varies."""
    if len(values) < 2:
        return Interval(mean(values), math.nan, math.nan)
    centre = mean(values)
    error = math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1) / len(values))
    return around(centre, error, len(values))


def around(centre: float, error: float, count: int) -> Interval:
    """Student's interval from the standard error of a mean of `count` values."""
    half = student(count - 1) * error if count > 1 else math.nan
    return Interval(centre, centre - half, centre + half)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, else Fisher's expansion (to .2 %)."""
    if freedom < 3:
        return {1: 12.7062, 2: 4.30265}[freedom]
    terms = (
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92160,
    )
    return Z + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))


def paired_bootstrap(*tasks: Sequence[float], most: float | None = None) -> Interval:
    """The mean of problems' differences, and of several tasks the mean of those means: problems are drawn anew.

    Each task's problems are drawn with replacement among themselves and two more, one better by `most` and one worse:
    problems that differ may not have come up yet, and where few did, the others alone would give an interval without
    width. `most` is what a problem can differ by, 1 for shares; unset, the largest difference that there is. A task of
    one problem tells nothing, nor do differences without a scale.
    """
    value = mean([mean(gaps) for gaps in tasks])
    scale = max((abs(gap) for gaps in tasks for gap in gaps), default=0.0) if most is None else most
    if not scale or min(map(len, tasks), default=0) < 2:
        return Interval(value, math.nan, math.nan)
    means = torch.stack([resampled_means(gaps, scale, task) for task, gaps in enumerate(tasks)]).mean(0)
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return Interval(value, min(low, value), max(high, value))


def resampled_means(values: Sequence[float], most: float, task: int) -> Tensor:
    found, size = torch.tensor([*values, most, -most], dtype=torch.float64), len(values)
    per_part = max(1, PIECE // size)
    drawn = (_drawn(task, size, first, min(first + per_part, RESAMPLES)) for first in range(0, RESAMPLES, per_part))
    return torch.cat([found.index_select(0, places.flatten()).view_as(places).mean(-1) for places in drawn])


def resampled_counts(size: int) -> Iterator[Tensor]:
    """How often each of `size` problems and two more is drawn, a row per resample, in parts. [S, size + 2]

    The two, which come last, are for what may not have come up yet, as in `paired_bootstrap`.
    """
    per_part = max(1, PIECE // size)
    for first in range(0, RESAMPLES, per_part):
        places = _drawn(0, size, first, min(first + per_part, RESAMPLES)).long()
        yield torch.zeros(len(places), size + 2, dtype=torch.float64).scatter_add(
            1, places, torch.ones_like(places, dtype=torch.float64)
        )


@lru_cache(maxsize=16)
def _drawn(task: int, size: int, first: int, last: int) -> Tensor:
    """Which of size + 2 problems the resamples from `first` to `last` draw, `size` each; remembered, for it is slow."""
    u = noise.uniform(torch.tensor(task), STREAM, torch.arange(first, last)[:, None], torch.arange(size))
    return (u * (size + 2)).int()


def average(parts: Sequence[Interval]) -> Interval:
    """The mean of independent values: their distances to each bound add up as squares (Zou and Donner)."""
    below, above = (math.hypot(*(part.value - part[side] for part in parts)) / len(parts) for side in (1, 2))
    value = mean([part.value for part in parts])
    return Interval(value, value - below, value + above)


def apart(one: Interval, other: Interval) -> Interval:
    """One value less another that is taken for independent; of the same problems the true interval is narrower."""
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    return Interval(value, value - below, value + math.hypot(one.high - one.value, other.value - other.low))


def ratio(one: Interval, other: Interval) -> Interval:
    """One positive value over another that is taken for independent, by the relative widths of both."""
    value = one.value / other.value
    width = math.hypot((one.high - one.value) / one.value, (other.high - other.value) / other.value)
    return Interval(value, value * math.exp(-width), value * math.exp(width))


def correlation(x: Sequence[float], y: Sequence[float]) -> Interval:
    """Pearson's r, with Fisher's interval."""
    r = pearson(x, y)
    if len(x) < 4 or not abs(r) < 1:
        return Interval(r, math.nan, math.nan)
    half = Z / math.sqrt(len(x) - 3)
    return Interval(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))
