"""The demo as a study: quality and diversity of a few samplers, small enough to be decoded while one watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infogain.report.numbers import grouped, percent
from infogain.report.plots import Figure, bars_across, colour, figure_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import SHOWN, Columns, Study
from infogain.studies.cell import Cell, CellResult, Point, by
from infogain.studies.diversity import ALONE
from infogain.studies.frontier import FEW, draw_frontier, spots
from infogain.studies.independent import interval
from infogain.studies.methods import method_recipe

K = {"oneway": 1, "sudoku": 2}  # tokens a step
DRAWS_OF_A_PROMPT = 4
BEST: dict[str, Callable[[list[float]], float]] = {
    "right %": max,
    "different right %": max,
    "token-forwards": min,
    "seconds": min,
}
SHOW: Columns = {
    **SHOWN,
    "right %": lambda row: f"{percent(row['accuracy'])} {interval(row, 'accuracy').bounds(digits=0, scale=100)}",
    "different right %": lambda row: percent(row["distinct"]),
}


class DemoStudy(Study):
    name = "demo"
    title = "Quality and diversity of six samplers"
    source = "The shape of the study `frontier`, with very few draws"
    claim = "The paper reports how often a sampler is right, and not how many different right answers it finds."
    figure_size = (13.0, 4.2)

    def __init__(self, count: int) -> None:
        self.count = count  # draws of each task

    @property
    def size(self) -> str:
        cells = [self.cell(task, FEW[0], k) for task, k in K.items()]
        return " and ".join(f"{cell.problems * cell.draws} draws of {cell.task}" for cell in cells)

    def points(self, size: str) -> list[Point]:  # noqa: ARG002  # there is one size: the count
        return [
            Point({"task": task, "K": k, "sampler": label}, self.cell(task, label, k))
            for task, k in K.items()
            for label in FEW
        ]

    def cell(self, task: str, label: str, k: int) -> Cell:
        """One batch of a task with a single canvas; of another as many prompts as there are draws for."""
        draws = self.count if task in ALONE else min(DRAWS_OF_A_PROMPT, self.count)
        return Cell(task, method_recipe(label, task, k), -(-self.count // draws), kind="diversity", draws=draws)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [table(own) for own in by(rows, "task").values()]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        *panels, cost = figure.subplots(1, 1 + len(K), width_ratios=[*[1.3] * len(K), 1])
        for axes, (task, own) in zip(panels, by(rows, "task").items(), strict=True):
            tidy(axes, title=setting(task), xlabel="right, % of draws")
            draw_frontier(axes, spots(own))
        panels[0].set_ylabel("right and different, % of draws")
        first = by(rows, "task")[next(iter(K))]
        labels = [row["sampler"] for row in first]
        bars_across(cost, labels, [row["token_forwards"] for row in first], color=[colour(label) for label in labels])
        tidy(cost, xlabel="columns run for one text", title=f"what it cost: {setting(next(iter(K)))}")
        figure_legend(figure, panels[0], len(FEW))

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = [sentence(own) for own in by(rows, "task").values()]
        return [*said, f"{self.size} prove little: where intervals overlap, nothing is decided."]


def setting(task: str) -> str:
    return f"{task}, K = {K[task]}"


def table(rows: list[CellResult]) -> Table:
    """Rows of one task; the best of each column stands out."""
    lines = [[row["sampler"], *(SHOW[name](row) for name in BEST)] for row in rows]
    bold = [place for i, name in enumerate(BEST, start=1) for place in best([line[i] for line in lines], i, name)]
    return Table(["sampler", *BEST], lines, title=setting(rows[0]["task"]), bold=bold)


def best(cells: Sequence[str], column: int, name: str) -> list[tuple[int, int]]:
    """Places of the best, as it is shown: ties share it; none where all are alike."""
    values = [float(cell.split()[0].replace(",", "")) for cell in cells]
    if len(set(values)) == 1:
        return []
    return [(i, column) for i, value in enumerate(values) if value == BEST[name](values)]


def sentence(rows: list[CellResult]) -> str:
    """Who is right most often, and who finds the most different right answers."""
    parts = []
    for name, words in (("accuracy", "right most often"), ("distinct", "most different right answers")):
        top = max(row[name] for row in rows)
        who = [row for row in rows if row[name] == top]
        names = " and ".join(row["sampler"] for row in who)
        cost = grouped(max(row["token_forwards"] for row in who))
        parts.append(f"{words}: {names} with {percent(top)} % of draws, at {cost} columns a text")
    return f"{setting(rows[0]['task'])}. {'; '.join(parts)}."
