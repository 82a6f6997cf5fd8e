"""A record with its table: printed for people, and written as files for everyone else."""

from __future__ import annotations

from pathlib import Path

from infogain.cli.layout import in_terminal, legend_of
from infogain.cli.terminal import Terminal
from infogain.evals.reproduced_table import write_files
from infogain.options import Plain
from infogain.report.tables import Table


def print_and_write(found: Plain, table: Table, said: list[str], out: Path) -> None:
    """Print a table with its legend, what must be said beside it, and which files were written."""
    console, written = Terminal(), ", ".join(map(str, write_files(found, table, said, out)))
    console.print(in_terminal(table), "", legend_of(table), "", sep="\n")
    for line in [*said, f"{found['table']} → {written}"]:
        console.print(line, soft_wrap=True)
