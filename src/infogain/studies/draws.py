"""Whose random numbers draw tokens, and how one of the candidates is taken: what both do to quality and diversity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from infogain.options import Plain
from infogain.report.numbers import NONE
from infogain.report.plots import Figure, figure_legend, nth, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Columns, Study, tabulate
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.diversity import diversity_cell
from infogain.studies.frontier import MEASURED, mean_of
from infogain.studies.methods import DEAR, METHODS, SEEDS, VARIANTS, of_size, recipe
from infogain.studies.written import Written, WrittenStudy
from infogain.zoo.tasks import TASKS, load_task

NAMES = ("accuracy", "distinct")
BASES = ("info-gain", "lookum")
DRAWS, TAU_SELECT = ("fresh", "shared", "fixed"), (0.0, 0.1, 0.5)
COLUMNS: Columns = {
    **{name: lambda row, name=name: str(row[name]) for name in ("sampler", "draws")},  # type: ignore[misc]
    "τ_select": lambda row: f"{row['τ_select']:g}",
    **MEASURED,
    "different right %": lambda row: MEASURED["different right %"](row) if "distinct" in row.numbers else NONE,
}


class DrawsStudy(Study):
    name = "draws"
    title = "Random numbers of tokens, and the choice among candidates"
    source = "beyond the paper (draws, tau_select)"
    claim = "In the paper every candidate draws its own tokens, and the best one is taken."
    figure_size = (13.0, 7.6)
    ks: Sequence[int] = (1, 2)  # tokens a step, in the full size

    def points(self, size: str) -> list[Point]:
        settings = of_size(
            size,
            [("info-gain", draws, tau) for draws, tau in (("fresh", 0.0), ("shared", 0.1))],
            list(product(BASES[:1], DRAWS, TAU_SELECT[:1])),
            list(product(BASES, DRAWS, TAU_SELECT)),
        )
        return [
            Point({"task": task, "K": k, "sampler": base, "draws": draws, "τ_select": tau}, cell)
            for k in of_size(size, (2,), (1,), self.ks)
            for task in self.tasks(size)
            for base, draws, tau in settings
            if load_task(task).many or base == BASES[0]  # where there is one right answer, one sampler will do
            for cell in [setting_cell(task, base, {"draws": draws, "tau_select": tau}, k, size)]
        ]

    def tasks(self, size: str) -> list[str]:
        return of_size(size, ["sudoku"], ["oneway"], [name for name in TASKS if name not in DEAR])

    def tables(self, rows: list[CellResult]) -> list[Table]:
        several = [row for row in rows if "distinct" in row.numbers]
        found = [means(f"Mean of {', '.join(by(own, 'task'))}, K = {k}", own) for k, own in by(several, "K").items()]
        return found + [
            tabulate(f"{task}, K = {k}", own, COLUMNS, text_columns=2)
            for k, same in by(rows, "K").items()
            for task, own in by(same, "task").items()
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        several = [row for row in rows if "distinct" in row.numbers]
        lines, bases = list(by(several, "K").items()), list(by(several, "sampler"))
        if not several:
            return
        panels = figure.subplots(len(lines), len(bases), squeeze=False, sharex="row", sharey="row")
        for line, (k, own) in zip(panels, lines, strict=True):
            for axes, base in zip(line, bases, strict=True):
                for i, (draws, same) in enumerate(by(pick(own, sampler=base), "draws").items()):
                    at = [[100 * mean_of(each, name).value for each in by(same, "τ_select").values()] for name in NAMES]
                    axes.plot(*at, **nth(i), label=draws)
                tidy(axes, title=f"{base}, K = {k}", xlabel="right, % of draws")
            line[0].set_ylabel("right and different, %")
        figure_legend(figure, panels[0][0], 3)

    def summary(self, rows: list[CellResult]) -> list[str]:
        several, said = [row for row in rows if "distinct" in row.numbers], []
        for (k, own_k), base in product(by(several, "K").items(), by(several, "sampler")):
            parts = []
            for draws, same in by(pick(own_k, sampler=base, τ_select=0.0), "draws").items():
                if len(same) < len(by(own_k, "task")):
                    continue
                right, different = (100 * mean_of(same, name).value for name in NAMES)
                parts.append(f"{draws} {right:.1f} % right, {different:.1f} % right and different")
            said.append(f"{base}, K = {k}, the best is taken: {'; '.join(parts)}.")
        return said


class WritingDrawsStudy(WrittenStudy, DrawsStudy):
    """Settings compared on texts, two tokens a step: with one, nearly all are good."""

    figure_size = (13.0, 4.2)
    ks = (2,)

    def __init__(self, name: str, written: Written) -> None:
        super().__init__(name, written)
        self.title = f"{DrawsStudy.title}: {written.texts}"

    def tasks(self, size: str) -> list[str]:  # noqa: ARG002  # all sizes have the one
        return [self.written.task]


def setting_cell(task: str, base: str, options: Plain, k: int, size: str) -> Cell:
    """A sampler with these options: its diversity where problems have several right answers, else its accuracy."""
    asked = recipe({**METHODS, **VARIANTS}[base] | options, k)
    if load_task(task).many:
        return diversity_cell(task, asked, size)
    problems, seeds = of_size(size, (2, 1), (25, 1), (500, 5))
    return Cell(task, asked, problems, SEEDS[:seeds])


def means(title: str, rows: list[CellResult]) -> Table:
    """A line per setting: means over the tasks."""
    settings: dict[tuple[str, str, float], list[CellResult]] = {}
    for row in rows:
        settings.setdefault((row["sampler"], row["draws"], row["τ_select"]), []).append(row)
    lines = [
        [base, draws, f"{tau:g}", *(mean_of(own, name).show(scale=100) for name in NAMES)]
        for (base, draws, tau), own in settings.items()
        if len(own) == len(by(rows, "task"))
    ]
    return Table(["sampler", "draws", "τ_select", "right %", "different right %"], lines, 2, title)
