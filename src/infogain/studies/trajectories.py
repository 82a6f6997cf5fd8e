"""How cumulative entropy grows while arithmetic problems are decoded."""

from __future__ import annotations

from infogain.evals.intervals import Interval
from infogain.report.plots import MEAN_ENTROPY, Figure, figure_legend, line, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, listing
from infogain.studies.cell import CellResult, Point, by
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import TAU, method_points, of_size

LABELS = ("ar", "entropy", "confidence (drawn)", "lookum", "info-gain")


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
        problems, seeds = of_size(size, (1, 1), (12, 1), (500, 5))
        labels, ks = of_size(size, (("entropy", "info-gain"), (2,)), (LABELS, (2,)), (LABELS, (1, 2)))
        return method_points(labels, ["arithmetic"], ks, (TAU,), problems, seeds, keep=("path",))

    def tables(self, rows: list[CellResult]) -> list[Table]:
        title = f"{rows[0].cell.problems if rows else 0} arithmetic problems"
        return [listing(title, rows, ["accuracy %", "sound %", "H̃", "forwards"], ["K", "sampler"])]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        by_k = sorted(by(rows, "K").items())
        for axes, (k, own) in zip(figure.subplots(1, len(by_k), sharey=True, squeeze=False)[0], by_k, strict=True):
            for row in own:
                if "path" in row.numbers:
                    axes.plot(*zip(*row["path"], strict=True), **line(row["sampler"]))
            tidy(axes, xlabel="tokens written", ylabel=MEAN_ENTROPY, title=f"K = {k}, τ_token = {TAU}")
        figure.axes[0].set_ylim(bottom=0)
        figure_legend(figure, figure.axes[0])

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for k, greedy, gain in ends(rows):
            saved = saved_entropy(greedy, gain)
            evidence = f"{gain.value:.2f} against {greedy.value:.2f}, {saved.show(2)} less"
            found.append(Check(f"Info-Gain's H̃ ends below Entropy's, K = {k}", saved.above(), evidence))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        return [
            f"K = {k}: H̃ ends at {greedy.value:.2f} with Entropy, at {gain.value:.2f} "
            f"({100 * (gain.value / greedy.value - 1):+.0f} %) with Info-Gain."
            for k, greedy, gain in ends(rows)
        ]


def ends(rows: list[CellResult]) -> list[tuple[int, Interval, Interval]]:
    """Return for each K the H̃ at which Entropy and Info-Gain end, where both were decoded."""
    found = ((k, {row["sampler"]: interval(row, "entropy") for row in own}) for k, own in sorted(by(rows, "K").items()))
    return [(k, own["entropy"], own["info-gain"]) for k, own in found if {"entropy", "info-gain"} <= set(own)]
