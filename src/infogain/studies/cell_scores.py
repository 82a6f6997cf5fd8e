"""Counts right answers and costs while the rows of a cell come in, and sums them up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from torch import Tensor

from infogain.evals.means import mean
from infogain.options import Plain
from infogain.studies.benchmark import Benchmark
from infogain.studies.cell import Cell
from infogain.studies.extras import NAMES, order_interval
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


def judge_chat(task: str) -> Judge:
    kind = load_task(task)
    return lambda problem, reply: (kind.check_chat(problem, reply),) * 2


def judge_question(benchmark: Benchmark) -> Judge:
    return lambda problem, reply: (benchmark.right(problem, reply),) * 2


class CellScores:
    """The scores of one cell. Rows may come in any order; each names its problem and the number of its seed."""

    def __init__(self, cell: Cell, judge: Judge) -> None:
        self.cell, self.judge = cell, judge
        self.right = [0] * cell.problems
        self.sound = [0] * cell.problems
        self.entropy = [0.0] * cell.problems  # summed over the seeds
        self.by_seed = [0] * len(cell.seeds)
        self.rows: dict[str, list[float]] = defaultdict(list)
        self.order: dict[str, list[float]] = defaultdict(lambda: [0.0] * cell.problems)  # summed over the seeds

    def check(self, problem: int, seed: int, posed: Problem, text: str, entropy: float) -> None:
        right, sound = self.judge(posed, text)
        self.right[problem] += right
        self.sound[problem] += sound
        self.by_seed[seed] += right
        self.entropy[problem] += entropy

    def add(self, name: str, values: Tensor, problems: Sequence[int]) -> None:
        """Take in a number of some rows, and the problem of each."""
        numbers = values.double().tolist()
        self.rows[name] += numbers
        for problem, number in zip(problems, numbers, strict=True) if name in NAMES else ():
            self.order[name][problem] += number

    def numbers(self) -> Plain:
        cell, seeds = self.cell, len(self.cell.seeds)
        texts = cell.problems * seeds
        entropy = entropy_of(cell, [total / seeds for total in self.entropy])
        orders = {
            name: order_interval(cell, name, [total / seeds for total in totals]) for name, totals in self.order.items()
        }
        found = {
            "accuracy": sum(self.right) / texts,
            "accuracy_by_seed": [hits / cell.problems for hits in self.by_seed],
            "sound": sum(self.sound) / texts,
            "entropy": entropy.value,
            "entropy_95": entropy.plain(),
            "hits": "".join(map(str, self.right)),
            "sound_hits": "".join(map(str, self.sound)),
            **{name: mean(values) for name, values in self.rows.items()},
            **{f"{name}_95": found.plain() for name, found in orders.items()},
        }
        return with_intervals(cell, found)
