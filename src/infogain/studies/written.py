"""What models write in studies of texts: tales and molecules in the zoo, stories by a checkpoint outside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infogain.studies.abstract_study import Study
from infogain.studies.benchmark import Benchmark
from infogain.studies.cell import CellResult, Point
from infogain.studies.subject import Subject


@dataclass(frozen=True)
class Written:
    """A kind of text, its task and its words."""

    task: str
    model: str  # of the zoo that writes it
    texts: str  # what its texts are called
    right: str  # what is said of good ones
    share: str  # the name of a column that says how many are good
    group: str  # what several texts have in common


TALES = Written("tale", "zoo:tiny-tales", "tales", "hold together", "consistent %", "from one beginning")
MOLECULES = Written("molecule", "zoo:tiny-molecule", "molecules", "are valid", "valid %", "of one batch")
STORIES = Written("stories", "", "stories", "are in order", "in order %", "of one prompt")
WRITTEN = {kind.task: kind for kind in (TALES, MOLECULES, STORIES)}


class WrittenStudy(Study):
    """A study of one kind of text. A checkpoint outside the zoo is asked for stories in place of tales."""

    def __init__(self, name: str, written: Written) -> None:
        self.name, self.written, self.model = name, written, written.model

    def points_for(self, size: str, subject: Subject) -> list[Point]:
        if subject.is_zoo or self.written != TALES:
            return self.points(size)
        return [as_stories(point, subject.benchmark(STORIES.task)) for point in self.points(size)]


def as_stories(point: Point, benchmark: Benchmark) -> Point:
    """A point of tales that asks for stories instead, with as many prompts as there are."""
    problems = min(point.cell.problems, len(benchmark.items))
    cell = replace(point.cell, task=STORIES.task, problems=problems, data=benchmark.fingerprint)
    return Point({**point.labels, "task": STORIES.task}, cell)


def written_in(rows: Sequence[CellResult]) -> Written:
    """The kind of text that these rows are of."""
    return WRITTEN[rows[0].cell.task]
