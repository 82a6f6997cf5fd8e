"""How J is distributed over the actions that were taken, and whether Proposition 1 holds."""

from __future__ import annotations

from infogain.report.numbers import percent
from infogain.report.plots import Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study
from infogain.studies.cell import Cell, CellResult, Point, pick
from infogain.studies.cell_observer import LEVELS
from infogain.studies.methods import TAU, of_size, recipe
from infogain.zoo.tasks import TASKS

DECODES, PROPOSITION = "decodes", "proposition"


class UtilityStudy(Study):
    """Fig. 6: the distribution of J."""

    name = "utility"
    title = "The distribution of J, and Proposition 1"
    source = "Fig. 6, App. C"
    claim = (
        "The 5th percentile of J is −5e-4: more than 95 % of the actions taken lie near the bound of 0 that "
        "Proposition 1 proves for the mean."
    )
    figure_size = (11.0, 4.4)

    def points(self, size: str) -> list[Point]:
        problems, states = of_size(size, (2, 2), (40, 20), (500, 100))
        tasks = of_size(size, ["sudoku"], ["countdown", "judgement"], list(TASKS))
        gammas = of_size(size, (0.8,), (0.8, 1.0), (0.8, 1.0))
        decodes = [
            Point(
                {"part": DECODES, "problems": task, "γ": gamma},
                Cell(task, recipe({"name": "info-gain", "gamma": gamma}, 1, TAU), problems, (0,), keep=("scores",)),
            )
            for task in tasks
            for gamma in gammas
        ]
        plain = recipe({"name": "info-gain"}, 1, 1.0)
        subjects = [*tasks, "toy:one-way", "toy:judgement"]
        return decodes + [
            Point({"part": PROPOSITION, "problems": task}, Cell(task, plain, states, (0,), kind="proposition"))
            for task in subjects
            if task != "arithmetic"  # 64 columns of 55 tokens each: dear, and no other matter
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        taken = [
            [
                row["problems"],
                f"{row['γ']:g}",
                f"{s['count']:,}",
                f"{s['quantiles'][5]:.2e}",
                f"{s['quantiles'][50]:.2e}",
                percent(s["near"]),
                percent(s["positive"]),
            ]
            for row in pick(rows, part=DECODES)
            if (s := row.numbers.get("scores"))
        ]
        proved = [
            [
                row["problems"],
                f"{row['count']:,}",
                f"{row['mean']:.4f}",
                f"{row['largest']:.5f}",
                percent(row["above_zero"]),
            ]
            for row in pick(rows, part=PROPOSITION)
            if "largest" in row.numbers
        ]
        return [
            Table(
                ["task", "γ", "actions", "5th percentile", "median", "J ≥ −5e-4 %", "J > 0 %"],
                taken,
                title="J of the actions taken (K = 1, τ_token = .7)",
            ),
            Table(
                ["model and task", "positions", "mean", "largest", "above 0 %"],
                proved,
                title="Proposition 1: mean J of one position, over its tokens (K = 1, τ_token = 1)",
            ),
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        taken = [row for row in pick(rows, part=DECODES, γ=0.8) if "scores" in row.numbers]
        for i, row in enumerate(taken):
            style = {**nth(i), "marker": None}
            left.plot([100 * x for x in LEVELS], row["scores"]["quantiles"][::-1], **style, label=row["problems"])
        tidy(left, xlabel="actions, best first, %", ylabel="J (nats)", title="J of the actions taken (γ = .8)")
        if taken:
            left.legend(frameon=False, loc="lower left")
        proved = [row for row in pick(rows, part=PROPOSITION) if "quantiles" in row.numbers]
        for i, row in enumerate(proved):
            style = {**nth(i), "marker": None}
            right.plot([100 * x for x in LEVELS], row["quantiles"][::-1], **style, label=row["problems"])
        right.axhline(0, color="#555555", linewidth=0.8)
        tidy(
            right,
            xlabel="states and positions, best first, %",
            ylabel="mean J over tokens",
            title="Proposition 1: is it ever above 0?",
        )
        side_legend(right)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        taken = [
            (row, row["scores"]["quantiles"][5]) for row in pick(rows, part=DECODES, γ=0.8) if "scores" in row.numbers
        ]
        found = [
            Check(f"5th percentile of J at −5e-4 or above: {row['problems']}", x >= -5e-4, f"{x:.1e}")
            for row, x in taken
        ]
        for row in pick(rows, part=PROPOSITION):
            if "largest" in row.numbers:
                evidence = f"largest {row['largest']:.5f}; above 0 in {percent(row['above_zero'])} %"
                found.append(Check(f"Proposition 1: {row['problems']}", row["above_zero"] == 0, evidence))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for row in pick(rows, part=DECODES, γ=0.8):
            if s := row.numbers.get("scores"):
                said.append(
                    f"{row['problems']}: 5th percentile of J {s['quantiles'][5]:.1e}; "
                    f"{percent(s['near'])} % lie at −5e-4 or above."
                )
        for row in pick(rows, part=PROPOSITION):
            if "largest" in row.numbers:
                said.append(
                    f"Proposition 1, {row['problems']}: largest mean J {row['largest']:.4f}, above 0 in "
                    f"{percent(row['above_zero'])} % of {row['count']} positions."
                )
        return said
