"""What counts on a task: right answers, or, where there is a single canvas, different right answers per draw.

On a task with a single canvas a sampler may be right in every draw with one text, so being right says little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infogain.evals import intervals
from infogain.evals.intervals import Interval
from infogain.report.numbers import NONE
from infogain.report.tables import Table
from infogain.studies.cell import Cell, CellResult, by, pick
from infogain.studies.diversity import ALONE, diversity_cell, more_distinct
from infogain.studies.independent import interval, paired
from infogain.studies.methods import SEEDS, method_cell, method_recipe
from infogain.zoo.tasks import TASKS

DIFFERENT = {"oneway": "oneway (different)"}  # columns that do not hold right answers


def measured(row: CellResult) -> Interval:
    """What counts on the cell's task."""
    return interval(row, "distinct" if row.cell.task in ALONE else "accuracy")


def lead(one: CellResult, other: CellResult) -> Interval:
    """How much more one has of what counts, problem by problem or batch by batch."""
    return (more_distinct if one.cell.task in ALONE else paired)(one, other)


def measuring_cell(label: str, task: str, k: int, tau: float, size: str, **counts: Any) -> Cell:
    """The test cell that says what counts of a named method on a task."""
    if task in ALONE:
        return diversity_cell(task, method_recipe(label, task, k, tau), size)
    return method_cell(label, task, k, tau, counts["problems"], SEEDS[: counts["seeds"]])


def by_width(tasks: Sequence[str]) -> list[str]:
    """Tasks, the dearest last."""
    return sorted(tasks, key=lambda name: TASKS[name].width)


def tasks_of(rows: Sequence[CellResult]) -> list[str]:
    return [task for task in TASKS if any(row["task"] == task for row in rows)]


def mean_measured(rows: list[CellResult], sampler: str, name: str = "") -> Interval | None:
    """A sampler's mean over the tasks of what counts, or of a number by its name; None unless every task is there."""
    own = pick(rows, sampler=sampler)
    if not own or len(own) < len(tasks_of(rows)):
        return None
    return intervals.average([interval(row, name) if name else measured(row) for row in own])


def mean_lead(rows: list[CellResult], one: str, other: str) -> Interval:
    """How much more of what counts one sampler has than another, mean over the tasks; unknown unless both have all."""
    if not (mean_measured(rows, one) and mean_measured(rows, other)):
        return Interval(math.nan, math.nan, math.nan)
    pairs = [[pick(rows, sampler=name, task=task)[0] for name in (one, other)] for task in tasks_of(rows)]
    return intervals.average([lead(*pair) for pair in pairs]).rounded(3)


def by_task(title: str, rows: list[CellResult]) -> Table:
    """What counts, in per cent: a line per sampler, a column per task, and the mean of both it and H̃."""
    tasks, lines = tasks_of(rows), []
    for label in by(rows, "sampler"):
        cells = [pick(rows, sampler=label, task=task) for task in tasks]
        found, cost = mean_measured(rows, label), mean_measured(rows, label, "entropy")
        last = [found.show(scale=100), f"{cost.value:.2f}"] if found and cost else [NONE, NONE]
        lines.append([label, *(measured(cell[0]).show(scale=100) if cell else NONE for cell in cells), *last])
    return Table(["sampler", *map(column, tasks), "average", "mean H̃"], lines, title=title)


def column(task: str) -> str:
    """What a table calls a task's column."""
    return DIFFERENT.get(task, task)
