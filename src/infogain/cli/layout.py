"""How the command line lays out its tables: narrow enough for 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from infogain.report import tables
from infogain.report.legend import ENTROPY, meanings

COST_OF_A_TEXT = {"H̃": ENTROPY}  # where it is no mean over texts
NAMES = 24  # columns that the words of a legend may take


def explained(table: Table, own: Mapping[str, str] = {}) -> Group:
    """The table, and below it what its columns mean: by `own`, or else by the words that all commands share."""
    return Group(table, "", legend([str(column.header).replace("-\n", "-") for column in table.columns], own))


def legend(names: Iterable[str], own: Mapping[str, str] = {}) -> Table:
    """What these column names mean, a line each, to be printed below the table; unknown ones explain themselves."""
    return _lines(meanings(names, own))


def legend_of(*shown: tables.Table) -> Table:
    """What the columns of these tables of results mean, each once."""
    return _lines(tables.meanings_of(*shown))


def _lines(meanings: Mapping[str, str]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=NAMES)
    grid.add_column(overflow="fold")
    for name, meaning in meanings.items():
        grid.add_row(Text(name), Text(meaning))
    return grid


def plain_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)


def in_terminal(table: tables.Table) -> Table:
    """A table of results for the terminal, without its legend."""
    shown = plain_table()
    shown.padding = (0, 0, 0, 0)  # numbers stand apart by themselves
    for i, title in enumerate(table.columns):
        shown.add_column(title, justify="left" if i < table.text_columns else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def in_parts(table: tables.Table, width: int) -> list[Table]:
    """The table, or where it is too wide its columns on several below each other: no word or number is broken.

    Each part begins with the first column, which says what a row is of.
    """
    widths = [max(map(cell_len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    parts = [[0]]
    for i in range(1, len(widths)):
        if len(parts[-1]) > 1 and sum(widths[j] + 1 for j in parts[-1]) + widths[i] > width:
            parts.append([0])
        parts[-1].append(i)
    return [in_terminal(table.part(part)) for part in parts]
