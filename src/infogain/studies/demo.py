"""The demo as a study: a few samplers on a few dozen problems, small enough to be decoded while one watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infogain.report.numbers import percent
from infogain.report.plots import Axes, Figure, bars_across, colour, line, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import SHOWN, Columns, Study, accuracy_bars, leaders, said_of
from infogain.studies.cell import CellResult, Point, by, pick
from infogain.studies.independent import interval
from infogain.studies.methods import GREEDY, TAU, method_points

# Tokens a step. At K = 1 greedy orders solve every Sudoku and nine of ten countdowns: too little to tell apart.
K = {"oneway": 1, "sudoku": 2, "countdown": 2}  # tokens a step
LABELS = ("ar", "entropy", "confidence (top-1)", "confidence (drawn)", "lookum", "info-gain")
BEST: dict[str, Callable[[list[float]], float]] = {
    "accuracy %": max,
    "H̃": min,
    "forwards": min,
    "token-forwards": min,
    "seconds": min,
}
SHOW: Columns = {
    **SHOWN,
    "accuracy %": lambda row: f"{percent(row['accuracy'])} {interval(row, 'accuracy').bounds(digits=0, scale=100)}",
    "H̃": lambda row: f"{row['entropy']:.2f}",
}


class DemoStudy(Study):
    name = "demo"
    title = "Six samplers on the same problems"
    source = "The shape of Table 2, with very few problems"
    claim = "With as many steps, Info-Gain is right more often than greedy orders, at lower H̃."
    figure_size = (12.0, 4.2)

    def __init__(self, count: int) -> None:
        self.count = count  # problems of each task

    @property
    def size(self) -> str:
        return f"{self.count} problems of each task"

    def points(self, size: str) -> list[Point]:  # noqa: ARG002  # there is one size: the count
        found = [method_points(LABELS, [task], [k], [TAU], self.count, 1, keep=("path",)) for task, k in K.items()]
        return [point for points in found for point in points]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [table(own) for own in by(rows, "task").values()]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, *panels = figure.subplots(1, 1 + len(K), width_ratios=[2, *[1] * len(K)])
        first = next(iter(K))
        for row in pick(rows, task=first):
            if "path" in row.numbers:
                left.plot(*zip(*row["path"], strict=True), **line(row["sampler"]))
        title = f"what it costs: {setting(first)}"
        tidy(left, xlabel="tokens written", ylabel=r"mean cumulative entropy $\tilde{H}$ (nats)", title=title)
        left.set_xlim(left=0)
        left.xaxis.get_major_locator().set_params(integer=True)
        left.set_ylim(bottom=0)
        left.legend(frameon=False, loc="lower right", handlelength=3.5, fontsize="small")
        figure.get_layout_engine().set(wspace=0.04)  # type: ignore[union-attr,call-arg]  # constrained
        for axes, task in zip(panels, K, strict=True):
            draw_accuracy(axes, pick(rows, task=task), setting(task), named=axes is panels[0])

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = [sentence(own) for own in by(rows, "task").values()]
        return [*said, f"{self.count} problems of a task prove little: where intervals overlap, nothing is decided."]


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
    named = {row["sampler"]: row for row in rows}
    gain, orders = named["info-gain"], [named[label] for label in GREEDY if label in named]
    greedy = max(orders, key=lambda row: row["accuracy"])
    alike = ", ".join(row["sampler"] for row in orders if row["accuracy"] == greedy["accuracy"])
    return (
        f"{setting(gain['task'])}: Info-Gain is right in {said_of(gain)}, the best greedy order ({alike}) "
        f"in {said_of(greedy)}, AR in {said_of(named['ar'])}. {leaders(rows, 'sampler')}."
    )


def draw_accuracy(axes: Axes, rows: list[CellResult], title: str, named: bool) -> None:
    labels = [row["sampler"] for row in rows]
    colours = [colour(label) for label in labels]
    bars_across(axes, labels, [100 * row["accuracy"] for row in rows], accuracy_bars(rows), color=colours)
    if not named:
        axes.set_yticklabels([])
    tidy(axes, xlim=(0, 103), xticks=(0, 50, 100), xlabel="accuracy %, 95 % interval", title=title)
    axes.grid(axis="y", alpha=0)
