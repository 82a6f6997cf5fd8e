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
from infogain.cli.compare_images import check_unset, compare_images
from infogain.cli.flags import RecipeFlags, shared_settings_flags
from infogain.cli.generate import CHAT, LENGTH, SYSTEM
from infogain.cli.layout import explained
from infogain.cli.model import CODEC, DEFAULT, Source, model_flags, recipe_for
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.progress import watch
from infogain.cli.sections import SectionedCommand
from infogain.cli.several_samplers import COSTS, check_samplers, common_part, cost_table, with_sampler
from infogain.cli.terminal import Terminal, busy, literal
from infogain.cli.text_output import masks
from infogain.generate import BLOCK, Generation, collect, decode_job, writes_whole
from infogain.images.image_model import writes_images
from infogain.provenance import in_words
from infogain.recipe import Recipe
from infogain.text.prompts import Job, completions
from infogain.text.text_model import TextModel

Outcome = tuple[str, Generation, float]  # sampler, text, seconds
NARROWEST = 28  # columns a text needs to be read beside others
MEANINGS = {
    **COSTS,
    "tokens": "written, up to the end of the text",
    "end": "eos: a token ended the text; length: all its columns are written",
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
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="save texts and costs as JSON; images as a PNG"
)
@OVERWRITE
@CODEC
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
    codec: str | None,
    settings: RecipeFlags,
) -> None:
    """Decode one prompt with several samplers.

    Texts stand side by side where the terminal is wide enough; a table says what each cost. Recipe flags hold for
    every sampler that takes them. Each sampler runs once briefly before any is timed.

    A model of the zoo that writes images, or an MMaDA checkpoint with a --codec, writes an image with each sampler;
    --out then saves them side by side as a PNG.

    \b
    Examples:
      infogain compare "Why is the sky blue?" --samplers entropy,info-gain --model ./llada
      infogain compare "2+3*4=" --samplers ar,eb,info-gain,info-gain-beam -k 2 --model ./dream --length 64
      infogain compare "ankle boot" --model zoo:tiny-image --samplers uniform,info-gain --steps 16 --out boots.png
    """
    check_file(out, overwrite)
    if codec is not None or writes_images(source.name or DEFAULT):
        check_unset(length=length, chat=chat, system=system, refresh=source.refresh)
        compare_images(prompt, source.of_images(codec), samplers, settings, out)
        return
    names = [name.strip() for name in samplers.split(",")]
    check_samplers(names, settings, Recipe())
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
    rows = [((name, len(text.tokens), text.finish), text, seconds) for name, text, seconds in outcomes]
    return cost_table(("tokens", "end"), rows, width)
