"""How the command line lays out its tables: narrow enough for 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from infogain.report import tables

MEANINGS = {  # of words and signs that several commands print
    "H̃": "sum of the tokens' entropies, each as it was written, in nats",
    "forwards": "calls of the model",
    "token-forwards": "columns that ran in those calls, all candidates counted",
}


def explained(table: Table, meanings: Mapping[str, str] = {}) -> Group:
    """The table, and below it a line for each column whose title needs one, by `meanings` or MEANINGS."""
    titles = [str(column.header).replace("-\n", "-") for column in table.columns]
    return Group(table, "", legend(titles, meanings))


def legend(words: Iterable[str], meanings: Mapping[str, str] = {}) -> Table:
    """What each of these words means, a line each; those nobody explains are left out."""
    known, grid = {**MEANINGS, **meanings}, Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for word in words:
        if word in known:
            grid.add_row(Text(word), Text(known[word]))
    return grid


def plain_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)


def in_terminal(table: tables.Table) -> Table:
    shown = plain_table()
    shown.padding = (0, 0, 0, 0)  # numbers stand apart by themselves
    for i, title in enumerate(table.columns):
        shown.add_column(title, justify="left" if i < table.words else "right", overflow="fold")
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
