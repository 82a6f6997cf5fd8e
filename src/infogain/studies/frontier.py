"""Quality beside diversity: how often samplers are right, and how many different right answers they find."""

from __future__ import annotations

from typing import NamedTuple

from infogain.evals import intervals
from infogain.evals.intervals import Interval
from infogain.evals.means import mean
from infogain.report.numbers import grouped, percent
from infogain.report.plots import Axes, Figure, annotate_apart, figure_legend, tidy
from infogain.report.plots import spot as style
from infogain.report.tables import Table
from infogain.studies.abstract_study import Columns, Study, accuracy, tabulate
from infogain.studies.cell import CellResult, Point, by, pick
from infogain.studies.diversity import MANY, diversity_cell, drawn, on_frontier, right_and_different
from infogain.studies.independent import interval
from infogain.studies.methods import GREEDY, PRESET, TAU, method_recipe, of_size

LABELS = (
    *("uniform", "ar", *GREEDY, "best-of-8", "lookum", "lookum (shared)"),
    *("lookum (bypass drawn)", "info-gain", "info-gain (shared)", "info-gain (fixed)", "info-gain (bypass drawn)"),
    *("info-gain (α 0)", "info-gain (α 0, shared)", "info-gain (surprisal, α 0)", PRESET),
)
FEW = ("ar", "entropy", "confidence (drawn)", "lookum", "info-gain", PRESET)
MEANING = (
    "Means of the tasks that have several right answers. The number beside a point is what it cost: columns run for "
    "one text.\nA line joins those that none beats in both. On the dotted line no right answer would be a repetition."
)
MEASURED: Columns = {
    "right %": accuracy,
    "different right %": lambda row: interval(row, "distinct").show(scale=100),
    "token-forwards": lambda row: grouped(row["token_forwards"]),
}


