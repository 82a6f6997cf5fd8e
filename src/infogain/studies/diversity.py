"""Counts different right answers: quality and diversity where each problem is decoded many times.

A group is what was decoded many times: one prompt, or, of a task with a single canvas, one batch of draws. Its
diversity is the number of different right texts among its draws, divided by the draws. It depends on how many draws
there are, so their number stands beside it. Intervals are over groups, never over draws that are drawn again: that
would make repetitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

from infogain.evals.intervals import Interval, mean_interval, share_interval, wilson
from infogain.evals.means import mean
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.studies.cell import Cell, CellResult
from infogain.studies.cell_scores import Judge
from infogain.studies.methods import of_size
from infogain.zoo.tasks import ALL_TASKS, TASKS, Problem

T = TypeVar("T")
MANY = [name for name, task in TASKS.items() if task.many]  # tasks whose problems have more than one right answer
ALONE = [name for name, task in ALL_TASKS.items() if task.unconditional]  # those with a single canvas
# Seeds of a task with a single canvas: all that tells what a setting was chosen by from what it is tested on.
DRAWN_FROM = {"validation": (0,), "test": (1,)}


def diversity_cell(task: str, recipe: Recipe, size: str, split: str = "test") -> Cell:
    """A cell that measures diversity: batches of draws of a task with a single canvas, draws of prompts of others."""
    batches: tuple[int, int] = of_size(size, (2, 2), (2, 30), (5, 300))
    prompts: tuple[int, int] = of_size(size, (2, 2), (10, 6), (50, 32))
    if task in ALONE:
        groups, draws = batches
        return Cell(task, recipe, groups, DRAWN_FROM[split], split, kind="diversity", draws=draws)
    groups, draws = prompts
    return Cell(task, recipe, groups, split=split, kind="diversity", draws=draws)


class DiversityScores:
    """The scores of one cell. Rows may come in any order; each names its group."""

    def __init__(self, cell: Cell, judge: Judge, answer_in: Callable[[str], str] = str) -> None:
        self.cell, self.judge, self.answer_in = cell, judge, answer_in
        self.right = [0] * cell.problems
        self.texts: list[set[str]] = [set() for _ in range(cell.problems)]  # the different right answers of each group
        self.all_texts: list[set[str]] = [set() for _ in range(cell.problems)]  # the different answers, right or wrong
        self.entropy = [0.0] * cell.problems
        self.rows: dict[str, list[float]] = defaultdict(list)

    def check(self, group: int, posed: Problem, text: str, entropy: float) -> None:
        answer = self.answer_in(text)
        self.all_texts[group].add(answer)
        if self.judge(posed, text)[0]:
            self.right[group] += 1
            self.texts[group].add(answer)
        self.entropy[group] += entropy

    def add(self, name: str, values: Tensor) -> None:
        self.rows[name] += values.double().tolist()

    def numbers(self) -> Plain:
        different, draws = [len(texts) for texts in self.texts], self.cell.draws
        right = self._right()
        distinct = mean_interval([count / draws for count in different]).as_share()
        entropy = mean_interval([total / draws for total in self.entropy])
        any_text = mean_interval([len(texts) / draws for texts in self.all_texts]).as_share()
        return {
            "right_by_group": self.right,
            "distinct_by_group": different,
            "accuracy": right.value,
            "accuracy_95": right.plain(),
            "distinct": distinct.value,
            "distinct_95": distinct.plain(),
            "different": any_text.value,
            "different_95": any_text.plain(),
            "entropy": entropy.value,
            "entropy_95": entropy.plain(),
            **{name: mean(values) for name, values in self.rows.items()},
        }

    def _right(self) -> Interval:
        """The share of right draws: of a single canvas each draw is on its own, else those of a prompt are alike."""
        draws = self.cell.draws
        if self.cell.task in ALONE:
            return wilson(sum(self.right) / draws / len(self.right), draws * len(self.right))
        return share_interval([count / draws for count in self.right], len(self.right) * draws)


def drawn(cell: Cell) -> str:
    """How a cell was drawn, for a title: `5 batches of 300 draws`."""
    what = "batches" if cell.task in ALONE else "prompts"
    return f"{cell.problems} {what} of {cell.draws} draws"


def more_distinct(one: CellResult, other: CellResult) -> Interval:
    """How many more different right answers per draw one has than the other, group by group."""
    pairs = zip(one["distinct_by_group"], other["distinct_by_group"], strict=True)
    return mean_interval([(a - b) / one.cell.draws for a, b in pairs]).rounded(3)


def on_frontier(found: list[T], place: Callable[[T], tuple[float, float]]) -> list[T]:
    """Those that no other beats: is better in quality or diversity, and worse in neither. `place` gives both."""
    return [one for one in found if not any(_beats(place(other), place(one)) for other in found)]


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


def right_and_different(row: CellResult) -> tuple[float, float]:
    """The place of a cell on the plane of quality and diversity."""
    return row["accuracy"], row["distinct"]
