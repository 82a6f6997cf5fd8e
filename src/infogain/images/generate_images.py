"""Prompts in, images out: rows of a canvas hold a prompt and an image's codes, and the codec makes pixels of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.decode import decode_stream
from infogain.errors import InfoGainError, InputError
from infogain.images.given_image import GivenImage, grid_of
from infogain.images.image_model import ImageModel, with_named_sampler
from infogain.images.pixels import to_image
from infogain.images.png_recipe import magnified, save_png
from infogain.loop.batch import Observer
from infogain.loop.lane import Lane
from infogain.loop.result import Result
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.resolve import Given, as_recipe
from infogain.samplers import SAMPLERS, Sampler

if TYPE_CHECKING:
    from PIL.Image import Image

CODES_AT_A_TIME = 4096  # of all images that are decoded together, where it is not said how many


@dataclass(frozen=True)
class GeneratedImage:
    """One image and what it cost."""

    prompt: str
    pixels: Tensor  # [C, H, W], about −1 to 1
    codes: Tensor  # [h, w]
    revealed: Tensor  # [h, w] the step that wrote each of them; −1: it was given
    cumulative_entropy: float  # H̃, Eq. 2
    forwards: int  # model calls it took part in
    token_forwards: int  # columns that ran for it, all candidates and the rows without a prompt counted
    committed: int  # codes written
    seed: int
    recipe: Plain
    provenance: Plain  # the model and how it ran, see `infogain.provenance`
    trace: Trace | None = None

    @property
    def image(self) -> Image:
        """The image as Pillow has it."""
        return to_image(self.pixels)

    def save(self, path: str | Path, scale: int = 1) -> None:
        """Write the image as a PNG file, magnified where asked; `png_recipe.read_png` gives its `plain()` back."""
        save_png(path, magnified(self.image, scale), self.plain())

    def plain(self) -> Plain:
        """Everything but pixels and trace, as JSON takes it."""
        whole = {name: value for name, value in vars(self).items() if name not in ("pixels", "trace")}
        size = list(self.pixels.shape[1:])
        return {**whole, "size": size, "codes": self.codes.tolist(), "revealed": self.revealed.tolist()}


def generate_images(
    model: ImageModel,
    prompts: str | Sequence[str],
    recipe: Given = None,
    *,
    size: int | Sequence[int] | None = None,
    given: GivenImage | None = None,
    seeds: Sequence[int] | None = None,
    batch_size: int | None = None,
    observe: Observer | None = None,
    trace: bool = False,
    **options: Any,
) -> list[GeneratedImage]:
    """Write images: `infogain.generate_images(model, "ankle boot", "info-gain", steps=16, guidance=1.5)`.

    model       what `infogain.load_image_model` returns
    prompts     a text, or several; for models of the zoo names of classes; an empty one is no prompt
    recipe      a recipe, its name, path or table; or a sampler, which takes the place of that of the model's own
                recipe (`model.recipe`), whose schedule and guidance stay, and for a sampler's name the temperature
                of tokens; unset: that recipe
    size        height and width in pixels, or one number for a square; unset: the model's own, or what `given` has
    given       an image that is written in part: inpainting and outpainting, see `GivenImage`
    seeds       one per prompt; unset: made from the recipe's seed and the prompt's number
    batch_size  images decoded together; unset: so many that they have 4,096 codes
    observe     called with a StepEvent per step
    trace       keep every candidate of every step

    Options go over those of the recipe, as in `decode`: n, tau_token and so on, k, or steps and shape, guidance, seed.
    All codes of an image are one block, unless `block` says otherwise.
    """
    asked = [prompts] if isinstance(prompts, str) else list(prompts)
    settings = image_recipe(model, recipe, options)
    finished: dict[int, GeneratedImage] = {}
    try:
        for i, image in decode_images(
            model, image_job(model, asked, size, given), settings, seeds, batch_size, observe, trace
        ):
            finished[i] = image
    except InfoGainError as error:
        error.finished = finished
        raise
    return [finished[i] for i in sorted(finished)]


def image_recipe(model: ImageModel, recipe: Given = None, options: Plain | None = None) -> Recipe:
    """The recipe that is asked for, over the model's own where that is a sampler or nothing; its block is a number."""
    options = dict(options or {})
    start = over_own(model.recipe, recipe)
    if start is not recipe and recipe is not None and "sampler" in options:
        raise InputError(
            f"a sampler is named once; got {recipe!r:.60} and sampler={options['sampler']!r:.60}. Drop one."
        )
    made = as_recipe(start, options, generate_images)
    if made.eos_ids:
        raise InputError(f"an image ends nowhere before its last code; eos_ids must be unset, got {made.eos_ids}.")
    return replace(made, block=made.block or 0, eos_ids=())


