"""The number of candidates N, and what else the same compute would buy."""

from __future__ import annotations

from infogain.report.numbers import percent
from infogain.report.plots import BLACK, ORANGE, RED, Figure, figure_legend, nth, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Study, accuracy_bars, listing
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.methods import METHODS, SEEDS, of_size, recipe

K = 2
COUNTS = (1, 2, 4, 8, 16)
SWEEP, EQUAL = "N", "equal compute"


class CandidatesStudy(Study):
    name = "candidates"
    title = "How many candidates, and at what price"
    source = "Sec. 4, App. B (N = 8)"
    claim = "The paper uses N = 8 everywhere and reports the cost as small, for candidates are evaluated in one batch."
    figure_size = (11.0, 7.0)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 1), (30, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["countdown"], ["countdown", "judgement", "oneway", "sudoku"])
        counts = of_size(size, (1, 8), (1, 4, 8), COUNTS)
        others = {
            f"best-of-8, K = {K}": recipe(METHODS["best-of-8"], K),
            f"confidence (drawn), K = {K // 2}": recipe(METHODS["confidence (drawn)"], K // 2),
            f"entropy, K = {K // 2}": recipe(METHODS["entropy"], K // 2),
        }
        sweep = {n: recipe({"name": "info-gain", "n": n}, K) for n in counts}
        points: list[Point] = []
        for task in tasks:
            labels = [{"part": SWEEP, "task": task, "sampler": "info-gain", "N": n} for n in sweep]
            labels += [{"part": EQUAL, "task": task, "sampler": name, "N": ""} for name in others]
            cells = (Cell(task, asked, problems, SEEDS[:seeds]) for asked in (*sweep.values(), *others.values()))
            points += map(Point, labels, cells)
        return points

    def tables(self, rows: list[CellResult]) -> list[Table]:
        numbers = ["accuracy %", "H̃", "forwards", "token-forwards"]
        labels = ["task", "sampler", "N"]
        return [listing(f"Info-Gain with K = {K}, and rivals for the same compute", rows, numbers, labels)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        tasks = by(rows, "task")
        panels = figure.subplots(2, 2).flatten() if len(tasks) > 1 else [figure.subplots()]
        for axes, (task, both) in zip(panels, tasks.items(), strict=False):
            own = pick(both, part=SWEEP)
            x = [row["token_forwards"] for row in own]
            style = {**nth(0), "label": f"info-gain, K = {K}, N as marked"}
            axes.errorbar(x, [100 * row["accuracy"] for row in own], accuracy_bars(own), capsize=2, **style)
            for row in own:
                at = (row["token_forwards"], 100 * row["accuracy"])
                axes.annotate(f"{row['N']}", at, xytext=(4, -12), textcoords="offset points", fontsize=8)
            for row, colour, mark in zip(pick(both, part=EQUAL), (BLACK, ORANGE, RED), "sD^", strict=True):
                y, error = 100 * row["accuracy"], accuracy_bars([row])
                axes.errorbar(row["token_forwards"], y, error, fmt=mark, color=colour, capsize=2, label=row["sampler"])
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:,.0f}")
            tidy(axes, xlabel="token-forwards per problem", ylabel="accuracy %", title=task)
        figure_legend(figure, panels[0], 4)

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for task, own in by(rows, "task").items():
            sweep = ", ".join(f"N = {row['N']}: {percent(row['accuracy'])} %" for row in pick(own, part=SWEEP))
            others = ", ".join(f"{row['sampler']}: {percent(row['accuracy'])} %" for row in pick(own, part=EQUAL))
            said.append(f"{task}: {sweep}; for the same compute or less {others}.")
        return said
