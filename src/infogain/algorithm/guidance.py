"""Guidance: logits are pushed away from what the model says without the prompt, by a weight that each row carries.

(1 + g) · logits with the prompt − g · logits without it. g is a row's weight times a function, the *shape*, of the
share of masks that are left in the row's block. A row carries two numbers: its weight, and the number of its shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from infogain.errors import InputError, UnknownName

CONSTANT = "constant"
GUIDANCE_SHAPES: dict[str, Callable[[Tensor], Tensor]] = {  # of the share of masks left, from 1 to 0
    CONSTANT: torch.ones_like,
    "rising": lambda share: 1 - share,
    "cosine": lambda share: (1 + (math.pi * share).cos()) / 2,  # rising too: slowly first and last
    "falling": lambda share: share,
}


def guidance_of(weight: float | Sequence[float], shape: str, rows: int) -> Tensor:
    """The guidance of some rows: a weight (one number, or one per row), and a shape by its name. [P, 2]"""
    if shape not in GUIDANCE_SHAPES:
        raise UnknownName("shape of guidance", shape, GUIDANCE_SHAPES)
    weights = list(weight) if isinstance(weight, Iterable) else [weight] * rows  # also numbers of numpy
    if len(weights) != rows:
        raise InputError(f"guidance must be one number or one per row ({rows}); got {len(weights)} numbers.")
    if wrong := [each for each in weights if isinstance(each, bool) or not 0 <= each < math.inf]:
        raise InputError(f"guidance must be a finite number of at least 0; got {wrong[0]}. 0 is none.")
    numbers = [float([*GUIDANCE_SHAPES].index(shape))] * rows
    return torch.tensor([list(map(float, weights)), numbers], dtype=torch.float64).T.contiguous()


def no_guidance(rows: int, device: torch.device) -> Tensor:
    """The guidance of rows that leave it to the recipe. [P, 2]"""
    return torch.full((rows, 2), math.nan, dtype=torch.float64, device=device)


def weight_of(guidance: Tensor, share: Tensor) -> Tensor:
    """g of rows whose blocks have this share of masks left. [M, 2], [M] -> [M]"""
    shapes = torch.stack([shape(share) for shape in GUIDANCE_SHAPES.values()])  # [shapes, M]
    weight, number = guidance.unbind(-1)
    return weight * shapes.gather(0, number.long()[None])[0]


def guided_logits(with_prompt: Tensor, without: Tensor, g: Tensor) -> Tensor:
    """(1 + g) · logits with the prompt − g · logits without it, in float32 at least. g broadcasts. [..., V]

    An id that one of the two excludes (−inf) keeps what it has with the prompt.
    """
    g = g.to(torch.promote_types(with_prompt.dtype, torch.float32))
    excluded = (with_prompt == -torch.inf) | (without == -torch.inf)
    return torch.where(excluded, with_prompt, (1 + g) * with_prompt - g * without)