def over_own(own: Recipe, given: Given) -> Given:
    """What is given, or a model's own recipe with the sampler that is given: by its name, as a table, or as it is."""
    if given is None:
        return own
    if isinstance(given, Sampler):
        return replace(own, sampler=given)
    if isinstance(given, str) and given.partition(":")[0] in SAMPLERS:
        return with_named_sampler(own, given)
    if isinstance(given, Mapping) and "name" in given:
        rest = {name: value for name, value in given.items() if name != "name"}
        return as_recipe(with_named_sampler(own, str(given["name"])), rest)
    return given


@dataclass(frozen=True)
class ImageJob:
    """Prompts as rows of token ids, with masks where codes are to be written."""

    prompts: list[str]
    rows: list[list[int]]
    starts: list[int]  # the column of the first code, in each row
    height: int  # of the grid of codes
    width: int

    @property
    def cells(self) -> int:
        return self.height * self.width


def image_job(
    model: ImageModel, prompts: Sequence[str], size: int | Sequence[int] | None = None, given: GivenImage | None = None
) -> ImageJob:
    """The rows of images to write: whole ones of a size, or what is left of one that is given."""
    if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
        raise InputError(f"prompts must be texts, at least one; got {prompts!r:.80}. An empty text is no prompt.")
    grid = grid_of(model.size if size is None else size, model.coder.stride)
    codes = given.codes(model.coder) if given else [[None] * grid[1] for _ in range(grid[0])]
    shape = len(codes), len(codes[0])
    _check_size(model, shape, None if size is None else grid)
    before = [model.layout.prompt(prompt) for prompt in prompts]
    flat = [code for line in codes for code in line]
    rows = [model.layout.row(prompt, flat, model.denoiser.mask_id) for prompt in before]
    return ImageJob(list(prompts), rows, [len(prompt) for prompt in before], *shape)


def _check_size(model: ImageModel, shape: tuple[int, int], asked: tuple[int, int] | None) -> None:
    """Refuse an image of another size than was asked for, or than the model knows."""
    stride = model.coder.stride
    height, width = (side * stride for side in shape)
    if asked is not None and asked != shape:
        raise InputError(
            f"an image that is given must have the size asked for, {asked[0] * stride}×{asked[1] * stride} with what "
            f"is added to it; got {height}×{width}. Drop the size, or resize the image."
        )
    if model.only_size and (height, width) != model.size:
        raise InputError(
            f"{model.name} knows images of {model.size[0]}×{model.size[1]} pixels only; got {height}×{width}."
        )


def decode_images(
    model: ImageModel,
    job: ImageJob,
    recipe: Recipe,
    seeds: Sequence[int] | None = None,
    batch_size: int | None = None,
    observe: Observer | None = None,
    trace: bool = False,
) -> Iterator[tuple[int, GeneratedImage]]:
    """Decode images, each of which comes with its number as soon as it is done. `image_recipe` made the recipe."""
    seeds = noise.row_seeds(recipe.seed, len(job.rows)) if seeds is None else seeds
    if len(seeds) != len(job.rows):
        raise InputError(f"seeds must be one per prompt ({len(job.rows)}); got {len(seeds)}.")
    in_flight = max(1, CODES_AT_A_TIME // job.cells) if batch_size is None else batch_size
    denoiser = model.guided if recipe.guidance else model.denoiser
    canvas = Canvas.infill(job.rows, denoiser.mask_id, job.starts)
    lane = Lane(canvas, recipe, seeds, max_in_flight=in_flight)
    for _, i, result in decode_stream(denoiser, [lane], observe=observe, trace=trace):
        yield i, _read(model, job, i, result)


def _read(model: ImageModel, job: ImageJob, i: int, result: Result) -> GeneratedImage:
    """The image that a Result of one row holds."""
    grid = slice(job.starts[i], job.starts[i] + job.cells)
    codes, revealed = (
        x[0, grid].cpu().view(job.height, job.width) for x in (result.tokens - model.layout.first_code, result.revealed)
    )
    pixels = model.coder.decode(codes[None])[0].cpu()
    return GeneratedImage(
        prompt=job.prompts[i],
        pixels=pixels,
        codes=codes,
        revealed=revealed,
        cumulative_entropy=float(result.cumulative_entropy[0]),
        forwards=int(result.forwards[0]),
        token_forwards=int(result.token_forwards[0]),
        committed=int(result.committed[0]),
        seed=result.seeds[0],
        recipe=result.recipe,
        provenance=model.provenance,
        trace=result.trace,
    )


def masks(job: ImageJob, mask_id: int) -> int:
    """How many codes are to be written, over all images."""
    return sum(row.count(mask_id) for row in job.rows)
