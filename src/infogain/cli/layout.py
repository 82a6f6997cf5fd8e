"""How the command line lays out its tables: narrow enough for 80 columns."""

from __future__ import annotations

from rich import box
from rich.table import Table

from infogain.evals import tables


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
