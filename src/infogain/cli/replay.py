"""`infogain replay`: watch a saved trace again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from infogain.cli.image_canvas import ImageCanvas
from infogain.cli.layout import COST_OF_A_TEXT, legend
from infogain.cli.live_canvas import LiveCanvas, Screen
from infogain.cli.saved_trace import load_trace, token_texts
from infogain.cli.terminal import Terminal
from infogain.loop.trace import Story, tell


@click.command()
@click.argument("path", metavar="TRACE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--toy",
    metavar="NAME",
    help="toy that was decoded, to show its characters; unset: the texts that the trace carries, or token ids",
)
@click.option("--delay", type=click.FloatRange(min=0), default=0.3, show_default=True, help="seconds per step, live")
def replay(path: Path, toy: str | None, delay: float) -> None:
    """Replay a saved trace step by step.

    \b
    Examples:
      infogain toy one-way -k 2 --trace trace.jsonl
      infogain replay trace.jsonl --toy one-way
    """
    trace = load_trace(path)
    trace = dataclasses.replace(trace, words=token_texts(trace, toy, path))
    story = Story(trace)
    story.foretell(tell(trace, str(path)))
    console, sampler = Terminal(), trace.recipe["sampler"]["name"]
    canvas = (
        ImageCanvas(sampler, story, trace, trace.image, console.width)
        if trace.image
        else LiveCanvas(sampler, story, trace.words)
    )
    with Screen(console, [canvas], delay) as screen:
        for step in trace.steps:
            story.follow(step)
            screen.show(canvas)
    if console.is_terminal:
        console.print(legend(["H̃"], COST_OF_A_TEXT))
