"""The bypass threshold γ: what skipping look-ahead saves, and what it costs."""

from __future__ import annotations

from infogain.evals.intervals import ratio
from infogain.report.numbers import percent
from infogain.report.plots import MEAN_ENTROPY, Figure, figure_legend, nth, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import SHOWN, Check, Study, listing
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.independent import interval
from infogain.studies.methods import SEEDS, of_size, recipe

GAMMAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
K = 1
PANELS = {  # what is shown, and whether as a share of what it is without a bypass
    "entropy": (MEAN_ENTROPY, False),
    "accuracy": ("accuracy", False),
    "token_forwards": ("token-forwards, of those at γ = 1", True),
}


class ThresholdStudy(Study):
    """Fig. 9: the trade-off of γ."""

    name = "threshold"
    title = "The bypass threshold"
    source = "Fig. 9"
    claim = "A threshold keeps most of the drop in H̃ at a small part of the extra time. (γ = 1 never bypasses.)"
    figure_size = (11.0, 3.8)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 1), (30, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["countdown"], ["countdown", "judgement", "oneway", "sudoku"])
        gammas = of_size(size, (0.8, 1.0), (0.5, 0.8, 0.95, 1.0), GAMMAS)
        return [
            Point({"task": task, "γ": gamma}, Cell(task, asked, problems, SEEDS[:seeds]))
            for task in tasks
            for gamma in gammas
            for asked in [recipe({"name": "info-gain", "gamma": gamma}, K)]
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [listing(f"K = {K}, N = 8", rows, ["accuracy %", "H̃", "forwards", "token-forwards", "bypassed %"])]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        panels = figure.subplots(1, len(PANELS))
        for axes, (name, (words, shared)) in zip(panels, PANELS.items(), strict=True):
            for i, (task, own) in enumerate(by(rows, "task").items()):
                whole = own[-1][name] if shared else 1.0
                axes.plot([row["γ"] for row in own], [row[name] / whole for row in own], **nth(i), label=task)
            tidy(axes, xlabel="γ (1: no bypass)", ylabel=words)
            if name != "entropy":
                axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
            if shared:
                axes.set_ylim(bottom=0)
        figure_legend(figure, panels[0], 4)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for task, off, on in pairs(rows):
            more = ratio(interval(on, "entropy"), interval(off, "entropy")).rounded(2)
            less = on["token_forwards"] / off["token_forwards"]
            evidence = f"H̃ × {more.show(2)} for token-forwards × {less:.2f}"
            holds = more.below(1.1) if less < 0.5 else False
            found.append(Check(f"γ = .8 keeps H̃ within 10 % for less than half: {task}", holds, evidence))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for task, off, on in pairs(rows):
            saved = 1 - on["token_forwards"] / off["token_forwards"]
            said.append(
                f"{task}: γ = .8 decides {SHOWN['bypassed %'](on)} % of the steps and saves {percent(saved)} % of the "
                f"token-forwards; H̃ {off['entropy']:.2f} → {on['entropy']:.2f}, accuracy {percent(off['accuracy'])} → "
                f"{percent(on['accuracy'])} %."
            )
        return said


def pairs(rows: list[CellResult]) -> list[tuple[str, CellResult, CellResult]]:
    """Each task without a bypass and with the paper's, where both are there."""
    found = ((task, pick(own, γ=1.0), pick(own, γ=0.8)) for task, own in by(rows, "task").items())
    return [(task, off[0], on[0]) for task, off, on in found if off and on]
