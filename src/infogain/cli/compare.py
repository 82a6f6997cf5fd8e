"""`infogain compare`: one prompt, several samplers, side by side with what each cost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.table import Table
from rich.text import Text

from infogain.algorithm.schedule import TokensPerStep
from infogain.cli.flags import RecipeFlags, shared_settings_flags
from infogain.cli.generate import CHAT, LENGTH, SYSTEM
from infogain.cli.layout import COST_OF_A_TEXT, explained, plain_table
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.progress import watch
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal, busy, literal
from infogain.cli.text_output import masks
from infogain.errors import InputError
from infogain.generate import BLOCK, Generation, collect, decode_job, writes_whole
from infogain.options import dashed, fields
from infogain.provenance import in_words
from infogain.recipe import Recipe
from infogain.samplers import SAMPLERS
from infogain.text.prompts import Job, completions
from infogain.text.text_model import TextModel

Outcome = tuple[str, Generation, float]  # sampler, text, seconds
NARROWEST = 28  # columns a text needs to be read beside others
ROOMY = 70  # columns that hold every title of the table of costs on one line
MEANINGS = {
    **COST_OF_A_TEXT,
    "tokens": "written, up to the end of the text",
    "end": "eos: a token ended the text; length: all its columns are written",
    "seconds": "of the decode, the model being warm",
}


@click.command(cls=SectionedCommand)
@click.argument("prompt")
@model_flags
@click.option(
    "--samplers", default="entropy,info-gain:validated", show_default=True, help="names, with commas between them"
)
@LENGTH
@CHAT
@SYSTEM
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="save texts and costs as JSON")
@OVERWRITE
@shared_settings_flags
def compare(
    prompt: str,
    source: Source,
    samplers: str,
    length: int | None,
    chat: bool | None,
    system: str | None,
    out: Path | None,
    overwrite: bool,
    settings: RecipeFlags,
) -> None:
    """Decode one prompt with several samplers.

    Texts stand side by side where the terminal is wide enough; a table says what each cost. Recipe flags hold for
    every sampler that takes them. Each sampler runs once briefly before any is timed.

    \b
    Examples:
      infogain compare "Why is the sky blue?" --samplers entropy,info-gain --model ./llada
      infogain compare "2+3*4=" --samplers ar,eb,info-gain,info-gain-beam -k 2 --model ./dream --length 64
    """
    names = [name.strip() for name in samplers.split(",")]
    check(names, settings)
    check_file(out, overwrite)
    model = source.load()
    job = completions(model, [prompt], length, chat, system)
    common = recipe_for(model, common_part(settings), whole=writes_whole(model))
    recipes = [with_sampler(common, name, settings) for name in names]
    with busy("warming up"):
        warm_up(model, job, recipes)
    outcomes = [(name, *timed(model, job, recipe, name)) for name, recipe in zip(names, recipes, strict=True)]
    console = Terminal()
    console.print(*side_by_side(outcomes, console.width), sep="\n")
    console.print("", explained(costs(outcomes, console.width), MEANINGS), "", sep="\n")
    if len({text.committed for _, text, _ in outcomes}) > 1:
        console.print("H̃ compares texts of equally many tokens only; here not equally many were written.")
    console.print(literal(in_words(model.provenance), "dim"))
    if out:
        lines = [{**text.plain(), "seconds": seconds} for _, text, seconds in outcomes]
        out.write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        console.print(f"texts and costs → {out}", soft_wrap=True)


def warm_up(model: TextModel, job: Job, recipes: Iterable[Recipe]) -> None:
    """Decode once with every recipe, in two steps for each block: no timed decode is then its recipe's first."""
    for recipe in recipes:
        half = TokensPerStep(max(1, (recipe.block or BLOCK) // 2))
        collect(decode_job(model, job, replace(recipe, schedule=half)))


def timed(model: TextModel, job: Job, recipe: Recipe, name: str) -> tuple[Generation, float]:
    with watch(masks(job, model) * recipe.sampler.traits.copies, name) as observe:
        begun = time.perf_counter()
        _, text = next(decode_job(model, job, recipe, observe=observe))
        return text, time.perf_counter() - begun


def check(names: list[str], settings: RecipeFlags) -> None:
    """Find mistakes now, not after the model is loaded."""
    common = common_part(settings).over(Recipe())
    taken = {option for name in names for option in fields(type(with_sampler(common, name, settings).sampler))}
    given = [*settings.sampler, *(["base"] if settings.base else [])]
    if strange := [flag for flag in given if flag not in taken]:
        raise InputError(f"none of {', '.join(names)} takes {dashed(strange[0])}. Drop it, or add a sampler that does.")


def with_sampler(recipe: Recipe, name: str, settings: RecipeFlags) -> Recipe:
    """The recipe with the sampler of this name, and of the flags those that it takes."""
    takes = fields(SAMPLERS[name])
    own = {key: value for key, value in settings.sampler.items() if key in takes}
    return RecipeFlags(sampler={"name": name, **own}, base=settings.base if "base" in takes else {}).over(recipe)


def common_part(settings: RecipeFlags) -> RecipeFlags:
    """The flags that hold for every sampler."""
    return replace(settings, sampler={}, base={})


def side_by_side(outcomes: list[Outcome], width: int) -> list[Table | Text]:
    if width // len(outcomes) < NARROWEST:
        parts = [(Text(name, "bold"), literal(text.text + "\n")) for name, text, _ in outcomes]
        return [line for part in parts for line in part]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, expand=True)
    for name, _, _ in outcomes:
        table.add_column(name, ratio=1, overflow="fold")
    table.add_row(*(literal(text.text) for _, text, _ in outcomes))
    return [table]


def costs(outcomes: list[Outcome], width: int) -> Table:
    """No number is cut: where it is narrow, columns move together, a title breaks and long names of samplers fold."""
    table, forwards = plain_table(), "token-forwards"
    if width < ROOMY:
        table.padding, forwards = (0, 0, 0, 0), "token-\nforwards"
    table.add_column("sampler", overflow="fold")
    for title in ("tokens", "end", "H̃", "forwards", forwards, "seconds"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, text, seconds in outcomes:
        numbers = (f"{text.cumulative_entropy:.2f}", str(text.forwards), str(text.token_forwards), f"{seconds:.1f}")
        table.add_row(name, str(len(text.tokens)), text.finish, *numbers)
    return table
