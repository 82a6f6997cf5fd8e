"""The best setting of the sampler, chosen on validation problems and reported on test problems."""

from __future__ import annotations

from itertools import product
from typing import Any

from infogain.evals.means import mean
from infogain.report.numbers import percent
from infogain.report.plots import Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Study, points
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.methods import SEEDS, TAU, VARIANTS, method_cell, of_size, recipe
from infogain.studies.samplers import average, by_task, difference
from infogain.zoo.tasks import TASKS

Setting = tuple[float, str, float]  # τ_pos, φ, α
NAMES = ("τ_pos", "φ", "α")
TAU_POS, PHI, ALPHA = (0.1, 0.2, 0.4, 0.7, 1.0), ("drawn", "top1", "entropy", "margin"), (0.0, 0.25, 0.5, 0.75, 1.0)
PAPER: Setting = (0.1, "drawn", 1.0)


class PresetStudy(Study):
    name = "preset"
    title = "A preset chosen on validation problems"
    source = "beyond the paper"
    claim = "The paper uses τ_pos = .1 and the mean of what remains (α = 1) throughout, and tunes neither in public."
    figure_size = (11.0, 4.4)

    def points(self, size: str) -> list[Point]:
        """The grid on the validation split; the dear task with fewer problems."""
        grid: list[Setting] = of_size(
            size,
            list(product((0.1, 0.4), ("drawn",), (0.0, 1.0))),
            list(product((0.1, 0.4), ("drawn", "top1"), (0.0, 0.5, 1.0))),
            list(product(TAU_POS, PHI, ALPHA)),
        )
        counts: dict[str, int] = of_size(
            size,
            {"sudoku": 3},
            {"countdown": 25, "oneway": 25},
            {"oneway": 200, "judgement": 200, "sudoku": 200, "countdown": 200, "arithmetic": 60},
        )
        ks = of_size(size, (2,), (2,), (2, 1))
        return [
            Point({"stage": "validation", "task": task, "K": k, **dict(zip(NAMES, setting, strict=True))}, cell)
            for task, count in counts.items()
            for k in ks
            for setting in grid
            for cell in [Cell(task, setting_recipe(setting, k), count, (0,), "validation")]
        ]

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        best = dict(zip(NAMES, choose(rows), strict=True))
        problems, seeds = of_size(size, (2, 1), (25, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["countdown", "oneway"], list(TASKS))
        ks = of_size(size, (2,), (2,), (2, 1))
        points = []
        for task, k in product(tasks, ks):
            cells = {"preset": Cell(task, setting_recipe(choose(rows), k), problems, SEEDS[:seeds])}
            for name in ("info-gain", "lookum", *VARIANTS):
                cells[name] = method_cell(name, task, k, TAU, problems, SEEDS[:seeds])
            labels = {"stage": "test", "task": task, "K": k}
            points += [Point({**labels, "sampler": name, **best}, cell) for name, cell in cells.items()]
        return points

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [*test_tables(rows), leaders(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        tried = means(rows)
        best = choose(rows)
        alphas = sorted({setting[2] for setting in tried})
        for i, tau_pos in enumerate(sorted({setting[0] for setting in tried})):
            line = [100 * max(v for s, v in tried.items() if (s[0], s[2]) == (tau_pos, alpha)) for alpha in alphas]
            left.plot(alphas, line, **nth(i), label=f"τ_pos = {tau_pos:g}")
        tidy(left, xlabel="gain_power α", ylabel="accuracy %, mean of tasks and K")
        left.set_title("position temperature (best φ)")
        side_legend(left)
        for i, phi in enumerate(sorted({setting[1] for setting in tried})):
            line = [100 * tried[(best[0], phi, alpha)] for alpha in alphas]
            right.plot(alphas, line, **nth(i), label=f"φ = {phi}")
        tidy(right, xlabel="gain_power α", title=f"certainty φ (τ_pos = {best[0]:g})")
        side_legend(right)

    def summary(self, rows: list[CellResult]) -> list[str]:
        tried, best = means(rows), choose(rows)
        said = [
            f"Chosen on validation problems: τ_pos = {best[0]:g}, φ = {best[1]}, gain_power = {best[2]:g} "
            f"({percent(tried[best])} % there"
            + (f"; the paper's setting {percent(tried[PAPER])} %)." if PAPER in tried else ").")
        ]
        for k, own in sorted(by(pick(rows, stage="test"), "K").items()):
            found, paper, look = (average(own, name) for name in ("preset", "info-gain", "lookum"))
            if found and paper and look:
                over_paper, over_look = (points(difference(own, "preset", name)) for name in ("info-gain", "lookum"))
                said.append(
                    f"On test problems, K = {k}: preset {percent(found.value)} %, paper {percent(paper.value)} % "
                    f"({over_paper} points), LookUM {percent(look.value)} % ({over_look})."
                )
        return said


def setting_recipe(setting: Setting, k: int) -> Any:
    tau_pos, phi, alpha = setting
    return recipe({"name": "info-gain", "phi": phi, "gain_power": alpha}, k, TAU, tau_pos)


def means(rows: list[CellResult]) -> dict[Setting, float]:
    """Mean accuracy of each setting on the validation split, all tasks and both K alike."""
    found: dict[Setting, list[float]] = {}
    for row in pick(rows, stage="validation"):
        found.setdefault((row["τ_pos"], row["φ"], row["α"]), []).append(row["accuracy"])
    return {setting: mean(values) for setting, values in found.items()}


def choose(rows: list[CellResult]) -> Setting:
    """The most accurate setting; of equals the one nearest to the paper's."""
    tried = means(rows)
    near = {setting: sum(a == b for a, b in zip(setting, PAPER, strict=True)) for setting in tried}
    return max(tried, key=lambda setting: (tried[setting], near[setting]))


def leaders(rows: list[CellResult]) -> Table:
    tried = means(rows)
    best = sorted(tried, key=lambda setting: -tried[setting])[:10]
    shown = [*best, *([PAPER] if PAPER in tried and PAPER not in best else [])]
    lines = [[f"{s[0]:g}", s[1], f"{s[2]:g}", percent(tried[s])] for s in shown]
    return Table([*NAMES, "accuracy %"], lines, title="The best settings on validation problems")


def test_tables(rows: list[CellResult]) -> list[Table]:
    own = sorted(by(pick(rows, stage="test"), "K").items())
    return [by_task(f"Accuracy % on test problems, K = {k}", tested) for k, tested in own]
