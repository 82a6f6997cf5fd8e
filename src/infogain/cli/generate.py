"""`infogain generate`: complete prompts, from the command line, a file or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.model import DEFAULT, Source, model_flags, recipe_for
from infogain.cli.output_files import check_file
from infogain.cli.prompt_input import FILE, PromptLine, read_prompts
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import say
from infogain.cli.text_output import PlannedTexts, TextOutput, output_flags
from infogain.errors import InputError
from infogain.generate import as_stops, writes_whole
from infogain.load import find_checkpoint, is_of_zoo
from infogain.recipe import Recipe
from infogain.text.prompts import completions
from infogain.zoo.folder import writes_from_nothing, writes_molecules
from infogain.zoo.molecules.chemistry import rdkit_chem
from infogain.zoo.molecules.drawing import draw_grid

FIELDS = ("id", "length", "seed")  # that a JSON prompt may set

LENGTH = click.option(
    "--length", type=click.IntRange(min=1), help="tokens to write; unset: 256, or what the model's context has left"
)
CHAT = click.option(
    "--chat/--plain", default=None, help="use the chat template or not; unset: if the checkpoint has one"
)
COUNT = click.option(
    "--count",
    type=click.IntRange(min=1),
    help="texts for each prompt, each from a seed of its own; without a prompt from an empty canvas, which "
    "zoo:tiny-molecule knows; unset: 1, and a prompt is needed",
)
DRAW = click.option(
    "--draw",
    type=click.Path(dir_okay=False, path_type=Path),
    help="PNG file to draw the texts into as molecules, of zoo:tiny-molecule or a checkpoint that writes SMILES; "
    "needs RDKit",
)
SYSTEM = click.option("--system", help="system message of a chat; unset: none")


@click.command(cls=SectionedCommand)
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@model_flags
@FILE
@COUNT
@output_flags
@DRAW
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
    count: int | None,
    output: TextOutput,
    draw: Path | None,
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

    Without a prompt, --count draws texts from an empty canvas, for models that were trained on one: as long as the
    model's canvases, and in one block, unless --length and --block say otherwise.

    \b
    Examples:
      infogain generate "Why is the sky blue?" --model GSAI-ML/LLaDA-8B-Instruct
      infogain generate --file prompts.jsonl --out texts.jsonl --model ./dream --length 512
      echo "Count to ten." | infogain generate --model ./sdar --sampler entropy -k 2 > texts.jsonl
      infogain generate --model zoo:tiny-molecule --count 8 --draw molecules.png
      infogain generate "2, 3, 5," --model ./llada-base --plain --stop . --recipe my-recipe.toml
    """
    settings.over(Recipe())  # a mistake is found now, not after the model is loaded
    from_nothing = count is not None and not prompts and file is None
    asked = repeated([PromptLine("")] if from_nothing else read_prompts(prompts, file, fields=FIELDS), count or 1)
    as_stops(stop)
    if from_nothing:
        check_empty_canvas(source.name or DEFAULT)
    if draw:
        check_drawable(source.name or DEFAULT)
        check_file(draw, output.overwrite)
    output.check(len(asked))
    model = source.load()
    lengths = [length if one.length is None else one.length for one in asked]
    job = completions(model, [one.prompt for one in asked], lengths, chat, system)
    recipe = recipe_for(model, settings, stop_at_eos=not ignore_eos, whole=writes_whole(model))
    planned = PlannedTexts(model, job, recipe, asked, stop)
    texts = output.write(planned)
    if draw:
        draw_grid(draw, texts, {**planned.settings, "seeds": planned.seeds})
        say(f"picture → {draw}", err=True)


def repeated(asked: Sequence[PromptLine], count: int) -> list[PromptLine]:
    """Each prompt as often as texts of it are wanted; the texts' seeds differ, so a prompt must not set its own."""
    if count > 1 and any(one.seed is not None for one in asked):
        raise InputError("--count draws each text from a seed of its own; a prompt sets one for itself. Drop either.")
    return [one for one in asked for _ in range(count)]


def check_empty_canvas(name: str) -> None:
    """Refuse a model that has not learnt to write from nothing."""
    if not (is_of_zoo(name) and writes_from_nothing(find_checkpoint(name))):
        raise InputError(
            f"a text from an empty canvas needs a model that was trained on one, such as zoo:tiny-molecule; {name} "
            "was not, by its card. Give a prompt, or another --model."
        )


def check_drawable(name: str) -> None:
    """Refuse a model of the zoo that does not write molecules; of a checkpoint it is not known what it writes."""
    if is_of_zoo(name) and not writes_molecules(find_checkpoint(name)):
        raise InputError(
            f"--draw shows texts as molecules, and {name} writes none. Use --model zoo:tiny-molecule, or drop --draw."
        )
    rdkit_chem()
