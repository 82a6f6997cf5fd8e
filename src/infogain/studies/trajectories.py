"""How cumulative entropy grows while the arithmetic problems of the paper's figures are decoded."""

from __future__ import annotations

from infogain.report.plots import Figure, figure_legend, line, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, listing
from infogain.studies.cell import FIGURE, CellResult, Point, pick
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import TAU, method_points, of_size

LABELS = ("ar", "entropy", "confidence (drawn)", "margin", "lookum", "info-gain", "info-gain (α 0)")


class TrajectoriesStudy(Study):
    """Fig. 3: H̃ over the steps (a)."""

    name = "trajectories"
    title = "Cumulative entropy over the steps"
    source = "Fig. 3a"
    claim = (
        "On 100 arithmetic problems (64 columns, global) Info-Gain's curve flattens earlier and lower than Entropy's."
    )
    figure_size = (11.0, 4.6)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (1, 1), (12, 1), (100, 5))
        labels, ks = of_size(size, (("entropy", "info-gain"), (2,)), (LABELS, (2,)), (LABELS, (1, 2)))
        return method_points(labels, ["arithmetic"], ks, (TAU,), problems, seeds, split=FIGURE, keep=("path",))

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [
            listing("The 100 arithmetic problems", rows, ["accuracy %", "sound %", "H̃", "forwards"], ["K", "sampler"])
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        ks = sorted({row["K"] for row in rows})
        for axes, k in zip(figure.subplots(1, len(ks), sharey=True, squeeze=False)[0], ks, strict=True):
            for row in pick(rows, K=k):
                if "path" in row.numbers:
                    axes.plot(*zip(*row["path"], strict=True), **line(row["sampler"]))
            tidy(axes, xlabel="tokens written", ylabel=r"mean $\tilde{H}$ (nats)", title=f"K = {k}, τ_token = {TAU}")
        figure.axes[0].set_ylim(bottom=0)
        figure_legend(figure, figure.axes[0])

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for k in sorted({row["K"] for row in rows}):
            ends = {row["sampler"]: interval(row, "entropy") for row in pick(rows, K=k)}
            if {"entropy", "info-gain"} <= set(ends):
                gain, greedy = ends["info-gain"], ends["entropy"]
                saved = saved_entropy(greedy, gain)
                evidence = f"{gain.value:.2f} against {greedy.value:.2f}, {saved.show(2)} less"
                found.append(Check(f"Info-Gain's H̃ ends below Entropy's, K = {k}", saved.above(), evidence))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for k in sorted({row["K"] for row in rows}):
            ends = {row["sampler"]: row for row in pick(rows, K=k)}
            if {"entropy", "info-gain"} <= set(ends):
                a, b = (ends[name]["entropy"] for name in ("entropy", "info-gain"))
                said.append(
                    f"K = {k}: H̃ ends at {a:.2f} with Entropy, at {b:.2f} ({100 * (b / a - 1):+.0f} %) with Info-Gain."
                )
        return said
