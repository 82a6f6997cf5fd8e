"""Counts right answers and costs while the rows of a cell come in, and sums them up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from torch import Tensor

from infogain.evals.means import mean
from infogain.options import Plain
from infogain.studies.cell import Cell
from infogain.studies.independent import entropy_of, with_intervals
from infogain.zoo.tasks import Problem, load_task

COSTS = ("cumulative_entropy", "forwards", "token_forwards", "committed")
Judge = Callable[[Problem, str], tuple[bool, bool]]  # right, and reached in right steps


def judge_canvas(task: str) -> Judge:
    kind = load_task(task)

    def check(problem: Problem, text: str) -> tuple[bool, bool]:
        right = kind.check(problem, text)
        return right, right and kind.sound(problem, text)

    return check


class CellScores:
    """The scores of one cell. Rows may come in any order; each names its problem and the number of its seed."""

    def __init__(self, cell: Cell, judge: Judge) -> None:
        self.cell, self.judge = cell, judge
        self.right = [0] * cell.problems
        self.sound = [0] * cell.problems
        self.entropy = [0.0] * cell.problems  # summed over the seeds
        self.by_seed = [0] * len(cell.seeds)
        self.rows: dict[str, list[float]] = defaultdict(list)

    def check(self, problem: int, seed: int, posed: Problem, text: str, entropy: float) -> None:
        right, sound = self.judge(posed, text)
        self.right[problem] += right
        self.sound[problem] += sound
        self.by_seed[seed] += right
        self.entropy[problem] += entropy

    def add(self, name: str, values: Tensor) -> None:
        self.rows[name] += values.double().tolist()

    def numbers(self) -> Plain:
        texts = self.cell.problems * len(self.cell.seeds)
        entropy = entropy_of(self.cell, [total / len(self.cell.seeds) for total in self.entropy])
        found = {
            "accuracy": sum(self.right) / texts,
            "accuracy_by_seed": [hits / self.cell.problems for hits in self.by_seed],
            "sound": sum(self.sound) / texts,
            "entropy": entropy.value,
            "entropy_95": entropy.plain(),
            "hits": "".join(map(str, self.right)),
            "sound_hits": "".join(map(str, self.sound)),
            **{name: mean(values) for name, values in self.rows.items()},
        }
        return with_intervals(self.cell, found)
