"""How J is distributed over the actions that were taken, and whether Proposition 1 holds."""

from __future__ import annotations

from collections.abc import Sequence

from infogain.report.numbers import grouped, percent
from infogain.report.plots import Axes, Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import SHOWN, Check, Columns, Study, tabulate
from infogain.studies.cell import Cell, CellResult, Point, pick
from infogain.studies.cell_observer import LEVELS, NEAR
from infogain.studies.methods import DEAR, SEEDS, TAU, of_size, recipe
from infogain.studies.subject import Subject
from infogain.zoo.tasks import TASKS

DECODES, PROPOSITION = "decodes", "proposition"
BENCHMARK, TOYS = "gsm8k", ("toy:one-way", "toy:judgement")
TAKEN: Columns = {
    "task": lambda row: row["problems"],
    "γ": lambda row: f"{row['γ']:g}",
    "accuracy %": SHOWN["accuracy %"],
    "actions": lambda row: grouped(row["scores"]["count"]),
    "5th percentile": lambda row: f"{row['scores']['quantiles'][5]:.2e}",
    "median": lambda row: f"{row['scores']['quantiles'][50]:.2e}",
    "J ≥ −5e-4 %": lambda row: percent(row["scores"]["near"]),
    "J > 0 %": lambda row: percent(row["scores"]["positive"]),
}
PROVED: Columns = {
    "model and task": lambda row: row["problems"],
    "positions": lambda row: grouped(row["count"]),
    "mean": lambda row: f"{row['mean']:.4f}",
    "largest": lambda row: f"{row['largest']:.5f}",
    "above 0 %": lambda row: percent(row["above_zero"]),
}


class UtilityStudy(Study):
    """Fig. 6: the distribution of J, of a checkpoint outside the zoo on GSM8K, as in the paper."""

    name = "utility"
    title = "The distribution of J, and Proposition 1"
    source = "Fig. 6, App. C"
    claim = (
        "The 5th percentile of J is −5e-4: more than 95 % of the actions taken lie near the bound of 0 that "
        "Proposition 1 proves for the mean."
    )
    figure_size = (11.0, 4.4)

    def points(self, size: str) -> list[Point]:
        problems, states = counts(size)
        tasks = of_size(size, ["sudoku"], ["countdown", "judgement"], list(TASKS))
        looked_at = [task for task in tasks if task not in DEAR]
        return decode_points(size, tasks, problems) + proposition_points(looked_at, states)

    def points_for(self, size: str, subject: Subject) -> list[Point]:
        """The zoo's tasks for its models, GSM8K for others."""
        if subject.is_zoo:
            return self.points(size)
        problems, states = counts(size)
        benchmark = subject.benchmark(BENCHMARK)
        found = decode_points(size, [BENCHMARK], min(problems, len(benchmark.items)), benchmark.fingerprint)
        return found + proposition_points([], states)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        proved = "Proposition 1: mean J of one position, over its tokens (K = 1, τ_token = 1)"
        return [
            tabulate("J of the actions taken (K = 1, τ_token = .7)", decodes(rows), TAKEN),
            tabulate(proved, propositions(rows), PROVED),
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        draw_quantiles(left, {row["problems"]: row["scores"]["quantiles"] for row in decodes(rows, γ=0.8)})
        tidy(left, xlabel="actions, best first, %", ylabel="J (nats)", title="J of the actions taken (γ = .8)")
        if left.lines:
            left.legend(frameon=False, loc="lower left")
        draw_quantiles(right, {row["problems"]: row["quantiles"] for row in propositions(rows)})
        right.axhline(0, color="#555555", linewidth=0.8)
        tidy(right, xlabel="states and positions, best first, %", ylabel="mean J over tokens")
        right.set_title("Proposition 1: is it ever above 0?")
        side_legend(right)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for row in decodes(rows, γ=0.8):
            x = row["scores"]["quantiles"][5]
            found.append(Check(f"5th percentile of J at −5e-4 or above: {row['problems']}", x >= NEAR, f"{x:.1e}"))
        for row in propositions(rows):
            evidence = f"largest {row['largest']:.5f}; above 0 in {percent(row['above_zero'])} %"
            found.append(Check(f"Proposition 1: {row['problems']}", row["above_zero"] == 0, evidence))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        taken = [
            f"{row['problems']}: 5th percentile of J {row['scores']['quantiles'][5]:.1e}; "
            f"{percent(row['scores']['near'])} % lie at −5e-4 or above."
            for row in decodes(rows, γ=0.8)
        ]
        return taken + [
            f"Proposition 1, {row['problems']}: largest mean J {row['largest']:.4f}, above 0 in "
            f"{percent(row['above_zero'])} % of {row['count']} positions."
            for row in propositions(rows)
        ]


def counts(size: str) -> tuple[int, int]:
    """Problems to decode, and states whose positions are looked at."""
    return of_size(size, (2, 2), (40, 20), (500, 100))


def decode_points(size: str, tasks: Sequence[str], problems: int, data: str = "") -> list[Point]:
    """Cells whose actions' J is kept. A benchmark, which a checkpoint takes hours for, is asked once."""
    seeds = SEEDS[: 1 if data else of_size(size, 1, 1, 5)]
    return [
        Point({"part": DECODES, "problems": task, "γ": gamma}, cell)
        for task in tasks
        for gamma in of_size(size, (0.8,), (0.8, 1.0), (0.8,) if task in DEAR else (0.8, 1.0))
        for asked in [recipe({"name": "info-gain", "gamma": gamma}, 1, TAU)]
        for cell in [Cell(task, asked, problems, seeds, keep=("scores",), data=data)]
    ]


def proposition_points(tasks: Sequence[str], states: int) -> list[Point]:
    """Cells that count Proposition 1 out, on a model's tasks and on exact toys."""
    plain = recipe({"name": "info-gain"}, 1, 1.0)
    return [
        Point({"part": PROPOSITION, "problems": task}, Cell(task, plain, states, kind="proposition"))
        for task in [*tasks, *TOYS]
    ]


def decodes(rows: list[CellResult], **labels: float) -> list[CellResult]:
    return pick(rows, part=DECODES, **labels)


def propositions(rows: list[CellResult]) -> list[CellResult]:
    return pick(rows, part=PROPOSITION)


def draw_quantiles(axes: Axes, named: dict[str, list[float]]) -> None:
    """A line for each name over 100 quantiles, the largest value first."""
    for i, (name, quantiles) in enumerate(named.items()):
        axes.plot([100 * x for x in LEVELS], quantiles[::-1], **{**nth(i), "marker": None}, label=name)
