"""How the command line lays out its tables: narrow enough for 80 columns."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
