"""A thousand texts of one beginning: how many are good, how many are different, and how many are both.

A sampler that picks among draws can write good texts by writing the same few. Molecules are also held against those
that the model was trained on, by MOSES's measures.
"""

from __future__ import annotations

from infogain.report.numbers import grouped, number, percent
from infogain.report.plots import Figure, figure_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Columns, accuracy, tabulate
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.frontier import draw_frontier, spots
from infogain.studies.independent import interval
from infogain.studies.methods import PRESET, SEEDS, method_recipe, of_size
from infogain.studies.written import MOLECULES, WrittenStudy, written_in
from infogain.studies.written_molecules import DISTANCES

FEW = ("ar", "entropy", "confidence (drawn)", "margin", "lookum", "info-gain", PRESET)
LABELS = {"tale": FEW, "molecule": (*FEW, "uniform", "lookum (τ_pos .4)", "info-gain (α 0)")}
MANY_CANDIDATES = ("lookum (τ_pos .4, N 32)", "info-gain:validated (N 32)")  # where many tokens are written at once
GROUPS = {"tale": 3, "molecule": 5}  # beginnings, or batches
KS = {"tale": (1, 2), "molecule": (1, 4)}
MANY_TOKENS = 2
TAUS = (0.7, 1.0)
SCAFFOLD = "scaffold"
CHEMISTRY: Columns = {
    "novel %": lambda row: interval(row, "novel").show(scale=100),
    "all three %": lambda row: interval(row, "valid_unique_novel").show(scale=100),
    "IntDiv": lambda row: interval(row, "diversity").show(3),
    **{
        title: lambda row, name=name: number(row[f"distance_{name}"], 2)  # type: ignore[misc]
        for title, name in DISTANCES.items()
    },
}


class VarietyStudy(WrittenStudy):
    title = "A thousand texts, and how many of them are different"
    source = "beyond the paper"
    claim = "The paper judges single texts. A sampler that picks among draws may write good ones by repeating itself."
    figure_size = (15.0, 5.2)

    def points(self, size: str) -> list[Point]:
        labels = of_size(size, ("entropy", "info-gain"), ("entropy", "info-gain", PRESET), LABELS[self.written.task])
        ks = of_size(size, (4,), (2,), KS[self.written.task])
        taus = of_size(size, TAUS[:1], TAUS[:1], TAUS)
        return [
            Point({"task": cell.task, "K": k, "τ_token": tau, "sampler": label}, cell)
            for k in ks
            for tau in taus
            for label in (*labels, *(MANY_CANDIDATES if size == "full" and k > MANY_TOKENS else ()))
            for cell in self.cells(label, k, tau, size)
        ]

    def cells(self, label: str, k: int, tau: float, size: str) -> list[Cell]:
        """Texts from few beginnings; and molecules around many scaffolds."""
        groups, draws = of_size(size, (2, 2), (2, 10), (GROUPS[self.written.task], 1000))
        asked = method_recipe(label, self.written.task, k, tau)
        keep = ("chemistry",) if self.written == MOLECULES else ()
        found = [Cell(self.written.task, asked, groups, kind="diversity", draws=draws, keep=keep)]
        if self.written == MOLECULES and tau == TAUS[0]:
            problems, seeds = of_size(size, (2, 1), (10, 1), (500, 5))
            found.append(Cell(SCAFFOLD, asked, problems, SEEDS[:seeds]))
        return found

    def tables(self, rows: list[CellResult]) -> list[Table]:
        texts, around = [row for row in rows if row.cell.task != SCAFFOLD], pick(rows, task=SCAFFOLD)
        found = [texts_table(k, own) for k, own in by(texts, "K").items()]
        return found + ([scaffold_table(around)] if around else [])

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        texts = [row for row in rows if row.cell.task != SCAFFOLD and row["τ_token"] == TAUS[0]]
        panels = figure.subplots(1, len(by(texts, "K")), squeeze=False)[0]
        for axes, (k, own) in zip(panels, by(texts, "K").items(), strict=True):
            written = written_in(own)
            tidy(axes, title=f"K = {k}, τ_token = {TAUS[0]}", xlabel=f"{written.texts} that {written.right}, %")
            draw_frontier(axes, spots(own))
        panels[0].set_ylabel("good and different, %")
        figure_legend(figure, panels[-1])  # the last K has all samplers

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for k, own in by([row for row in rows if row.cell.task != SCAFFOLD], "K").items():
            written = written_in(own)
            words = {"accuracy": f"{written.right} most often", "distinct": "good and different most often"}
            for name, what in words.items():
                best = max(own, key=lambda row: float(row[name]))
                said.append(
                    f"K = {k}, {written.texts} {what}: {best['sampler']} at τ_token {best['τ_token']:g}, "
                    f"{percent(best['accuracy'])} % good, {percent(best['different'])} % different, "
                    f"{percent(best['distinct'])} % both."
                )
        return said


def texts_table(k: int, rows: list[CellResult]) -> Table:
    """A line per sampler and temperature."""
    written, cell = written_in(rows), rows[0].cell
    columns: Columns = {
        "sampler": lambda row: str(row["sampler"]),
        "τ_token": lambda row: f"{row['τ_token']:g}",
        written.share: accuracy,
        "different %": lambda row: interval(row, "different").show(scale=100),
        "both %": lambda row: interval(row, "distinct").show(scale=100),
        **(CHEMISTRY if "chemistry" in cell.keep else {}),
        "token-forwards": lambda row: grouped(row["token_forwards"]),
    }
    title = f"{cell.problems} times {grouped(cell.draws)} {written.texts} {written.group}, K = {k}"
    return tabulate(title, rows, columns, text_columns=2)


def scaffold_table(rows: list[CellResult]) -> Table:
    """How often a molecule that was written around a scaffold has it."""
    columns: Columns = {
        "sampler": lambda row: str(row["sampler"]),
        "K": lambda row: str(row["K"]),
        "τ_token": lambda row: f"{row['τ_token']:g}",
        "scaffold kept %": accuracy,
        "H̃": lambda row: interval(row, "entropy").show(2),
    }
    return tabulate(f"{grouped(rows[0].cell.problems)} scaffolds, each to be completed", rows, columns, text_columns=3)
