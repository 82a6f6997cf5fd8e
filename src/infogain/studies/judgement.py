"""Case study 2: samplers that decide before they have reasoned."""

from __future__ import annotations

from infogain.report.numbers import number, percent
from infogain.report.plots import Figure, bars_across, colour, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import (
    SHOWN,
    Check,
    Columns,
    Study,
    accuracy_bars,
    all_above_zero,
    leaders,
    points,
    said_of,
    tabulate,
)
from infogain.studies.cell import CellResult, Point, by, pick
from infogain.studies.independent import interval, paired, saved_entropy
from infogain.studies.methods import METHODS, TAU, VARIANTS, method_points, of_size

NAMED = ("entropy", "confidence (drawn)", "margin", "ar", "info-gain")
COLUMNS: Columns = {
    "sampler": lambda row: row["sampler"],
    **{name: SHOWN[name] for name in ("accuracy %", "sound %", "H̃", "forwards")},
    "verdict written at": lambda row: number(row.numbers.get("verdict_at"), 2),
    "verdict last %": lambda row: percent(row.numbers.get("verdict_last")),
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
        known = [row for row in shown if "verdict_at" in row.numbers]
        at = labels if len(known) == len(shown) else []
        bars_across(right, at, [row["verdict_at"] for row in known], color=colours)
        tidy(right, xlim=(0, 1), xlabel="0: in the first step, 1: in the last")
        right.set_title("when the verdict is written (mean)")
        right.tick_params(labelleft=False)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        named = {row["sampler"]: row for row in pick(rows, K=1)}
        greedy = [named[x] for x in ("entropy", "confidence (top-1)", "confidence (drawn)", "margin") if x in named]
        if "ar" not in named or not greedy:
            return []
        ar = named["ar"]
        leads = {row["sampler"]: paired(ar, row) for row in greedy}
        saved = {row["sampler"]: saved_entropy(interval(row, "entropy"), interval(ar, "entropy")) for row in greedy}
        best, least = (named[min(group, key=lambda label: group[label].value)] for group in (leads, saved))
        right = f"{percent(ar['accuracy'])} % against at most {percent(best['accuracy'])} % ({best['sampler']})"
        cost = f"H̃ {ar['entropy']:.2f} against at least {least['entropy']:.2f} ({least['sampler']})"
        return [
            Check(
                "Left to right is more accurate than greedy orders",
                all_above_zero(leads.values()),
                f"{right}, {points(leads[best['sampler']])}",
            ),
            Check(
                "Left to right has lower H̃ than greedy orders",
                all_above_zero(saved.values()),
                f"{cost}, {saved[least['sampler']].show(2)} less",
            ),
        ]

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for k, own in sorted(by(rows, "K").items()):
            parts = [f"{row['sampler']} {said_of(row)}" for row in own if row["sampler"] in NAMED]
            said.append(f"K = {k}: {', '.join(parts)}. {leaders(own, 'sampler')}.")
        return said
