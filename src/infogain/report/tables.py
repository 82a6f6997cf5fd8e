"""A table as a value, and as Markdown, LaTeX, HTML, CSV and plain text. No cell is ever taken for markup."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from infogain.report.legend import meanings
from infogain.report.pages import render

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "H̃": r"$\tilde{H}$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\n": " ",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
LATEX_SIGNS = re.compile("|".join(map(re.escape, LATEX)))
# Signs that Markdown could take for its own, but for two that it does not: an interval, and a _ between letters.
MARKDOWN_SIGNS = re.compile(r"(\[[−+\d., –]+\](?![(\[:])|(?<=\w)_(?=\w))|[\\`*_\[\]|~]")


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns. The first `text_columns` hold words, all others numbers."""

    columns: list[str]
    rows: list[list[str]]
    text_columns: int = 1
    title: str = ""
    bold: list[tuple[int, int]] = field(default_factory=list)  # row and column of each cell that stands out
    explained: Mapping[str, str] = field(default_factory=dict)  # meanings of columns that only this table has

    @property
    def legend(self) -> list[str]:
        """What the columns mean, to be shown below the table: lines such as `forwards: calls of the model`."""
        return [f"{names}: {about}" for names, about in self.meanings.items()]

    @property
    def meanings(self) -> dict[str, str]:
        """Each column and what it means; columns with the same meaning stand together, with commas between them."""
        return meanings_of(self)

    def part(self, columns: Sequence[int]) -> Table:
        """The table with these columns alone, by number."""
        head, *rows = ([row[i] for i in columns] for row in (self.columns, *self.rows))
        bold = [(i, columns.index(j)) for i, j in self.bold if j in columns]
        return Table(head, rows, sum(i < self.text_columns for i in columns), self.title, bold, self.explained)


def meanings_of(*tables: Table) -> dict[str, str]:
    """The columns of several tables and what they mean, each once."""
    own = {name: about for table in tables for name, about in table.explained.items()}
    return meanings([name for table in tables for name in table.columns], own)


class Link(str):
    """A cell that in Markdown links to an anchor of its page."""

    anchor: str

    def __new__(cls, text: str, anchor: str) -> Link:
        made = super().__new__(cls, text)
        made.anchor = anchor
        return made


def as_markdown(table: Table) -> str:
    ruler = [":--" if i < table.text_columns else "--:" for i in range(len(table.columns))]
    lines = [[in_markdown(cell) for cell in row] for row in (table.columns, *table.rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in [lines[0], ruler, *lines[1:]])


def in_markdown(text: str) -> str:
    escaped = MARKDOWN_SIGNS.sub(lambda sign: sign[1] or f"\\{sign[0]}", " ".join(text.split()))
    safe = html.escape(escaped, quote=False)
    return f"[{safe}](#{text.anchor})" if isinstance(text, Link) else safe


def legend_in_markdown(*tables: Table) -> str:
    """What the columns of these tables mean, as one paragraph to stand below them."""
    told = (f"**{in_markdown(names)}** {in_markdown(about)}" for names, about in meanings_of(*tables).items())
    return f"Columns: {' · '.join(told)}.\n"


def as_latex(table: Table) -> str:
    """For the booktabs package."""
    shape = "l" * table.text_columns + "r" * (len(table.columns) - table.text_columns)
    head, *body = (f"{' & '.join(map(in_latex, row))} \\\\\n" for row in [table.columns, *table.rows])
    begin, end = f"\\begin{{tabular}}{{{shape}}}\n\\toprule\n", "\\bottomrule\n\\end{tabular}\n"
    return f"{begin}{head}\\midrule\n{''.join(body)}{end}"


def in_latex(text: str) -> str:
    return LATEX_SIGNS.sub(lambda sign: LATEX[sign[0]], text)


def as_html(table: Table) -> str:
    """The table and what its columns mean, to stand in a page."""
    return render("table.html", table=table) + render("legend.html", meanings=table.meanings)


def as_csv(table: Table) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([table.columns, *table.rows])
    return file.getvalue()


def as_text(table: Table) -> str:
    """In columns, with the legend, for a terminal without more."""
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    lines = [table.columns, ["─" * width for width in widths], *table.rows]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join(["  ".join(line).rstrip() for line in padded] + table.legend)


FORMATS: dict[str, Callable[[Table], str]] = {
    "markdown": lambda table: f"{as_markdown(table)}\n{legend_in_markdown(table)}",
    "latex": as_latex,
    "html": as_html,
    "csv": as_csv,
}
