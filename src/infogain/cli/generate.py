"""`infogain generate`: complete prompts, from the command line, a file or a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import click
from rich.console import Console

from infogain.cli.flags import Settings, settings_flags
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.output import OVERWRITE, check_file, make_folder
from infogain.cli.progress import watch
from infogain.cli.prompts import FILE, read_prompts
from infogain.cli.terminal import Terminal, say, write
from infogain.generate import Generation, as_stops, stream
from infogain.job import Job, completions
from infogain.recipe import Recipe
from infogain.text import TextModel

LENGTH = click.option(
    "--length", type=click.IntRange(min=1), help="tokens to write; unset: 256, or what the model's context has left"
)
CHAT = click.option(
    "--chat/--plain", default=None, help="use the chat template or not; unset: if the checkpoint has one"
)
SYSTEM = click.option("--system", help="system message of a chat; unset: none")


@click.command()
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@model_flags
@FILE
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="write JSON lines here as texts finish")
@OVERWRITE
@LENGTH
@CHAT
@SYSTEM
@click.option("--stop", multiple=True, help="end a text before this string; may be given several times")
@click.option("--ignore-eos", is_flag=True, help="write on after the tokens that end a text")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="prompts decoded together; the next takes the place of one that is done",
)
@click.option("--traces", type=click.Path(file_okay=False, path_type=Path), help="folder for a trace per prompt")
@settings_flags
def generate(
    prompts: tuple[str, ...],
    source: Source,
    file: Path | None,
    out: Path | None,
    overwrite: bool,
    length: int | None,
    chat: bool | None,
    system: str | None,
    stop: tuple[str, ...],
    ignore_eos: bool,
    batch_size: int,
    traces: Path | None,
    settings: Settings,
) -> None:
    """Complete prompts.

    On a terminal the texts are printed; into a file or a pipe goes a JSON line per prompt, as soon as it is done:
    the text, its tokens and the step that wrote each, H̃, forwards, token-forwards, the seed and the recipe.

    \b
    Examples:
      infogain generate "Why is the sky blue?" --model GSAI-ML/LLaDA-8B-Instruct
      infogain generate --file prompts.jsonl --out texts.jsonl --model ./dream --length 512
      echo "Count to ten." | infogain generate --model ./sdar --sampler entropy -k 2 > texts.jsonl
      infogain generate "2, 3, 5," --model ./llada-base --plain --stop . --recipe my-recipe.toml
    """
    settings.over(Recipe())  # a mistake is found now, not after the model is loaded
    asked = read_prompts(prompts, file)
    as_stops(stop)
    check_file(out, overwrite)
    make_folder(traces, map(_trace_name, range(len(asked))), overwrite)
    model = source.load()
    recipe = recipe_for(model, settings, stop_at_eos=not ignore_eos)
    job = completions(model, asked, length, chat, system)
    with _writer(out) as write, watch(masks(job, model) * recipe.sampler.copies) as observe:
        for i, text in stream(model, job, recipe, stop, None, batch_size, observe, trace=traces is not None):
            write(i, text)
            if traces and text.trace:
                text.trace.save(traces / _trace_name(i))


def _trace_name(number: int) -> str:
    return f"{number:04}.jsonl"


def masks(job: Job, model: TextModel) -> int:
    return sum(row.count(model.model.mask_id) for row in job.rows)


def show(console: Console, text: Generation) -> None:
    write(console, text.text)
    console.print(
        f"[{len(text.tokens)} tokens, {text.finish}; H̃ {text.cumulative_entropy:.2f}, forwards {text.forwards}, "
        f"token-forwards {text.token_forwards}]",
        style="dim",
        soft_wrap=True,
    )


@contextmanager
def _writer(out: Path | None) -> Iterator[Callable[[int, Generation], None]]:
    """To a file, a terminal or a pipe."""
    if out:
        with out.open("w", encoding="utf-8") as file:
            yield partial(_write_line, file)
        say(f"texts → {out}", err=True)
    elif sys.stdout.isatty():
        console, texts = Terminal(), dict[int, Generation]()
        try:
            yield texts.__setitem__
        finally:  # once the progress bar is gone; what is done is shown, whatever came in between
            for _, text in sorted(texts.items()):
                show(console, text)
    else:
        yield partial(_write_line, sys.stdout)


def _write_line(file: IO[str], number: int, text: Generation) -> None:
    """At once: what is done stays, whatever comes next."""
    file.write(json.dumps({"number": number, **text.plain()}, ensure_ascii=False) + "\n")
    file.flush()
