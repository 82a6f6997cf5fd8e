"""`infogain generate`: complete prompts, from the command line, a file or a pipe."""

from __future__ import annotations

from pathlib import Path

import click

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.prompt_input import FILE, read_prompts
from infogain.cli.sections import SectionedCommand
from infogain.cli.text_output import PlannedTexts, TextOutput, output_flags
from infogain.generate import as_stops
from infogain.recipe import Recipe
from infogain.text.prompts import completions

LENGTH = click.option(
    "--length", type=click.IntRange(min=1), help="tokens to write; unset: 256, or what the model's context has left"
)
CHAT = click.option(
    "--chat/--plain", default=None, help="use the chat template or not; unset: if the checkpoint has one"
)
SYSTEM = click.option("--system", help="system message of a chat; unset: none")


@click.command(cls=SectionedCommand)
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@model_flags
@FILE
@output_flags
@LENGTH
@CHAT
@SYSTEM
@click.option("--stop", multiple=True, help="end a text before this string; may be given several times")
@click.option("--ignore-eos", is_flag=True, help="write on after the tokens that end a text")
@settings_flags
def generate(
    prompts: tuple[str, ...],
    source: Source,
    file: Path | None,
    output: TextOutput,
    length: int | None,
    chat: bool | None,
    system: str | None,
    stop: tuple[str, ...],
    ignore_eos: bool,
    settings: RecipeFlags,
) -> None:
    """Complete prompts.

    On a terminal the texts are printed. A file or a pipe gets a JSON line per prompt as soon as its text is done: the
    number of the prompt, counted from 0, the text, its tokens and the step that wrote each, what it cost, the seed and
    the recipe. A JSON prompt may set its own "length", "seed" and "id"; the id is repeated in its line.

    \b
    Examples:
      infogain generate "Why is the sky blue?" --model GSAI-ML/LLaDA-8B-Instruct
      infogain generate --file prompts.jsonl --out texts.jsonl --model ./dream --length 512
      echo "Count to ten." | infogain generate --model ./sdar --sampler entropy -k 2 > texts.jsonl
      infogain generate "2, 3, 5," --model ./llada-base --plain --stop . --recipe my-recipe.toml
    """
    settings.over(Recipe())  # a mistake is found now, not after the model is loaded
    asked = read_prompts(prompts, file, fields=("id", "length", "seed"))
    as_stops(stop)
    output.check(len(asked))
    model = source.load()
    recipe = recipe_for(model, settings, stop_at_eos=not ignore_eos)
    lengths = [length if one.length is None else one.length for one in asked]
    job = completions(model, [one.prompt for one in asked], lengths, chat, system)
    output.write(PlannedTexts(model, job, recipe, asked, stop))
