"""`infogain frequencies`: count token ids into the table that the `pc` sampler reads."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from infogain.cli.output import check_file
from infogain.errors import InputError
from infogain.samplers.frequencies import count_frequencies, write_frequencies


@click.command()
@click.argument("ids", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="JSON table to write")
def frequencies(ids: tuple[str, ...], out: Path) -> None:
    """Count token ids for the pc sampler.

    The files hold whole numbers between white space; - is standard input.
    The ids must come from the tokenizer of the model that will be decoded.

    \b
    Examples:
      infogain frequencies corpus.ids --out frequencies.json
      cat *.ids | infogain frequencies - --out frequencies.json
      infogain toy one-way --sampler pc --frequencies frequencies.json
    """
    check_file(out)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        counts = count_frequencies(line for path in ids for line in _lines(path, progress))
    if not counts:
        raise InputError(f"a frequency table needs at least one token id; {', '.join(ids)} held none.")
    write_frequencies(counts, out)
    click.echo(f"{counts.total():,} tokens, {len(counts):,} different ids → {out}")


def _lines(path: str, progress: Progress) -> Iterator[list[int]]:
    if path == "-":
        yield from _parse(sys.stdin, "standard input")
        return
    # What is not text cannot be an id either: replaced here, it is reported with its line.
    with progress.open(path, "r", encoding="utf-8", errors="replace", description=Path(path).name) as file:
        yield from _parse(file, path)


def _parse(lines: Iterable[str], name: str) -> Iterator[list[int]]:
    for number, line in enumerate(lines, start=1):
        words = line.split()
        for word in words:
            if not (word.isascii() and word.isdigit()):
                raise InputError(
                    f"token ids must be whole numbers between white space; {name}, line {number} holds {word[:40]!r}. "
                    "Run the text through the model's tokenizer first."
                )
        yield [int(word) for word in words]
