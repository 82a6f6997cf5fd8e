"""A picture for the docs: what samplers make of classes in five steps, with the model that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from infogain.images.generate_images import generate_images
from infogain.images.image_model import ImageModel, load_image_model
from infogain.images.picture_grid import GridCell, labelled_grid
from infogain.images.png_recipe import magnified
from infogain.studies.image_methods import COLD, IMAGE_METHODS, MODEL, WARM, Asked, image_cell
from infogain.studies.images_lowstep import FIVE

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN: Asked = [
    ("uniform", WARM),
    ("uniform", COLD),
    ("entropy", COLD),
    ("confidence (top-1)", COLD),
    ("margin", COLD),
    ("lookum", COLD),
    ("info-gain", COLD),
]
PROMPTS = ("T-shirt/top", "trouser", "dress", "coat", "sandal", "bag", "ankle boot", *["shirt"] * 6)
SCALE = 2  # pixels of the picture for a pixel of an image


def draw_five_steps(path: Path) -> None:
    """Write the picture: a row for each sampler, the same seeds in all. Those of one class show how alike they are."""
    model = load_image_model(MODEL, device="cpu")
    heads = [prompt.partition("/")[0] for prompt in PROMPTS]
    rows = [
        [GridCell(image, name if i == 0 else "") for name, image in zip(heads, images_by(model, *asked), strict=True)]
        for i, asked in enumerate(SHOWN)
    ]
    beside = [f"{label}, tau {tau:g}" for label, tau in SHOWN]  # the font has no τ
    labelled_grid(rows, beside).convert("L").save(path, optimize=True)


def images_by(model: ImageModel, label: str, tau: float) -> list[Image]:
    """An image of each prompt by a sampler."""
    recipe = image_cell({**IMAGE_METHODS[label], "tau_token": tau}, FIVE, len(PROMPTS), (0,)).recipe
    return [magnified(made.image, SCALE) for made in generate_images(model, PROMPTS, recipe)]
