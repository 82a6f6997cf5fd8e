"""Tells which decodes of a cell are independent, and the intervals that follow from that.

A unit is what could have come out otherwise on its own. Problems are drawn from a task one by one, so with a sampler
that draws, each is a unit, even where two have the same canvas: they are two draws of what the task poses. With a
sampler that does not draw, problems with the same canvas are one decode, however many there are: one unit. So at a
temperature of 0 the one-way task, which has a single canvas, tells of such a sampler one decode, right or wrong.

The first step sees nothing but the canvas. Where a sampler does not draw its positions, whatever it draws besides, the
positions it begins with are one choice per canvas. So they are where all decodes begin alike: of a sampler that draws
them, the canvas may have decided (a position that the bypass fixes), and nothing tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from infogain.evals.intervals import (
    Interval,
    Z,
    apart,
    around,
    mean_interval,
    paired_bootstrap,
    share_interval,
    stored,
    wilson,
)
from infogain.evals.means import mean
from infogain.options import Plain
from infogain.studies.cell import BENCHMARKS, Cell, CellResult
from infogain.zoo.tasks import load_task

SHARES = ("accuracy", "distinct")  # of images
Units = Sequence[Sequence[int]]  # numbers of the problems in each


def units(*cells: Cell) -> Units:
    """The units of cells with the same problems: canvases where one of the cells does not draw, else problems."""
    if all(cell.recipe.sampler.traits.draws for cell in cells):
        return [[number] for number in range(cells[0].problems)]
    return _by_canvas(cells[0].task, cells[0].problems, cells[0].split)


@lru_cache(maxsize=64)
def _by_canvas(task: str, problems: int, split: str) -> Units:
    if task in BENCHMARKS:  # no question is there twice
        return [[number] for number in range(problems)]
    found: dict[str, list[int]] = {}
    for number, problem in enumerate(load_task(task).problems(problems, split)):
        found.setdefault(problem.canvas, []).append(number)
    return list(found.values())


def openings(cell: Cell, share: float) -> int:
    """How many first steps there are, of which this share was of some kind."""
    if cell.recipe.sampler.traits.draws_positions and 0 < share < 1:
        return cell.problems
    return len(_by_canvas(cell.task, cell.problems, cell.split))


def within(values: Sequence[float], of: Units) -> list[float]:
    """The mean of each unit."""
    return [mean([values[number] for number in unit]) for unit in of]


def shares(row: CellResult) -> list[float]:
    """How many of each problem's decodes were right."""
    return _shares(row.cell, row["hits"])


def _shares(cell: Cell, hits: str) -> list[float]:
    return [int(count) / len(cell.seeds) for count in hits]


def share_of(cell: Cell, hits: str) -> Interval:
    of = units(cell)
    return share_interval(within(_shares(cell, hits), of), len(of) * len(cell.seeds))


def entropy_of(cell: Cell, values: Sequence[float]) -> Interval:
    """Mean H̃ from that of each problem."""
    return mean_interval(within(values, units(cell)))


def paired(one: CellResult, other: CellResult) -> Interval:
    """How much more often one was right than the other on the same problems."""
    return share_difference(gaps(one, other))


def share_difference(*tasks: Sequence[float]) -> Interval:
    """The mean of shares' differences, in tenths of a per cent, as it is shown."""
    return paired_bootstrap(*tasks, most=1.0).rounded(3)


def saved_entropy(one: Interval, other: Interval) -> Interval:
    """How much less H̃ the other has, in hundredths, as it is shown."""
    return apart(one, other).rounded(2)


def opening(cell: Cell, share: float) -> Interval:
    """The share of decodes whose first step was of some kind, in tenths of a per cent, as it is shown."""
    return wilson(share, openings(cell, share)).rounded(3)


def gaps(one: CellResult, other: CellResult) -> list[float]:
    """The share of right decodes of one in each unit, less that of the other."""
    apart = [a - b for a, b in zip(shares(one), shares(other), strict=True)]
    return within(apart, units(one.cell, other.cell))


def interval(row: CellResult, name: str) -> Interval:
    """A number of a finished cell with its interval."""
    return stored(row[name], row[f"{name}_95"])


def over_seeds(by_seed: Mapping[str, Sequence[float]]) -> Plain:
    """Intervals of numbers of which each seed has one, over the seeds; none of these numbers is below 0."""
    intervals = {name: mean_interval(values) for name, values in by_seed.items()}
    shown = {name: each.as_share() if name in SHARES else each.at_least_zero() for name, each in intervals.items()}
    return {f"{name}_95": each.plain() for name, each in shown.items()}


def with_intervals(cell: Cell, numbers: Plain) -> Plain:
    """The stored numbers of a cell with their intervals as they are defined now, whichever version stored them.

    Shares are counted again from each problem's hits. Of H̃ versions up to 0.1 stored half a normal interval.
    """
    if "by_seed" in numbers:
        return {**numbers, **over_seeds(numbers["by_seed"])}
    if "hits" not in numbers:
        return numbers
    sound = numbers.get("sound_hits", numbers["hits"] if numbers["sound"] == numbers["accuracy"] else None)
    independent, spread = len(units(cell)), numbers["entropy_95"]
    if isinstance(spread, float | int):
        spread = around(numbers["entropy"], spread / Z, independent).plain()
    return {
        **numbers,
        "independent": independent,
        "accuracy_95": share_of(cell, numbers["hits"]).plain(),
        "sound_95": sound and share_of(cell, sound).plain(),
        "entropy_95": spread,
    }
