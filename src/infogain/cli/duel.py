"""The first half of the demo: two samplers decode the same problem as two lanes of one batch."""

from __future__ import annotations

from rich.console import Console

from infogain.cli.board import Board, Screen
from infogain.decode import decode_lanes
from infogain.lane import Lane
from infogain.models.toys import Toy
from infogain.recipe import Recipe
from infogain.schedule import TokensPerStep
from infogain.story import Story
from infogain.trace import StepEvent, Trace

SEED = 5  # a typical case: the greedy order fails, as it does about every second time


def duel(console: Console, toy: Toy, names: tuple[str, str], k: int, delay: float) -> None:
    canvas = toy.canvas(1)
    lanes = [Lane(canvas, Recipe(name, TokensPerStep(k), seed=SEED)) for name in names]  # type: ignore[arg-type]
    stories = [Story(Trace(lane.recipe.plain(), toy.model.mask_id, canvas.rows())) for lane in lanes]
    boards = [Board(name, story, toy.alphabet) for name, story in zip(names, stories, strict=True)]

    with Screen(console, boards, delay) as screen:

        def observe(event: StepEvent) -> None:
            stories[event.lane].observe(event)
            screen.show(boards[event.lane])

        results = decode_lanes(toy.model, lanes, observe=observe, trace=False)

    verdicts = ["right" if toy.accuracy(result.rows()) else "wrong" for result in results]
    console.print(", ".join(f"{name} is {verdict}" for name, verdict in zip(names, verdicts, strict=True)) + ".")
