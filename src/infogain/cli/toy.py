"""`infogain toy`: decode problems of an exact toy model and watch."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infogain.algorithm.schedule import TokensPerStep
from infogain.capacity import PROBLEM_BYTES, check_fits
from infogain.cli.flags import recipe_flags
from infogain.cli.layout import explained, legend, plain_table
from infogain.cli.live_canvas import LiveCanvas, Screen
from infogain.cli.outline import offering
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal, literal
from infogain.decode import decode_lanes
from infogain.loop.batch import Observer
from infogain.loop.lane import Lane
from infogain.loop.result import Result
from infogain.loop.step import StepEvent
from infogain.loop.trace import Story, Trace
from infogain.models.toys import TOYS, Toy, load_toy
from infogain.recipe import Recipe

OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=SectionedCommand)
@click.argument("name", required=False, shell_complete=offering(TOYS))
@click.option("--count", type=click.IntRange(min=1), default=8, show_default=True, help="problems to decode")
@click.option("--out", type=OUTPUT, help="save the result as JSON")
@click.option("--trace", type=OUTPUT, help="save every step as JSON lines, for `infogain replay`")
@OVERWRITE
@click.option("--delay", type=click.FloatRange(min=0), default=0.2, show_default=True, help="seconds per step, live")
@click.option("--quiet", is_flag=True, help="print the line of numbers only")
@recipe_flags
def toy(
    name: str | None,
    count: int,
    out: Path | None,
    trace: Path | None,
    overwrite: bool,
    delay: float,
    quiet: bool,
    recipe: Recipe,
) -> None:
    """Decode the problems of an exact toy model.

    Without NAME, list the toys.

    \b
    Examples:
      infogain toy
      infogain toy one-way --sampler info-gain -k 2
      infogain toy judgement --sampler entropy -k 3 --count 100 --quiet
      infogain toy one-way --recipe my-recipe.toml --out result.json --trace trace.jsonl
    """
    console = Terminal()
    if name is None:
        console.print(explained(_toys(), {"a problem": "its _ are masked: the columns to write"}))
        return
    check_file(out, overwrite)
    check_file(trace, overwrite)
    problem = load_toy(name)
    check_fits("--count", count, *PROBLEM_BYTES)
    lane = Lane(problem.canvas(count, recipe.seed), recipe)
    result = _watch(console, problem, lane, delay) if console.is_terminal and not quiet else _decode(problem, lane)
    if not quiet:
        _print_texts(console, problem, result)
    console.print(summary(problem, result), soft_wrap=True)
    if not quiet:
        console.print(legend(("H̃", "forwards", "token-forwards")))
    if recipe.schedule == TokensPerStep() and not recipe.sampler.traits.adaptive and not quiet:
        console.print("One token at a time, an exact model is always right; samplers differ from -k 2 on.")
    if out:
        result.save(out)
        console.print(f"result → {out}", soft_wrap=True)
    if trace and result.trace:
        result.trace.save(trace)
        console.print(f"trace → {trace}; watch it again: infogain replay {trace} --toy {name}", soft_wrap=True)


def _toys() -> Table:
    table = plain_table()
    for title in ("toy", "about", "a problem"):
        table.add_column(title)
    for name in TOYS:
        problem = load_toy(name)
        table.add_row(Text(name, "bold"), literal(problem.about), literal(problem.problems[0]))
    return table


def _decode(problem: Toy, lane: Lane, observe: Observer | None = None) -> Result:
    return decode_lanes(problem.model, [lane], observe=observe)[0]


def _watch(console: Console, problem: Toy, lane: Lane, delay: float) -> Result:
    story = Story(Trace(lane.recipe.plain(), problem.model.mask_id, lane.canvas.rows()))
    canvas = LiveCanvas(lane.recipe.sampler.name, story, problem.alphabet)
    with Screen(console, [canvas], delay) as screen:

        def observe(event: StepEvent) -> None:
            story.follow(event.record())
            screen.show(canvas)

        return _decode(problem, lane, observe)


def _print_texts(console: Console, problem: Toy, result: Result) -> None:
    for row, cost in zip(result.rows(), result.cumulative_entropy.tolist(), strict=True):
        right = problem.accuracy([row]) == 1
        mark = Text("✓ right", "green") if right else Text("✗ wrong", "red")
        console.print(literal(problem.decode(row)), Text(f" H̃ {cost:5.2f} "), mark, soft_wrap=True)


def summary(problem: Toy, result: Result) -> str:
    """Means per prompt."""
    entropy, forwards, columns = (
        x.double().mean().item() for x in (result.cumulative_entropy, result.forwards, result.token_forwards)
    )
    return (
        f"accuracy {100 * problem.accuracy(result.rows()):.1f} %  H̃ {entropy:.2f}  "
        f"forwards {forwards:.1f}  token-forwards {columns:.1f}"
    )
