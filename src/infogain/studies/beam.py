"""Width of the beam against best-of-N, at a fixed number of candidates per step."""

from __future__ import annotations

from infogain.options import Plain
from infogain.report.plots import MEAN_ENTROPY, Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, accuracy_bars, beats, listing, said_of
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import SEEDS, of_size, recipe

K = 2


def sampler(width: int, budget: int) -> Plain:
    """A beam of this width within the budget. A beam as wide as the budget has no candidates left, and is best-of-N."""
    if width == budget:
        return {"name": "best-of-n", "n": budget, "base": {"name": "confidence", "of": "drawn"}}
    return {"name": "info-gain-beam", "width": width, "n": budget // width}


class BeamStudy(Study):
    """Fig. 4: beam sizes under a fixed budget."""

    name = "beam"
    title = "Beam width under a fixed budget"
    source = "Fig. 4"
    claim = (
        "With a fixed expansion budget, width 1 (the sampler) is near the front, wider beams lower H̃ a little, and "
        "best-of-N (width = budget) is clearly worse."
    )
    figure_size = (11.0, 4.6)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 1), (30, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["countdown"], ["countdown", "judgement", "oneway"])
        budgets = of_size(size, (8,), (8,), (8, 4, 16))
        return [
            Point(
                {"task": task, "budget": budget, "width": width},
                Cell(task, recipe(sampler(width, budget), K), problems, SEEDS[:seeds]),
            )
            for budget in budgets
            for task in tasks
            for width in [2**i for i in range(budget.bit_length())]
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        numbers = ["accuracy %", "H̃", "forwards", "token-forwards"]
        return [listing(f"K = {K}; width = budget is best-of-N", rows, numbers)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        largest = max(row["budget"] for row in rows)
        main = 8 if pick(rows, budget=8) else largest
        for i, (task, own) in enumerate(by(pick(rows, budget=main), "task").items()):
            widths = [row["width"] for row in own]
            left.plot(widths, [row["entropy"] for row in own], **nth(i), label=task)
            right.errorbar(
                widths, [100 * row["accuracy"] for row in own], accuracy_bars(own), capsize=2, **nth(i), label=task
            )
        for axes, words in ((left, MEAN_ENTROPY), (right, "accuracy % (95 % interval)")):
            axes.set_xscale("log", base=2)
            ticks = sorted({row["width"] for row in rows if row["budget"] == main})
            axes.set_xticks(ticks, [f"{w}\n(best-of-N)" if w == main else f"{w}" for w in ticks])
            tidy(axes, xlabel=f"hypotheses kept, of {main} candidates a step", ylabel=words)
        side_legend(right)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for task, own in by(pick(rows, budget=8), "task").items():
            named = {row["width"]: row for row in own}
            if len(named) == 4:
                found.append(beats(f"The sampler (width 1) beats best-of-8: {task}", named[1], named[8]))
                one, *wider = (interval(named[width], "entropy") for width in (1, 2, 4))
                saved = saved_entropy(one, min(wider))
                lower = " → ".join(f"{h.value:.2f}" for h in (one, *wider))
                found.append(Check(f"Wider beams lower H̃: {task}", saved.above(), f"{lower}: {saved.show(2)} less"))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for task, own in by(pick(rows, budget=8) or rows, "task").items():
            parts = ", ".join(f"{row['width']}: {said_of(row)}" for row in own)
            said.append(f"{task}, budget {own[0]['budget']}, by width: {parts}.")
        return said
