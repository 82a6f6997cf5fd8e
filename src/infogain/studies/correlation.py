"""Does low cumulative entropy go with being right? Across configurations, and for each task."""

from __future__ import annotations

import math

from infogain.evals.intervals import correlation
from infogain.evals.means import mean
from infogain.report.numbers import NONE
from infogain.report.plots import MEAN_ENTROPY, Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study
from infogain.studies.cell import CellResult, Point
from infogain.studies.diversity import ALONE
from infogain.studies.methods import TWINS
from infogain.studies.samplers import SamplersStudy

AVERAGE = "average of the tasks with several canvases"


class CorrelationStudy(Study):
    """Fig. 3: accuracy against H̃ (b)."""

    name = "correlation"
    title = "Accuracy against cumulative entropy"
    source = "Fig. 3b"
    claim = "Across sampling configurations average accuracy falls as average H̃ rises: Pearson's r = −0.70."
    figure_size = (11.0, 4.8)

    def points(self, size: str) -> list[Point]:
        """The configurations of `samplers`."""
        return SamplersStudy().points(size)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        lines = []
        for name, points in groups(rows).items():
            r = correlation(*zip(*points, strict=True))
            lines.append([name, str(len(points)), NONE if math.isnan(r.low) else r.show(2, signed=True)])
        return [Table(["task", "configurations", "r"], lines, title="Pearson's r of accuracy and mean H̃")]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        found = groups(rows)
        each = [name for name in found if name != AVERAGE]
        for axes, names, title in ((left, [AVERAGE], "mean of the tasks"), (right, each, "each task")):
            for i, name in enumerate(n for n in names if found.get(n)):
                x, y = zip(*found[name], strict=True)
                axes.plot(x, [100 * v for v in y], **{**nth(i), "linestyle": "none"}, alpha=0.8, label=name)
            tidy(axes, xlabel=MEAN_ENTROPY, ylabel="accuracy %", title=title)
        side_legend(right)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = {name: correlation(*zip(*points, strict=True)).rounded(2) for name, points in groups(rows).items()}
        return [
            Check(f"Accuracy falls as H̃ rises: {name}", r.below(), f"r = {r.show(2, signed=True)}, paper −0.70")
            for name, r in found.items()
            if not math.isnan(r.low)
        ]

    def summary(self, rows: list[CellResult]) -> list[str]:
        grid = self.tables(rows)[0]
        return [f"r = {r} on {name} ({count} configurations)." for name, count, r in grid.rows if r != NONE]


def groups(rows: list[CellResult]) -> dict[str, list[tuple[float, float]]]:
    """(mean H̃, accuracy) of every configuration: for each task, and averaged over those that pose several canvases."""
    found: dict[str, list[tuple[float, float]]] = {AVERAGE: []}
    by_setting: dict[tuple[object, ...], list[CellResult]] = {}
    for row in rows:
        if row["τ_token"] == 0 and row["sampler"] in TWINS:
            continue  # the same decodes under another name
        found.setdefault(row["task"], []).append((row["entropy"], row["accuracy"]))
        if row["task"] not in ALONE:
            by_setting.setdefault((row["K"], row["τ_token"], row["sampler"]), []).append(row)
    tasks = len({row["task"] for row in rows} - {*ALONE})
    whole = [same for same in by_setting.values() if len(same) == tasks]
    found[AVERAGE] = [(mean([x["entropy"] for x in same]), mean([x["accuracy"] for x in same])) for same in whole]
    return {name: points for name, points in found.items() if points and (tasks > 1 or name != AVERAGE)}
