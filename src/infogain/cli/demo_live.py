"""The first half of the demo: two samplers decode the same problem as two lanes of one batch."""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.console import Console

from infogain.algorithm.canvas import Canvas
from infogain.cli.live_canvas import LiveCanvas, Screen
from infogain.decode import decode_lanes
from infogain.loop.lane import Lane
from infogain.loop.step import StepEvent
from infogain.loop.trace import Story, Trace
from infogain.studies.demo import K
from infogain.studies.methods import PRESET, method_recipe
from infogain.studies.subject import Subject
from infogain.zoo.tasks import load_task

TASK = "oneway"
NAMES = ("entropy", PRESET)


class LiveComparison(NamedTuple):
    """What two samplers made of one problem: a sentence for each, and each trace with a title."""

    verdicts: list[str]
    traces: list[tuple[str, Trace]]


def compare_live(console: Console, subject: Subject, delay: float) -> LiveComparison:
    """Decode the first test problem with both samplers, from seed 0, and show both canvases while they are written."""
    model, alphabet = subject.zoo
    task = load_task(TASK)
    problem = task.problems(1, "test")[0]
    canvas = Canvas.infill([alphabet.encode(problem.canvas)], alphabet.mask_id)
    lanes = [Lane(canvas, method_recipe(name, TASK, K[TASK])) for name in NAMES]
    stories = [Story(Trace(lane.recipe.plain(), alphabet.mask_id, canvas.rows())) for lane in lanes]
    canvases = [
        LiveCanvas(name, story, dict(enumerate(alphabet.symbols))) for name, story in zip(NAMES, stories, strict=True)
    ]

    with Screen(console, canvases, delay) as screen:

        def observe(event: StepEvent) -> None:
            stories[event.lane].follow(event.record())
            screen.show(canvases[event.lane])

        results = decode_lanes(model, lanes, observe=observe)

    texts = [alphabet.decode(result.tokens[0].tolist()) for result in results]
    verdicts = ["right" if task.check(problem, text) else "wrong" for text in texts]
    named = list(zip(NAMES, texts, verdicts, strict=True))
    width = max(map(len, NAMES))
    said = [f"{name:<{width}} wrote {in_decimals(text)}: {verdict}." for name, text, verdict in named]
    console.print("", *said, sep="\n")
    traces = [result.trace for result in results if result.trace]
    titles = [f"{name}: {verdict}" for name, verdict in zip(NAMES, verdicts, strict=True)]
    return LiveComparison(said, list(zip(titles, traces, strict=True)))


def in_decimals(text: str) -> str:
    """The equation with a decimal product, for people to read; other text as it is."""
    match = re.fullmatch(r"W(\d\d)\*(\d\d)=([01]+)", text)
    return f"{match[1]} × {match[2]} = {int(match[3], 2)}" if match else text
