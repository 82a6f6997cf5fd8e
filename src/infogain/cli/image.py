"""`infogain image`: images from prompts, whole or in part, with what made them in the file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import click
from click.core import ParameterSource

from infogain.cli.flags import Flag, Ids, RecipeFlags, gathered, image_settings_flags
from infogain.cli.image_axes import ImageAxes, axes_flags
from infogain.cli.image_like import Like
from infogain.cli.image_output import ImageOutput, image_output_flags
from infogain.cli.model import ImageSource, image_model_flags
from infogain.cli.planned_images import PlannedImages
from infogain.cli.resumable_file import json_line
from infogain.cli.sections import SectionedCommand
from infogain.errors import InputError
from infogain.images.generate_images import image_recipe
from infogain.images.given_image import GivenImage, check_files
from infogain.images.pixels import check_pillow
from infogain.images.png_recipe import read_png
from infogain.options import dashed

FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class GivenFlags:
    """What of an image is given, and how large it is to be."""

    image: Path | None
    mask: Path | None
    extend: tuple[int, ...] | None
    size: tuple[int, ...] | None

    @property
    def given(self) -> GivenImage | None:
        """The image that is given; what can be known of it without the model is checked."""
        if self.image is None:
            if flag := next((name for name in ("mask", "extend") if getattr(self, name)), None):
                raise InputError(f"--{flag} says what of an image is written anew. Name the image with --image.")
            return None
        given = GivenImage(self.image, self.mask, self.extend or (0, 0, 0, 0))
        check_files(given)
        return given


GIVEN: list[Flag] = [
    click.option("--image", type=FILE, help="image that is given in part; --mask and --extend say what is written"),
    click.option("--mask", type=FILE, help="image as large as --image, white where that is to be written anew"),
    click.option(
        "--extend",
        type=Ids(),
        metavar="LEFT,TOP,RIGHT,BOTTOM",
        help="pixels to add to --image on each side; unset: none",
    ),
    click.option(
        "--size",
        type=Ids(),
        metavar="PIXELS",
        help="side of a square image, or HEIGHT,WIDTH; unset: the model's own, or that of --image",
    ),
]


@click.command(cls=SectionedCommand)
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@click.option(
    "--read",
    type=FILE,
    help="print as JSON what a PNG or GIF of this command says of itself (prompt, seed, recipe, model, codes), and end",
)
@click.option(
    "--like",
    type=FILE,
    help="make an image of this command again: prompt, seed, recipe, size and model are its own where not given",
)
@axes_flags
@image_output_flags
@gathered("parts", GivenFlags, GIVEN)
@image_model_flags
@image_settings_flags
def image(
    prompts: tuple[str, ...],
    read: Path | None,
    like: Path | None,
    axes: ImageAxes,
    output: ImageOutput,
    parts: GivenFlags,
    source: ImageSource,
    settings: RecipeFlags,
) -> None:
    """Write images.

    A prompt is a text or, for models of the zoo, the name of a class; an empty one ("") is no prompt. Every PNG holds
    what made it: recipe, model, seed, prompt and codes. Several prompts, samplers, numbers of steps or images come as
    one labelled grid: the last of these that has several values makes its columns, the others make its rows.

    A file or a pipe gets a JSON line per image as soon as it is done: its number, file, costs, seed and recipe.

    \b
    Examples:
      infogain image "ankle boot"
      infogain image "ankle boot" --count 8 --out boots.png
      infogain image "coat" --samplers uniform,info-gain --step-counts 4,8,16 --tau-token 1 --out grid.png
      infogain image "dress" --sampler info-gain --steps 16 --strip strip.png --gif dress.gif --html dress.html
      infogain image "bag" --image bag.png --mask mask.png --count 4
      infogain image "a red bicycle" --model ./MMaDA-8B-Base --codec ./magvitv2 --image bike.png --extend 0,0,128,0
      infogain image --read ankle-boot.png
      infogain image --like ankle-boot.png --sampler info-gain --out other-sampler.png
    """
    check_pillow()
    if read:
        show_record(read, prompts)
        return
    old = Like(like)
    prompts, source = old.prompts(prompts), old.source(source)
    asked = old.axes(axes, settings).asked(prompts, old.recipe(source), settings)  # mistakes are found before loading
    given, size, output = parts.given, old.size(parts.size, parts.image), output.named(prompts[0])
    output.check(len(asked))
    model = source.load()
    settled = [replace(one, recipe=image_recipe(model, one.recipe)) for one in asked]
    output.write(PlannedImages(model, settled, size[0] if size and len(size) == 1 else size, given))


def show_record(path: Path, prompts: tuple[str, ...]) -> None:
    """Print what a file says of itself."""
    context = click.get_current_context()
    asked = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if other := [
        *prompts,
        *(dashed(name.partition("__")[2] or name) for name in asked if name not in ("read", "prompts")),
    ]:
        raise InputError(f"--read prints what a file says and writes no image; {other[0]!r:.40} came too. Drop either.")
    sys.stdout.write(json_line(read_png(path), sys.stdout.encoding))
