"""The power α of the gain: from the paper's mean of what remains (1) to its plain sum (0)."""

from __future__ import annotations

from infogain.report.numbers import percent
from infogain.report.plots import MEAN_ENTROPY, Figure, figure_legend, nth, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Study, accuracy_bars, leaders, listing
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.methods import DEAR, SEEDS, of_size, recipe
from infogain.zoo.tasks import TASKS

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class GainStudy(Study):
    name = "gain"
    title = "The power of the gain"
    source = "beyond the paper (Eq. 3 with Σ H / |M|^α)"
    claim = "The paper averages what remains over the masks (α = 1), so its look-ahead fades while many are left."
    figure_size = (11.0, 7.0)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 1), (30, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["countdown", "oneway"], [name for name in TASKS if name not in DEAR])
        powers = of_size(size, (0.0, 1.0), POWERS, POWERS)
        ks = of_size(size, (2,), (2,), (2, 1))
        return [
            Point({"task": task, "K": k, "α": power}, Cell(task, asked, problems, SEEDS[:seeds]))
            for task in tasks
            for k in ks
            for power in powers
            for asked in [recipe({"name": "info-gain", "gain_power": power}, k)]
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [listing("Info-Gain, N = 8, τ_token = .7", rows, ["accuracy %", "sound %", "H̃", "token-forwards"])]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        by_k = sorted(by(rows, "K").items())
        panels = figure.subplots(2, len(by_k), squeeze=False, sharex=True)
        for (upper, lower), (k, own_k) in zip(panels.T, by_k, strict=True):
            for i, (task, own) in enumerate(by(own_k, "task").items()):
                x, y = [row["α"] for row in own], [100 * row["accuracy"] for row in own]
                upper.errorbar(x, y, accuracy_bars(own), capsize=2, **nth(i), label=task)
                lower.plot(x, [row["entropy"] for row in own], **nth(i))
            tidy(upper, ylabel="accuracy % (95 % interval)", title=f"K = {k}")
            tidy(lower, ylabel=MEAN_ENTROPY, xlabel="gain_power α (0: sum, 1: the paper's mean)")
        figure_legend(figure, panels[0][0], 5)

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for k, own_k in sorted(by(rows, "K").items()):
            for task, own in by(own_k, "task").items():
                for paper in pick(own, α=1.0):
                    share = percent(paper["accuracy"])
                    said.append(f"{task}, K = {k}. {leaders(own, 'α')}; the paper's α = 1 has {share} %.")
        return said
