"""Many images at once, as tensors on the model's device: for scores, where nobody looks at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.decode import decode_lanes
from infogain.images.generate_images import image_job
from infogain.images.image_model import ImageModel
from infogain.loop.batch import Observer
from infogain.loop.lane import Lane
from infogain.recipe import Recipe

CANDIDATES_AT_A_TIME = 8192  # rows of a batch, times the candidates of each


@dataclass(frozen=True)
class ManyImages:
    """The codes of many images, and what each cost."""

    codes: Tensor  # [N, h, w]
    entropy: Tensor  # [N] H̃, Eq. 2
    token_forwards: Tensor  # [N]


def write_many(
    model: ImageModel,
    prompts: Sequence[str],
    recipe: Recipe,
    rows: int | None = None,
    observe: Observer | None = None,
) -> ManyImages:
    """Images of the model's own size, decoded a batch of `rows` after the other; `image_recipe` made the recipe.

    Seeds are those of `generate_images` for the same prompts. `observe` is called with a StepEvent per step.
    """
    job = image_job(model, prompts)
    denoiser = model.guided if recipe.guidance else model.denoiser
    canvas = Canvas.infill(job.rows, denoiser.mask_id, job.starts)
    seeds = noise.row_seeds(recipe.seed, len(prompts))
    traits = recipe.sampler.traits
    rows = rows or max(1, CANDIDATES_AT_A_TIME // (traits.candidates * traits.copies))
    parts = []
    for first in range(0, len(prompts), rows):
        some = slice(first, first + rows)
        lane = Lane(canvas.take(some), recipe, seeds[some])
        (result,) = decode_lanes(denoiser, [lane], observe=observe, trace=False)
        starts = torch.tensor(job.starts[some], device=result.tokens.device)
        column = starts[:, None] + torch.arange(job.cells, device=starts.device)
        codes = result.tokens.gather(1, column) - model.layout.first_code
        parts.append((codes.view(-1, job.height, job.width), result.cumulative_entropy, result.token_forwards))
    return ManyImages(*(torch.cat(each) for each in zip(*parts, strict=True)))
