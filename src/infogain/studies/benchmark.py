"""A benchmark's items as problems of cells, for checkpoints outside the zoo."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from infogain.errors import InputError
from infogain.evals.evaluate import pose
from infogain.evals.identity import hash_of
from infogain.evals.task import Item
from infogain.evals.tasks import load_task
from infogain.studies.cell import FROM_DATA, Point
from infogain.text.prompts import Job
from infogain.text.text_model import TextModel
from infogain.zoo.tasks import Problem


class Benchmark:
    """A benchmark as its evaluation asks it: a problem's canvas is the question, its solution the right answer.

    data  a folder or file that has it; unset: the hub, or what comes with the package
    """

    def __init__(self, name: str, data: Path | None) -> None:
        self.task = load_task(name)
        _, self.items = self.task.items(data)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all items, wherever they were read."""
        return hash_of([vars(item) for item in self.items])

    def problems(self, count: int) -> list[Problem]:
        """The first items."""
        return [Problem(item.id, item.question, item.gold) for item in self.items[:count]]

    def job(self, model: TextModel, problems: Sequence[Problem]) -> tuple[Job, tuple[str, ...]]:
        """The rows that ask these problems as the task's own protocol says, and the strings that end a text."""
        protocol = self.task.protocol(model.tokenizer)
        items = [_item(problem) for problem in problems]
        stops = self.task.stops if protocol.style == "plain" else ()
        return pose(self.task, model, items, self.task.free_examples(self.items), protocol), stops

    def right(self, problem: Problem, text: str) -> bool:
        return self.task.score(_item(problem), text).right is True


def _item(problem: Problem) -> Item:
    return Item(problem.identity, problem.canvas, problem.solution)


def check_data(data: Path | None, points: Sequence[Point]) -> None:
    """Refuse a benchmark's folder or file that none of these cells reads."""
    if data is not None and not any(point.cell.task in FROM_DATA for point in points):
        raise InputError(
            f"--data is for cells on {', '.join(FROM_DATA)}: study utility has some for a checkpoint outside the zoo. "
            "None is asked for. Drop it."
        )
