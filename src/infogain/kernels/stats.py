"""Statistics of logits, and the numbers of the masked columns they belong to."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from infogain.device import remembered
from infogain.kernels import choice
from infogain.kernels.tensors import at_least_float32


class Statistics(NamedTuple):
    """Of columns of any shape. In one tensor, so that hypotheses are picked at one go; a written column is certain."""

    numbers: Tensor  # [..., 4] log-normaliser, entropy H, p of the most likely token, p_top1 − p_top2
    argmax: Tensor


def number(masked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Number the `count` masked columns [R, W] from left to right: the number of each column, the column of each.

    The number of a written column is any that exists. Columns are counted over all rows. -> [R, W], [X]
    """
    if choice.usable(masked):
        from infogain.kernels.stats_triton import number as fused

        return fused(masked, count)
    flat = masked.flatten()
    place = (flat.cumsum(0) - 1).clamp_(min=0).view(masked.shape)
    return place, torch.nonzero_static(flat, size=count).flatten()


def statistics(logits: Tensor, mask_id: int, masked: Tensor | None = None, place: Tensor | None = None) -> Statistics:
    """Read each row [X, V], for a column of its own or for those that `masked` and `place` tell [R, W].

    The mask is struck out of the logits, in place.
    """
    if choice.usable(logits) and logits.stride(-1) == 1:
        from infogain.kernels.stats_triton import statistics as fused

        shape = logits.shape[:1] if masked is None else masked.shape
        return Statistics(*fused(logits, mask_id, shape, place, masked))
    found = _read(strike(logits, mask_id))
    return found if masked is None or place is None else spread(found, masked, place)


def strike(logits: Tensor, mask_id: int) -> Tensor:
    if mask_id < logits.shape[-1]:
        logits[..., mask_id].fill_(-torch.inf)
    return logits


def _read(logits: Tensor) -> Statistics:
    x = at_least_float32(logits)
    log_z = x.logsumexp(-1)
    p = (x - log_z[:, None]).exp()
    top = p.topk(min(2, p.shape[-1])).values
    confidence = top[:, 0]
    margin = confidence - top[:, 1] if p.shape[-1] > 1 else confidence
    numbers = torch.stack([log_z, torch.special.entr(p).sum(-1), confidence, margin], -1)
    # argmax and not top's indices: of equal tokens it takes the first, on every device
    return Statistics(numbers, p.argmax(-1))


def spread(masks: Statistics, masked: Tensor, place: Tensor) -> Statistics:
    """Statistics of the masks become those of all columns. [X] -> [R, W]"""
    certain = _certain(masks.numbers.dtype, masks.numbers.device)
    numbers = masks.numbers[place].where(masked[..., None], certain)
    return Statistics(numbers, masks.argmax[place].where(masked, 0))


@remembered
def _certain(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor([0, 0, 1, 1], dtype=dtype, device=device)
