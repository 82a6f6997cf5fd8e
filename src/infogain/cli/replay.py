"""`infogain replay`: watch a saved trace again."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from infogain.cli.board import Board, Screen
from infogain.cli.story import Story
from infogain.errors import InputError
from infogain.models.toys import load_toy
from infogain.trace import Step, Trace


@click.command()
@click.argument("path", metavar="TRACE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--toy", metavar="NAME", help="toy the trace is of: shows its signs in place of token ids")
@click.option("--delay", type=click.FloatRange(min=0), default=0.3, show_default=True, help="seconds per step, live")
def replay(path: Path, toy: str | None, delay: float) -> None:
    """Replay a saved trace step by step.

    \b
    Examples:
      infogain toy one-way -k 2 --trace trace.jsonl
      infogain replay trace.jsonl --toy one-way
    """
    trace = Trace.load(path)
    alphabet = load_toy(toy).alphabet if toy else None
    highest = max((token for row in [*trace.canvas, *trace.rows] for token in row), default=0)
    if alphabet and max(highest, trace.mask_id) >= len(alphabet):
        raise InputError(
            f"the trace must be of the toy {toy}, whose token ids are below {len(alphabet)}; "
            f"{path} holds {max(highest, trace.mask_id)}. Drop --toy to see the ids."
        )
    story, end = Story(trace), Story(trace)
    for step in trace.steps:
        _follow(end, step, path)
    story.foretell(end)
    board = Board(trace.recipe["sampler"]["name"], story, alphabet)
    with Screen(Console(highlight=False, markup=False), [board], delay) as screen:
        for step in trace.steps:
            story.follow(step)
            screen.show(board)


def _follow(story: Story, step: Step, path: Path) -> None:
    try:
        story.follow(step)
    except (IndexError, ValueError) as error:
        raise InputError(
            f"the steps of a trace must follow from each other; step {step.step} of {path} does not. "
            "Was the file edited? Decode again with --trace."
        ) from error
