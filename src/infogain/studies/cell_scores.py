"""What is counted while a cell's rows come in, and the numbers it comes to."""

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
Check = Callable[[Problem, str], tuple[bool, bool]]  # right, and reached in right steps


def check_canvas(task: str) -> Check:
    kind = load_task(task)

    def check(problem: Problem, text: str) -> tuple[bool, bool]:
        right = kind.check(problem, text)
        return right, right and kind.sound(problem, text)

    return check


class Tally:
    """Rows may come in any order; each names its problem and the place of its seed."""

    def __init__(self, cell: Cell, check: Check) -> None:
        self.cell, self.judge = cell, check
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
