"""`infogain infill`: fill the holes of a text."""

from __future__ import annotations

from pathlib import Path

import click

from infogain.cli.flags import Settings, settings_flags
from infogain.cli.generate import masks, show
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.progress import watch
from infogain.cli.prompts import FILE, read_prompts
from infogain.cli.terminal import Terminal
from infogain.errors import InputError
from infogain.generate import collect, stream
from infogain.job import infills
from infogain.recipe import Recipe


@click.command()
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@model_flags
@FILE
@settings_flags
def infill(texts: tuple[str, ...], source: Source, file: Path | None, settings: Settings) -> None:
    """Fill the holes of a text. [MASK] is one token, [MASK:8] eight.

    \b
    Examples:
      infogain infill "The [MASK] sat on the [MASK:2]." --model ./bert
      infogain infill "def add(a, b): [MASK:12] # the sum" --model ./dream --sampler info-gain
      infogain infill --file texts.txt --model ./llada
    """
    settings.over(Recipe())
    asked = read_prompts(texts, file, "text")
    plain = [text for text in asked if isinstance(text, str)]
    if len(plain) < len(asked):
        raise InputError("a text to fill is a string; a conversation has no place for a [MASK].")
    model = source.load()
    job, recipe = infills(model, plain), recipe_for(model, settings, stop_at_eos=False)
    console = Terminal()
    with watch(masks(job, model) * recipe.sampler.copies) as observe:
        filled = collect(stream(model, job, recipe, observe=observe))
    for text in filled:
        show(console, text)
