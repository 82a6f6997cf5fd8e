"""What is read from the logits of columns: their statistics, draws from them, and the probability of tokens.

Logits are rows [X, V]; `place` [R, W] says which of them each column has, and unset: all, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from infogain.device import remembered
from infogain.kernels import choice


def at_least_float32(x: Tensor) -> Tensor:
    """Half precision loses the digits of sums, entropies and scores."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def rows_contiguous(x: Tensor) -> Tensor:
    """Each row's numbers side by side, as the kernels read them; a copy only where they are not."""
    return x if x.stride(-1) == 1 else x.contiguous()


class Statistics(NamedTuple):
    """Numbers of columns of any shape, in one tensor so that rows are picked at once; a written column is certain."""

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
        return number(self.masked, self.count)


def number(masked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Number the `count` masked columns [R, W] from left to right: the number of each column, the column of each.

    The number of a written column is any that exists. Columns are counted over all rows. -> [R, W], [X]
    """
    if (masked.device.type, masked.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import number as fused

        return fused(masked, count)
    flat = masked.flatten()
    place = (flat.cumsum(0) - 1).clamp_(min=0).view(masked.shape)
    return place, torch.nonzero_static(flat, size=count).flatten()


def statistics(logits: Tensor, mask_id: int, masked: Tensor | None = None, place: Tensor | None = None) -> Statistics:
    """Read each row [X, V], for a column of its own or for those that `masked` and `place` tell [R, W].

    The mask is struck out of the logits, in place.
    """
    if (logits.device.type, logits.dtype) in choice.FUSED and logits.stride(-1) == 1:
        from infogain.kernels.columns_triton import statistics as fused

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


def of_columns(rows: Tensor, place: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Logits of every column. -> [R, W, V]"""
    return (rows if place is None else rows[place.flatten()]).view(*shape, -1)


def probability(rows: Tensor, place: Tensor | None, found: Statistics, tokens: Tensor) -> Tensor:
    """p of given tokens. [R, N, W] -> [R, N, W]"""
    if (found.numbers.device.type, found.numbers.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import probability as fused

        return fused(rows, place, found.numbers, tokens)
    logits = of_columns(rows, place, found.argmax.shape)
    logit = logits.gather(-1, tokens.transpose(1, 2)).transpose(1, 2)
    return (at_least_float32(logit) - found.numbers[:, None, :, 0]).exp().clamp(max=1)  # rounding can rise above


def draw(
    rows: Tensor,
    place: Tensor | None,
    found: Statistics,
    tau: float,
    u: Tensor,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Tokens from p^(1/τ), τ > 0, cut to the top-k and then the top-p; one for each u in [R, N, W].

    They are the inverse of the cumulative distribution at u: one number per draw, where Gumbel noise would need one
    per word of the vocabulary.
    """
    if top_k is None and top_p is None and (found.numbers.device.type, found.numbers.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import draw as fused

        return fused(rows, place, *found, tau, u)
    x = at_least_float32(of_columns(rows, place, found.argmax.shape))
    p = _cut(((x - x.amax(-1, keepdim=True)) / tau).softmax(-1), top_k, top_p)
    cdf = p.cumsum(-1)  # [R, W, V]
    total = cdf[..., -1:]
    # below `total`, so that rounding never reaches past the last possible token
    at = torch.minimum(u.transpose(1, 2).to(cdf) * total, total.nextafter(torch.zeros_like(total)))
    tokens = torch.searchsorted(cdf, at.contiguous(), right=True)  # [R, W, N]
    tokens = tokens.clamp(max=cdf.shape[-1] - 1)  # matters for NaN only, which the loop reports one line later
    # A parallel sum may dip in its last bits and let the search end on a token of probability 0.
    tokens = torch.where(p.gather(-1, tokens) > 0, tokens, found.argmax[..., None])
    return tokens.transpose(1, 2)


def _cut(p: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Zero all but the top k tokens, then all but the smallest set that holds probability top_p."""
    if top_k is None and top_p is None:
        return p
    ranked, index = p.sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(ranked, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        within = ranked * keep
        before = within.cumsum(-1) - within  # probability ahead of each token
        keep &= before < top_p * within.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, index, ranked * keep)
