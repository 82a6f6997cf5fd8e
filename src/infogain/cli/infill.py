"""`infogain infill`: fill the holes of texts."""

from __future__ import annotations

from pathlib import Path

import click

from infogain.cli.flags import RecipeFlags, filling_flags
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.prompt_input import TEXT_FILE, read_prompts
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import say
from infogain.cli.text_output import PlannedTexts, TextOutput, output_flags
from infogain.errors import InputError
from infogain.recipe import Recipe
from infogain.text.prompts import infills


@click.command(cls=SectionedCommand)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@model_flags
@TEXT_FILE
@output_flags
@filling_flags
def infill(
    texts: tuple[str, ...], source: Source, file: Path | None, output: TextOutput, settings: RecipeFlags
) -> None:
    """Fill the holes of a text. [MASK] is one token, [MASK:8] eight.

    On a terminal the texts are printed; into a file or a pipe goes a JSON line per text, as `generate` writes it. Where
    a token holds the space before its word, a space that stands before a hole is left out, for the model to write.

    \b
    Examples:
      infogain infill "The [MASK] sat on the [MASK:2]." --model ./bert
      infogain infill "def add(a, b): [MASK:12] # the sum" --model ./dream --sampler info-gain
      infogain infill --file texts.txt --out filled.jsonl --model ./llada
    """
    settings.over(Recipe())
    asked = read_prompts(texts, file, "text", fields=("id", "seed"))
    plain = [one.prompt for one in asked if isinstance(one.prompt, str)]
    if len(plain) < len(asked):
        raise InputError("a text to fill is a string; a conversation has no place for a [MASK].")
    output.check(len(asked))
    model = source.load()
    job, recipe = infills(model, plain), recipe_for(model, settings, stop_at_eos=False)
    if dropped := job.dropped_spaces:
        spaces = "1 space before a hole is" if dropped == 1 else f"{dropped} spaces before holes are"
        say(
            f"note: {spaces} left out: a token of this model holds the space before its word, and the model writes it.",
            err=True,
        )
    output.write(PlannedTexts(model, job, recipe, asked))
