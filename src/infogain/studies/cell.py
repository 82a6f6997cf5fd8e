"""A cell: one task decoded with one recipe from several seeds. Studies are lists of cells, and share them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from infogain.errors import InputError
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.zoo.tasks import ALL_TASKS, Problem, load_task

VERSION = 2  # of what a cell means; a change makes all that is cached stale
MOST_SEEDS = 9  # right answers per problem are kept as one digit
BENCHMARKS = ("gsm8k", "stories")  # tasks that checkpoints outside the zoo are asked as `infogain eval` asks them
IMAGES = "images"  # the kind of cells that images are decoded for
FROM_DATA = ("gsm8k",)  # those that --data is for; the prompts of stories come with the package


@dataclass(frozen=True)
class Cell:
    """What to decode, and what to store of it."""

    # of the zoo, or a benchmark; for kind "proposition" also a toy, as "toy:one-way"; for "bench" a shape, see speed.py
    # (and "image" for "images")
    task: str
    recipe: Recipe
    problems: int
    seeds: tuple[int, ...] = (0,)
    split: str = "test"
    # what to watch besides: "path" of H̃, "scores" (J of what was kept), "repetition" of texts, "chemistry" of molecules
    # ("pictures": some images)
    keep: tuple[str, ...] = ()
    # or "diversity": each problem `draws` times from the first seed, see diversity.py, "trace": every step of the last
    # problem, "proposition": E[J] counted out, "bench": timed on a shape, "images": so many from each seed
    kind: str = "decode"
    draws: int = 1
    data: str = ""  # fingerprint of a benchmark's items, wherever they lie; problems of the zoo are drawn and have none

    def __post_init__(self) -> None:
        if not 1 <= len(self.seeds) <= MOST_SEEDS:
            raise InputError(f"a cell needs 1 to {MOST_SEEDS} seeds; got {len(self.seeds)}.")

    @property
    def alone(self) -> bool:
        """Whether nothing may run beside it, because its time counts."""
        return self.kind == "bench"

    def plain(self) -> Plain:
        table = {**vars(self), "recipe": self.recipe.plain(), "seeds": list(self.seeds), "keep": list(self.keep)}
        return {name: value for name, value in table.items() if name != "data" or value}

    def key(self, fingerprint: str) -> str:
        """A hash of everything that decides the numbers."""
        version = ALL_TASKS[self.task].version if self.task in ALL_TASKS else 1
        parts = [VERSION, fingerprint, self.plain(), *([version] if version > 1 else [])]
        text = json.dumps(parts, sort_keys=True)
        return blake2b(text.encode(), digest_size=12).hexdigest()

    def load_problems(self) -> list[Problem]:
        """The problems to decode; where diversity is measured, those with more than one right answer."""
        if self.kind != "diversity":
            return load_task(self.task).problems(self.problems, self.split)
        task = load_task(self.task)
        drawn = task.problems(2 * self.problems + 10, self.split)  # nearly all have
        found = [problem for problem in drawn if task.several(problem)][: self.problems]
        if len(found) < self.problems:
            raise InputError(
                f"diversity needs {self.problems} problems with more than one right answer; {self.task} has "
                f"{len(found)} among {len(drawn)}. Ask for fewer, or for another task."
            )
        return found


@dataclass(frozen=True)
class Point:
    """A cell and what a study calls it, such as its task and K."""

    labels: dict[str, Any]
    cell: Cell


@dataclass(frozen=True)
class CellResult:
    """A cell that was decoded: its labels in a study, and its numbers. `row["K"]` is either."""

    labels: dict[str, Any]
    cell: Cell
    numbers: Plain

    def __getitem__(self, name: str) -> Any:
        return self.labels[name] if name in self.labels else self.numbers[name]

    def plain(self) -> Plain:
        return {"labels": self.labels, "cell": self.cell.plain(), "numbers": self.numbers}


def pick(rows: list[CellResult], **labels: Any) -> list[CellResult]:
    """The rows that have these labels."""
    return [row for row in rows if all(row.labels.get(name) == value for name, value in labels.items())]


def by(rows: Iterable[CellResult], label: str) -> dict[Any, list[CellResult]]:
    """The rows by their value of a label, such as `task`, in the order in which the values first come."""
    found: dict[Any, list[CellResult]] = {}
    for row in rows:
        found.setdefault(row.labels.get(label), []).append(row)
    return found
