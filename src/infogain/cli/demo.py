"""`infogain demo`: the whole idea in half a minute, without weights or a GPU."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from infogain.cli.duel import SEED, duel
from infogain.cli.picture import LINES, draw
from infogain.cli.scores import Score, compare, save, table
from infogain.models.toys import Toy, load_toy
from infogain.samplers import SAMPLERS

TOKENS_PER_STEP = {"one-way": 2, "judgement": 3}
DELAY = 0.3  # seconds per step, on a terminal

EXPLAINED = """\
Two samplers fill the same masks, two a step: decimal factors, binary product.
entropy writes what is surest now; info-gain also weighs what stays uncertain.
H̃ adds up the entropy of every token as it is written.
"""
READING = """\
Means per problem, samplers at their defaults; the best of each column in bold.
forwards: model calls; token-forwards: columns those ran, for all candidates.
Look-ahead pays for lower H̃ with token-forwards, and by picking among draws it
leaves the model's distribution. Low H̃ alone is not accuracy: see best-of-n on
one-way. On judgement, samplers that rank the positions alike come out alike.
"""
NEXT = """\
Try next:
  {infogain} samplers
  {infogain} toy one-way --sampler info-gain -k 2"""


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="folder for the picture and the numbers",
)
@click.option(
    "--count", type=click.IntRange(min=1), default=200, show_default=True, help="problems per sampler and toy"
)
def demo(out: Path, count: int) -> None:
    """Watch samplers decode, then compare them.

    Ends with tables, a picture, and the numbers as files. Needs no weights and no GPU.

    \b
    Examples:
      infogain demo
      infogain demo --count 1000 --out big-demo
    """
    console = Console(highlight=False, markup=False)
    torch.set_num_threads(1)  # tables this small lose more to waiting threads than they gain
    out.mkdir(parents=True, exist_ok=True)
    toys = [load_toy(name) for name in TOKENS_PER_STEP]
    console.print(EXPLAINED)
    duel(console, toys[0], ("entropy", "info-gain"), TOKENS_PER_STEP[toys[0].name], DELAY)
    console.print(f"One problem (seed {SEED}) proves nothing: now {count} of each toy.\n", soft_wrap=True)
    scores = _compare(console, toys, count)
    for toy in toys:
        console.print(Text(_title(toy), "bold") + Text(f": {toy.about}"))
        console.print(table(scores[toy.name]), "")
    console.print(READING)
    files = save([score for row in scores.values() for score in row], count, out)
    files += _picture(console, scores, toys, count, out / "demo.png")
    console.print(f"Written: {', '.join(map(str, files))}", soft_wrap=True)
    console.print(NEXT.format(infogain=_command()), soft_wrap=True)


def _compare(console: Console, toys: list[Toy], count: int) -> dict[str, list[Score]]:
    scores = {}
    columns = (TextColumn("decoding"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(toys) * len(SAMPLERS))
        for toy in toys:
            progress.update(task, description=toy.name)
            drawn = tuple(LINES) if toy is toys[0] else ()
            k = TOKENS_PER_STEP[toy.name]
            scores[toy.name] = compare(toy, count, k, drawn, lambda: progress.advance(task))
    return scores


def _picture(console: Console, scores: dict[str, list[Score]], toys: list[Toy], count: int, path: Path) -> list[Path]:
    try:
        draw(scores, {toy.name: _title(toy) for toy in toys}, count, path)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("No picture: matplotlib is not installed. Get it with:")
        console.print("  pip install 'infogain[plot]'")
        return []
    return [path]


def _command() -> str:
    """How to call us again: by name, or by path where the environment is not active."""
    return "infogain" if shutil.which("infogain") else str(Path(sys.argv[0]))


def _title(toy: Toy) -> str:
    return f"{toy.name}, K = {TOKENS_PER_STEP[toy.name]}"
