"""Case study 2: samplers that decide before they have reasoned."""

from __future__ import annotations

from infogain.evals.intervals import Interval
from infogain.report.numbers import percent
from infogain.report.plots import Figure, bars_across, colour, error_bars, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import (
    SHOWN,
    Check,
    Columns,
    Study,
    accuracy_bars,
    beats,
    leaders,
    said_of,
    tabulate,
)
from infogain.studies.cell import CellResult, Point, by, pick
from infogain.studies.extras import show_order
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import METHODS, TAU, VARIANTS, method_points, of_size

ORDERS = ("entropy", "confidence (top-1)", "confidence (drawn)", "margin")  # greedy ones, which Table 1 compares
NAMED = ("entropy", "confidence (drawn)", "margin", "ar", "info-gain")
CEILING = 0.98  # above it a task tells samplers apart no more
COLUMNS: Columns = {
    "sampler": lambda row: row["sampler"],
    **{name: SHOWN[name] for name in ("accuracy %", "sound %", "H̃", "forwards")},
    "verdict written at": lambda row: show_order(row, "verdict_at", 2, 1),
    "verdict last %": lambda row: show_order(row, "verdict_last"),
}


class JudgementStudy(Study):
    """Table 1: accuracy and H̃ of greedy orders and of left to right."""

    name = "judgement"
    title = "Case study 2: binary judgement"
    source = "Table 1, Sec. 3.1"
    claim = (
        "Greedy samplers write the verdict before the reasoning: entropy 67 %, confidence 73 %, margin 66 % right at "
        "H̃ of 32 to 36, against 90 % and 25.2 for left to right."
    )
    figure_size = (11.0, 5.4)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (3, 2), (30, 1), (500, 5))
        every = (*METHODS, *VARIANTS)
        labels, ks = of_size(size, (("entropy", "ar"), (1,)), (every, (1,)), (every, (1, 2)))
        return method_points(labels, ["judgement"], ks, (TAU,), problems, seeds)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [tabulate(f"K = {k}, τ_token = {TAU}", own, COLUMNS) for k, own in sorted(by(rows, "K").items())]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        k = min((row["K"] for row in rows), default=1)
        shown = pick(rows, K=k)
        labels = [row["sampler"] for row in shown]
        colours = [colour(label) for label in labels]
        bars_across(left, labels, [100 * row["accuracy"] for row in shown], accuracy_bars(shown), color=colours)
        tidy(left, xlabel="right verdicts, % (95 % interval)", title=f"accuracy (K = {k})")
        places = [interval(row, "verdict_at") for row in shown]
        spread = [[per_cent / 100 for per_cent in side] for side in error_bars(places)]
        bars_across(right, labels, [at.value for at in places], spread, color=colours)
        tidy(right, xlim=(0, 1), xlabel="0: in the first step, 1: in the last")
        right.set_title("when the verdict is written (mean, 95 % interval)")
        right.tick_params(labelleft=False)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        named = {row["sampler"]: row for row in pick(rows, K=1)}
        greedy = [named[label] for label in ORDERS if label in named]
        early = [decides_early(row) for row in greedy]
        if "ar" not in named:
            return early
        ar = named["ar"]
        right = [beats(f"Left to right is more accurate than {row['sampler']}", ar, row) for row in greedy]
        return [*right, *(costs_less(ar, row) for row in greedy), *early]

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for k, own in sorted(by(rows, "K").items()):
            parts = [f"{row['sampler']} {said_of(row)}" for row in own if row["sampler"] in NAMED]
            said.append(f"K = {k}: {', '.join(parts)}. {leaders(own, 'sampler')}.")
            places = [f"{row['sampler']} {row['verdict_at']:.2f}" for row in own if row["sampler"] in NAMED]
            said.append(f"K = {k}, where the verdict is written, from 0 (first step) to 1 (last): {', '.join(places)}.")
            said.append(f"K = {k}: {ceiling(own)}")
        return said


def costs_less(ar: CellResult, row: CellResult) -> Check:
    """The claim that left to right has the lower H̃."""
    saved = saved_entropy(interval(row, "entropy"), interval(ar, "entropy"))
    evidence = f"H̃ {ar['entropy']:.2f} against {row['entropy']:.2f}, {saved.show(2)} less"
    return Check(f"Left to right has lower H̃ than {row['sampler']}", saved.above(), evidence)


def decides_early(row: CellResult) -> Check:
    """The claim that most decodes write the verdict before the last of the reasoning."""
    last = interval(row, "verdict_last")
    early = Interval(1 - last.value, 1 - last.high, 1 - last.low).rounded(3)
    evidence = f"in {early.show(scale=100)} % of decodes; mean place of the verdict {row['verdict_at']:.2f}"
    claim = f"{row['sampler'].capitalize()} writes the verdict before the reasoning is done"
    return Check(claim, early.above(0.5), evidence)


def ceiling(rows: list[CellResult]) -> str:
    """A sentence on whether the task still tells samplers apart: none of them is near the most there is."""
    level, best = f"{percent(CEILING).removesuffix('.0')} %", max(rows, key=lambda row: float(row["accuracy"]))
    above = [f"{row['sampler']} ({percent(row['accuracy'])} %)" for row in rows if round(row["accuracy"], 3) > CEILING]
    if above:
        return f"Above {level}: {', '.join(above)}."
    return f"No sampler compared is above {level}; the best is {best['sampler']} with {percent(best['accuracy'])} %."
