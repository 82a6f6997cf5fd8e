"""What a sampler looks at in logits, computed together and once per state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from infogain import kernels
from infogain.device import remembered


class Statistics(NamedTuple):
    """Of columns of any shape. In one tensor, so that hypotheses are picked at one go; a written column is certain."""

    numbers: Tensor  # [..., 4] log-normaliser, entropy H, p of the most likely token, p_top1 − p_top2
    argmax: Tensor


@dataclass(frozen=True)
class Spots:
    """Masked columns, numbered from left to right over all rows. Worked out when first asked for."""

    masked: Tensor  # [R, W]
    count: int  # of masks, known to the host

    @property
    def place(self) -> Tensor:
        """The number of each column; of a written column, any. [R, W]"""
        return self._numbered[0]

    @property
    def source(self) -> Tensor:
        """The column of each number, columns counted over all rows. [X]"""
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[Tensor, Tensor]:
        if kernels.usable(self.masked):
            from infogain.kernels.stats import number

            return number(self.masked, self.count)
        flat = self.masked.flatten()
        place = (flat.cumsum(0) - 1).clamp_(min=0).view(self.masked.shape)
        return place, torch.nonzero_static(flat, size=self.count).flatten()

    def spread(self, masks: Statistics) -> Statistics:
        """From the masks' to those of all columns."""
        certain = _certain(masks.numbers.dtype, masks.numbers.device)
        numbers = masks.numbers[self.place].where(self.masked[..., None], certain)
        return Statistics(numbers, masks.argmax[self.place].where(self.masked, 0))


@remembered
def _certain(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor([0, 0, 1, 1], dtype=dtype, device=device)


def statistics(logits: Tensor, mask_id: int, spots: Spots | None = None) -> Statistics:
    """Of each row [X, V], or of the columns that these masks stand in. The mask is struck out of the logits, in place.

    It is a state of the canvas, never a prediction: left in, it would take probability from real tokens and could be
    committed.
    """
    if kernels.usable(logits) and logits.stride(-1) == 1:
        from infogain.kernels.stats import statistics as read_once

        if spots is None:
            return Statistics(*read_once(logits, mask_id, (len(logits),)))
        return Statistics(*read_once(logits, mask_id, spots.masked.shape, spots.place, spots.masked))
    found = _read(strike(logits, mask_id))
    return found if spots is None else spots.spread(found)


def strike(logits: Tensor, mask_id: int) -> Tensor:
    if mask_id < logits.shape[-1]:
        logits[:, mask_id].fill_(-torch.inf)
    return logits


def _read(logits: Tensor) -> Statistics:
    x = wide(logits)
    log_z = x.logsumexp(-1)
    p = (x - log_z[:, None]).exp()
    top = p.topk(min(2, p.shape[-1])).values
    confidence = top[:, 0]
    margin = confidence - top[:, 1] if p.shape[-1] > 1 else confidence
    numbers = torch.stack([log_z, torch.special.entr(p).sum(-1), confidence, margin], -1)
    # argmax and not top's indices: of equal tokens it takes the first, on every device
    return Statistics(numbers, p.argmax(-1))


def wide(x: Tensor) -> Tensor:
    """At least float32: half precision loses the entropy's digits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