class FrontierStudy(Study):
    name = "frontier"
    title = "Quality and diversity"
    source = "beyond the paper"
    claim = (
        "The paper reports how often a sampler is right. One that looks ahead picks among draws, so it can be right "
        "often by repeating itself."
    )
    figure_size = (19.0, 8.4)

    def points(self, size: str) -> list[Point]:
        labels = of_size(size, ("entropy", "info-gain"), FEW, LABELS)
        tasks = of_size(size, ["sudoku"], ["oneway", "sudoku"], MANY)
        return [
            Point(
                {"task": task, "K": k, "sampler": label},
                diversity_cell(task, method_recipe(label, task, k), size),
            )
            for k in of_size(size, (2,), (2,), (1, 2))
            for task in tasks
            for label in labels
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        means = [mean_table(k, own) for k, own in by(rows, "K").items()]
        return means + [
            task_table(task, k, own) for k, same in by(rows, "K").items() for task, own in by(same, "task").items()
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        lines = list(by(rows, "K").items())
        tasks = list(by(rows, "task"))
        panels = figure.subplots(len(lines), len(tasks), squeeze=False)
        for line, (k, own) in zip(panels, lines, strict=True):
            for axes, task in zip(line, tasks, strict=True):
                tidy(axes, title=f"{task}, K = {k}", xlabel="right, % of draws")
                draw_frontier(axes, spots(pick(own, task=task)))
            line[0].set_ylabel("right and different, % of draws")
        figure_legend(figure, panels[0][0])

    def summary(self, rows: list[CellResult]) -> list[str]:
        return [said for k, own in by(rows, "K").items() for said in sentences(k, own)]


def mean_table(k: int, rows: list[CellResult]) -> Table:
    """A line per sampler: means over the tasks, and on how many of their frontiers it lies."""
    tasks, places = by(rows, "task"), frontier_places(rows)
    lines = []
    for label, own in on_all_tasks(rows).items():
        right, different = (mean_of(own, name) for name in ("accuracy", "distinct"))
        cost = sum(row["token_forwards"] for row in own) / len(own)
        shown = [right.show(scale=100), different.show(scale=100), f"{places[label]} of {len(tasks)}", grouped(cost)]
        lines.append([label, *shown])
    columns = ["sampler", "right %", "different right %", "on the frontier", "token-forwards"]
    return Table(columns, lines, title=f"Mean of {', '.join(tasks)}, K = {k}, τ_token = {TAU}")


def task_table(task: str, k: int, rows: list[CellResult]) -> Table:
    best = on_frontier(rows, right_and_different)
    columns: Columns = {
        "sampler": lambda row: row["sampler"],
        **MEASURED,
        "on the frontier": lambda row: "yes" if row in best else "",
    }
    return tabulate(f"{task}, K = {k}: {drawn(rows[0].cell)}", rows, columns)


def mean_of(rows: list[CellResult], name: str) -> Interval:
    """A sampler's mean over tasks."""
    return intervals.average([interval(row, name) for row in rows])


def on_all_tasks(rows: list[CellResult]) -> dict[str, list[CellResult]]:
    """The rows of each sampler that has all tasks: means over some of them could not be compared."""
    count = len(by(rows, "task"))
    return {label: own for label, own in by(rows, "sampler").items() if len(own) == count}


def frontier_places(rows: list[CellResult]) -> dict[str, int]:
    """On the frontiers of how many tasks each sampler lies."""
    best = [row["sampler"] for own in by(rows, "task").values() for row in on_frontier(own, right_and_different)]
    return {label: best.count(label) for label in by(rows, "sampler")}


def sentences(k: int, rows: list[CellResult]) -> list[str]:
    whole = on_all_tasks(rows)
    means = {label: (mean_of(own, "accuracy").value, mean_of(own, "distinct").value) for label, own in whole.items()}
    if not means:
        return []
    found = []
    for what, at in (("right most often", 0), ("most often right and different", 1)):
        best = max(means, key=lambda label: means[label][at])
        right, different = (percent(value) for value in means[best])
        found.append(f"K = {k}, {what}: {best}, {right} % right and {different} % right and different.")
    for label in (name for name in ("info-gain", PRESET) if name in means):
        right, different = (percent(value) for value in means[label])
        places = f"{frontier_places(rows)[label]} of {len(by(rows, 'task'))}"
        found.append(f"K = {k}, {label}: {right} % right, {different} % right and different; on {places} frontiers.")
    return found


class Spot(NamedTuple):
    """A sampler in the plane of quality and diversity, in per cent, and what it cost."""

    sampler: str
    right: float
    different: float
    token_forwards: float


def spots(rows: list[CellResult]) -> list[Spot]:
    return [
        Spot(row["sampler"], 100 * row["accuracy"], 100 * row["distinct"], row["token_forwards"])  # of one task
        for row in rows
    ]


def mean_spots(rows: list[CellResult]) -> list[Spot]:
    """The means over the tasks of each sampler that has all."""
    return [
        Spot(label, *(mean(column) for column in zip(*(spot[1:] for spot in spots(own)), strict=True)))
        for label, own in on_all_tasks(rows).items()
    ]


def draw_frontier(axes: Axes, found: list[Spot]) -> None:
    """One point per sampler, its token-forwards beside it, and a line through those that none beats.

    On the dotted line no right answer is a repetition.
    """
    best = sorted(on_frontier(found, lambda spot: (spot.right, spot.different)), key=lambda spot: spot.right)
    axes.plot([spot.right for spot in best], [spot.different for spot in best], color="#BBBBBB", lw=1)
    for spot in found:
        axes.plot([spot.right], [spot.different], **style(spot.sampler))
    axes.margins(0.14)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())  # the dotted line does not widen them
    axes.axline((0, 0), slope=1, color="#BBBBBB", linestyle=":", linewidth=1)
    annotate_apart(axes, [(spot.right, spot.different, grouped(spot.token_forwards)) for spot in found])


def draw_means(figure: Figure, rows: list[CellResult]) -> None:
    """The means over all tasks, a panel for each K."""
    panels = figure.subplots(1, len(by(rows, "K")), squeeze=False)[0]
    for axes, (k, own) in zip(panels, by(rows, "K").items(), strict=True):
        tidy(axes, title=f"{k} {'token' if k == 1 else 'tokens'} a step (K = {k})", xlabel="right, % of draws")
        draw_frontier(axes, mean_spots(own))
    panels[0].set_ylabel("right and different, % of draws")
    figure_legend(figure, panels[0])
    figure.suptitle(MEANING, fontsize=9)
