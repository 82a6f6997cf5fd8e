"""Case study 1: which part of a one-way equation is written first, and what that costs."""

from __future__ import annotations

from infogain.report.numbers import percent
from infogain.report.plots import BLUE, ORANGE, Figure, line, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import SHOWN, Check, Columns, Study, tabulate
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.extras import show_order
from infogain.studies.independent import interval, opening, openings, saved_entropy
from infogain.studies.methods import TAU, method_points, of_size

METHODS = (
    *("uniform", "ar", "entropy", "confidence (top-1)", "confidence (drawn)", "margin", "lookum"),
    *("info-gain", "info-gain (φ top-1)", "info-gain (α ½)", "info-gain (α 0)"),
)
COLUMNS: Columns = {
    "sampler": lambda row: row["sampler"],
    "factors begun first %": lambda row: show_order(row, "factors_begun"),
    "factors finished first %": lambda row: show_order(row, "factors_finished"),
    **{name: SHOWN[name] for name in ("accuracy %", "H̃", "forwards")},
}
CURVES = ("ar", "entropy", "confidence (drawn)", "lookum", "info-gain", "info-gain (α 0)")


class OneWayStudy(Study):
    """Fig. 1: which part is begun first, and cumulative entropy over the tokens."""

    name = "oneway"
    title = "Case study 1: one-way multiplication"
    source = "Fig. 1, Sec. 3.1"
    claim = (
        "Entropy writes the binary product first in 73.2 % of decodes and fails; Info-Gain resolves a factor first in "
        "84.0 % and ends with lower cumulative entropy."
    )
    figure_size = (11.0, 4.8)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (3, 2), (50, 1), (500, 5))
        labels = of_size(size, ("entropy", "info-gain"), METHODS, METHODS)
        return method_points(labels, ["oneway"], (1, 2), (TAU,), problems, seeds, keep=("path",))

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [tabulate(f"K = {k}, τ_token = {TAU}", own, COLUMNS) for k, own in sorted(by(rows, "K").items())]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        ones = pick(rows, K=1)
        for i, (name, words, colour) in enumerate(
            (("factors_begun", "begun first", BLUE), ("factors_finished", "finished first", ORANGE))
        ):
            places = [n + 0.38 * i - 0.19 for n in range(len(ones))]
            left.barh(places, [100 * row[name] for row in ones], 0.38, color=colour, label=f"factors {words}")
        left.set_yticks(range(len(ones)), [row["sampler"] for row in ones])
        left.invert_yaxis()
        tidy(left, xlim=(0, 100), xlabel="decodes, %", title="which part comes first (K = 1)")
        if ones:
            left.legend(loc="lower center", bbox_to_anchor=(0.5, -0.28), ncols=2, frameon=False)
        for row in ones:
            if row["sampler"] in CURVES and "path" in row.numbers:
                right.plot(*zip(*row["path"], strict=True), **line(row["sampler"]))
        cost = r"mean cumulative entropy $\tilde{H}$ (nats)"
        tidy(right, xlabel="tokens written", ylabel=cost, title="what it costs (K = 1)")
        right.set_ylim(bottom=0)
        side_legend(right)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        named = {row["sampler"]: row for row in pick(rows, K=1)}
        if not {"entropy", "info-gain"} <= set(named):
            return []
        greedy, gain = named["entropy"], named["info-gain"]
        saved = saved_entropy(interval(greedy, "entropy"), interval(gain, "entropy"))
        cost = f"H̃ {gain['entropy']:.2f} against {greedy['entropy']:.2f}, {saved.show(2)} less"
        return [
            begins("Entropy begins with the product", greedy.cell, 1 - greedy["factors_begun"], "73.2"),
            begins("Info-Gain begins with a factor", gain.cell, gain["factors_begun"], "84.0"),
            Check("Info-Gain ends at lower H̃ than Entropy", saved.above(), cost),
        ]

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for row in pick(rows, K=1):
            if row["sampler"] in ("entropy", "info-gain", "info-gain (α 0)"):
                begun, done = (percent(row[name]) for name in ("factors_begun", "factors_finished"))
                said.append(
                    f"{row['sampler']} begins with a factor in {begun} % and finishes the factors first in {done} % of "
                    f"decodes; {percent(row['accuracy'])} % of its equations are true, at H̃ {row['entropy']:.2f}."
                )
        return said


def begins(claim: str, cell: Cell, share: float, paper: str) -> Check:
    """The claim that most decodes begin so; `share` of them do."""
    found = opening(cell, share)
    evidence = f"{found.show(scale=100)} % (n = {openings(cell, share)}), paper {paper} %"
    return Check(claim, found.above(0.5), evidence)
