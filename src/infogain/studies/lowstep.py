"""The smallest number of steps in which a sampler writes texts most of which are good: the paper's Table 7.

It is found by halving the gap between a number of steps that is too small and one that is enough. That alone would take
for granted that more steps do no harm, and they may: which steps write one token more changes with their number. So
the smaller numbers that halving passed over are tried after it, down to one of a coarse grid that is far too small.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from infogain.algorithm.schedule import Steps
from infogain.evals.intervals import Interval
from infogain.report.numbers import NONE
from infogain.report.plots import Figure, figure_legend, line, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, accuracy, tabulate
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.independent import interval
from infogain.studies.methods import PRESET, SEEDS, method_table, of_size, recipe
from infogain.studies.written import WrittenStudy, written_in

TAU = 0.4  # of tokens, and of positions where a sampler looks ahead
PAPER = {"entropy": 13, "confidence (top-1)": 12, "margin": 12, "info-gain": 8}  # Table 7, of 80 tokens
LOOKING_AHEAD = ("lookum", "info-gain")
LABELS = (*PAPER, "confidence (drawn)", "lookum", PRESET)
HALF = 0.5
FAR_TOO_FEW = 0.25  # good texts of a number of steps below which no smaller number is tried
GRID = (8, 16, 32, 64)  # steps that are tried first, in the full size


class Collapse(NamedTuple):
    """The smallest number of steps, of those tried, whose texts are good in more than half of all cases.

    low, high  it lies above the largest smaller number that certainly is not enough, and not above the smallest that
               certainly is, by the intervals of what was decoded
    """

    steps: int
    low: int
    high: int | None

    def show(self) -> str:
        return f"{self.steps} [{self.low}, {NONE if self.high is None else self.high}]"


class LowStepStudy(WrittenStudy):
    title = "How few steps will do"
    source = "App. E, Table 7"
    claim = (
        "The smallest number of steps for 80 tokens at which fewer than half of the texts are broken is 13 for "
        "Entropy, 12 for Confidence and Margin, 8 for Info-Gain."
    )
    figure_size = (9.0, 4.8)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 1), (10, 1), (500, 5))
        labels = of_size(size, ("entropy", "info-gain"), tuple(PAPER), LABELS)
        return [
            Point({"sampler": label, "steps": steps}, self.cell(label, steps, problems, SEEDS[:seeds]))
            for steps in of_size(size, (4,), (16, 32), GRID)
            for label in labels
        ]

    def cell(self, label: str, steps: int, problems: int, seeds: tuple[int, ...]) -> Cell:
        """A sampler with so many steps for the whole text, all of which is one block."""
        task = self.written.task
        asked = recipe(method_table(label, task), 1, TAU, TAU if label in LOOKING_AHEAD else None)
        return Cell(task, replace(asked, schedule=Steps(steps), block=0), problems, seeds)

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        """What is left to try of each sampler, in the full size."""
        each = by(rows, "sampler").values() if size == "full" else ()
        return [with_steps(own[0], steps) for own in each for steps in left_to_try(own)]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        written = written_in(rows)
        every = tabulate(
            f"{written.texts.capitalize()} that {written.right}",
            sorted(rows, key=lambda row: (row["sampler"], row["steps"])),
            {
                "sampler": lambda row: str(row["sampler"]),
                "steps": lambda row: str(row["steps"]),
                written.share: accuracy,
                "H̃": lambda row: interval(row, "entropy").show(2),
            },
        )
        return [collapse_table(rows), every]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        axes, written = figure.subplots(), written_in(rows)
        for label, own in by(rows, "sampler").items():
            found = sorted(own, key=lambda row: row["steps"])
            axes.plot(
                [row["steps"] for row in found], [100 * row["accuracy"] for row in found], marker="o", **line(label)
            )
        axes.axhline(100 * HALF, color="#555555", linewidth=0.8)
        tidy(axes, xlabel="steps for the whole text", ylabel=f"{written.texts} that {written.right}, %")
        figure_legend(figure, axes, 4)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = {label: each for label, each in collapses(rows).items() if each}
        own = found.pop("info-gain", None)
        others = [label for label in PAPER if label in found] if own else []
        return [fewer(f"Info-Gain needs fewer steps than {label}", own, found[label]) for label in others if own]

    def summary(self, rows: list[CellResult]) -> list[str]:
        written = written_in(rows)
        good = f"more than half of the {written.texts} {written.right}"
        return [f"{label}: {good} with {said_of_steps(own)}." for label, own in by(rows, "sampler").items()]


def said_of_steps(own: list[CellResult]) -> str:
    """How many steps a sampler needs, in words, and which larger numbers are too few again."""
    found = collapse(own)
    if found is None:
        return "no number of steps that was tried"
    again = sorted(row["steps"] for row in own if row["steps"] > found.steps and not enough(row))
    but = f", though not with {' or '.join(map(str, again))}" if again else ""
    return f"{found.show()} steps{but}, and with no smaller number that was tried"


def shown(found: Collapse | None) -> str:
    return found.show() if found else "no number of these"


def fewer(claim: str, one: Collapse, other: Collapse) -> Check:
    """Whether one needs fewer steps than the other; open where their ranges overlap."""
    high, other_high = (math.nan if each.high is None else each.high for each in (one, other))
    saved = Interval(other.steps - one.steps, other.low - high, other_high - one.low)
    return Check(claim, saved.above(), f"{saved.show(0)} fewer: {one.steps} against {other.steps}")


def enough(row: CellResult) -> bool:
    return float(row["accuracy"]) > HALF


def fewest(own: list[CellResult]) -> int | None:
    """The smallest number of steps that is enough, of those tried."""
    return min((row["steps"] for row in own if enough(row)), default=None)


def too_few(own: list[CellResult], good: int) -> list[int]:
    """Steps below a number that is enough, each of which is not."""
    return [row["steps"] for row in own if not enough(row) and row["steps"] < good]


def left_to_try(own: list[CellResult]) -> list[int]:
    """The middle of the gap below the fewest steps; once nothing lies in it, what halving passed over."""
    good = fewest(own)
    if good is None:
        return []
    bad = too_few(own, good)
    nearest, tried = max(bad, default=0), {row["steps"]: float(row["accuracy"]) for row in own}
    if good - nearest > 1:
        return [(nearest + good) // 2]
    floor = max((steps for steps in bad if steps in GRID and tried[steps] < FAR_TOO_FEW), default=0)
    return [steps for steps in range(floor + 1, good) if steps not in tried]


def with_steps(like: CellResult, steps: int) -> Point:
    """A cell of the same sampler, with another number of steps."""
    cell = replace(like.cell, recipe=replace(like.cell.recipe, schedule=Steps(steps)))
    return Point({**like.labels, "steps": steps}, cell)


def collapses(rows: list[CellResult]) -> dict[str, Collapse | None]:
    """What each sampler needs; None where no number of steps that was tried is enough."""
    return {label: collapse(own) for label, own in by(rows, "sampler").items()}


def collapse(own: list[CellResult]) -> Collapse | None:
    good = fewest(own)
    if good is None:
        return None
    surely_not = [row["steps"] for row in own if interval(row, "accuracy").above(HALF) is False]
    surely = [row["steps"] for row in own if interval(row, "accuracy").above(HALF)]
    below = max((steps for steps in surely_not if steps < good), default=0)
    return Collapse(good, below + 1, min(surely, default=None))


def collapse_table(rows: list[CellResult]) -> Table:
    """Table 7: ours beside the paper's."""
    lines = []
    for label, found in collapses(rows).items():
        own = pick(rows, sampler=label)
        most = max(own, key=lambda row: row["steps"])
        lines.append([label, shown(found), str(PAPER.get(label, NONE)), f"{accuracy(most)} at {most['steps']}"])
    texts = written_in(rows).texts
    title = f"The smallest number of steps, of those tried, at which more than half of the {texts} are good"
    return Table(["sampler", "steps", "paper: steps", "good with the most steps, %"], lines, 1, title)
