"""What of a cell is independent, and the intervals that follow from it.

A unit is what could have come out otherwise on its own. Problems are drawn from a task one by one, so with a sampler
that draws, each is a unit, even where two have the same canvas: they are two draws of what the task poses. With a
sampler that does not draw, problems with the same canvas are one decode, however many there are: one unit. So at a
temperature of 0 the one-way task, which has a single canvas, tells of such a sampler one decode, right or wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from infogain.evals.intervals import Interval, Z, around, mean_interval, paired_bootstrap, share_interval, stored
from infogain.evals.numbers import mean
from infogain.options import Plain
from infogain.studies.cell import Cell, Row, posed

Units = Sequence[Sequence[int]]  # numbers of the problems in each


def units(*cells: Cell) -> Units:
    """Those of cells with the same problems: where one of them does not draw, canvases, and else problems."""
    if all(cell.recipe.sampler.draws for cell in cells):
        return [[number] for number in range(cells[0].problems)]
    return _by_canvas(cells[0].task, cells[0].problems, cells[0].split)


@lru_cache(maxsize=64)
def _by_canvas(task: str, problems: int, split: str) -> Units:
    found: dict[str, list[int]] = {}
    for number, problem in enumerate(posed(task, problems, split)):
        found.setdefault(problem.canvas, []).append(number)
    return list(found.values())


def within(values: Sequence[float], of: Units) -> list[float]:
    """The mean of each unit."""
    return [mean([values[number] for number in unit]) for unit in of]


def shares(row: Row) -> list[float]:
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


def paired(one: Row, other: Row) -> Interval:
    """How much more often one was right than the other on the same problems."""
    return paired_bootstrap(gaps(one, other))


def gaps(one: Row, other: Row) -> list[float]:
    """The share of right decodes of one in each unit, less that of the other."""
    apart = [a - b for a, b in zip(shares(one), shares(other), strict=True)]
    return within(apart, units(one.cell, other.cell))


def interval(row: Row, name: str) -> Interval:
    """A number of a finished cell with its interval."""
    return stored(row[name], row[f"{name}_95"])


def with_intervals(cell: Cell, numbers: Plain) -> Plain:
    """What is stored of a cell, with its intervals as they are defined now, whichever version stored it.

    Shares are counted again from each problem's hits. Of H̃ versions up to 0.1 stored half a normal interval.
    """
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
