"""Images of several samplers, for `infogain compare`: side by side in a file, with a table of what each cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from infogain.algorithm.schedule import TokensPerStep
from infogain.cli.flags import RecipeFlags
from infogain.cli.image_axes import AskedImage, ImageAxes
from infogain.cli.image_drawing import ImageDrawing
from infogain.cli.image_output import check_ending
from infogain.cli.layout import explained
from infogain.cli.model import ImageSource
from infogain.cli.planned_images import PlannedImages
from infogain.cli.several_samplers import COSTS, cost_table
from infogain.cli.terminal import Terminal, busy, literal
from infogain.errors import InputError
from infogain.images.generate_images import GeneratedImage, image_recipe
from infogain.images.image_model import ImageModel, own_recipe
from infogain.images.pixels import check_pillow
from infogain.options import dashed
from infogain.provenance import in_words

MEANINGS = {**COSTS, "codes": "written, each of which stands for a patch of the image"}


def compare_images(prompt: str, source: ImageSource, samplers: str, settings: RecipeFlags, out: Path | None) -> None:
    """Write an image of a prompt with each sampler, from one seed, and print what each cost."""
    check_pillow()
    check_ending("out", out)
    axes = ImageAxes(None, None, samplers, None)
    asked = axes.asked([prompt], own_recipe(source.model), settings)
    model = source.load()
    asked = [replace(one, recipe=image_recipe(model, one.recipe)) for one in asked]
    with busy("warming up"):
        warm_up_images(model, asked)
    made: dict[int, tuple[GeneratedImage, float]] = {}
    try:
        for i, one in enumerate(asked):
            made[i] = timed_image(model, one)
    finally:  # what is done is kept, whatever came in between
        if made:
            show(PlannedImages(model, asked), made, out)


def show(planned: PlannedImages, made: Mapping[int, tuple[GeneratedImage, float]], out: Path | None) -> None:
    """Print what each image cost and how the model ran, and save the images."""
    console = Terminal()
    rows = [((planned.asked[i].title, image.committed), image, seconds) for i, (image, seconds) in made.items()]
    console.print(explained(cost_table(("codes",), rows, console.width), MEANINGS), "", sep="\n")
    console.print(literal(in_words(planned.model.provenance), "dim"))
    if out:
        ImageDrawing(planned, {i: image for i, (image, _) in made.items()}).out(out)
        console.print(f"picture → {out}", soft_wrap=True)


def warm_up_images(model: ImageModel, asked: Sequence[AskedImage]) -> None:
    """Decode once with every recipe, in two steps for each block: no timed decode is then its recipe's first."""
    for one in asked:
        half = TokensPerStep(max(1, (one.recipe.block or model.cells) // 2))
        list(PlannedImages(model, [replace(one, recipe=replace(one.recipe, schedule=half))]).decode())


def timed_image(model: ImageModel, one: AskedImage) -> tuple[GeneratedImage, float]:
    planned = PlannedImages(model, [one])
    begun = time.perf_counter()
    ((_, image),) = planned.decode(title=one.title)
    return image, time.perf_counter() - begun


def check_unset(**flags: object) -> None:
    """Refuse flags of texts, which images do not have."""
    if given := [name for name, value in flags.items() if value is not None]:
        raise InputError(f"{dashed(given[0])} is for models that write texts; this one writes images. Drop it.")
