"""Statistics of logits, tokens drawn from them, and the probability of given tokens.

Logits are rows [X, V]. `logit_row` [R, W] says which of these rows belongs to each column; where it is None, there is
one row for every column, in order.
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
    """Convert half precision to float32, because sums, entropies and scores would lose digits; others stay."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def rows_contiguous(x: Tensor) -> Tensor:
    """A tensor whose rows are contiguous, as the kernels read them: the given one, or a copy where it is not."""
    return x if x.stride(-1) == 1 else x.contiguous()


class Statistics(NamedTuple):
    """Statistics of columns of any shape [...]. A written column is certain: entropy 0, probability 1.

    The four numbers are one tensor, so that picking rows is one operation.
    """

    numbers: Tensor  # [..., 4] log-normaliser, entropy H, p of the most likely token, p_top1 − p_top2
    argmax: Tensor  # [...] the most likely token


@dataclass(frozen=True)
class MaskedColumns:
    """The masked columns of some rows, numbered from left to right, row after row.

    Logits of masked columns alone are [X, V]: row x belongs to masked column x. Computed when first asked for.
    """

    masked: Tensor  # [R, W]
    count: int  # X, known to the host

    @property
    def logit_row(self) -> Tensor:
        """The row of such logits that belongs to each column; for a written column, any row. [R, W]"""
        return self._numbered[0]

    @property
    def flat_index(self) -> Tensor:
        """The index of each masked column among all R·W columns. [X]"""
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[Tensor, Tensor]:
        return number_masked(self.masked, self.count)


def number_masked(masked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Number the `count` masked columns of [R, W]: `MaskedColumns.logit_row` and `.flat_index`. -> [R, W], [X]"""
    if (masked.device.type, masked.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import number_masked as fused

        return fused(masked, count)
    flat = masked.flatten()
    logit_row = (flat.cumsum(0) - 1).clamp_(min=0).view(masked.shape)
    return logit_row, torch.nonzero_static(flat, size=count).flatten()


def statistics(
    logits: Tensor, mask_id: int, masked: Tensor | None = None, logit_row: Tensor | None = None
) -> Statistics:
    """Statistics of each row [X, V] or, given `masked` and `logit_row`, of each column [R, W].

    The mask token's logits become −inf, in place.
    """
    if (logits.device.type, logits.dtype) in choice.FUSED and logits.stride(-1) == 1:
        from infogain.kernels.columns_triton import statistics as fused

        shape = logits.shape[:1] if masked is None else masked.shape
        return Statistics(*fused(logits, mask_id, shape, logit_row, masked))
    found = _statistics_of_rows(exclude_mask_token(logits, mask_id))
    return found if masked is None or logit_row is None else spread(found, masked, logit_row)


def exclude_mask_token(logits: Tensor, mask_id: int) -> Tensor:
    """Set the mask token's logits to −inf, in place, where it has a column among them."""
    if mask_id < logits.shape[-1]:
        logits[..., mask_id].fill_(-torch.inf)
    return logits


def _statistics_of_rows(logits: Tensor) -> Statistics:
    x = at_least_float32(logits)
    log_z = x.logsumexp(-1)
    p = (x - log_z[:, None]).exp()
    top = p.topk(min(2, p.shape[-1])).values
    confidence = top[:, 0]
    margin = confidence - top[:, 1] if p.shape[-1] > 1 else confidence
    numbers = torch.stack([log_z, torch.special.entr(p).sum(-1), confidence, margin], -1)
    # argmax and not top's indices: of equal tokens it takes the first, on every device
    return Statistics(numbers, p.argmax(-1))


def spread(found: Statistics, masked: Tensor, logit_row: Tensor) -> Statistics:
    """Statistics of all columns from those of the masked ones. [X] -> [R, W]"""
    certain = _certain(found.numbers.dtype, found.numbers.device)
    numbers = found.numbers[logit_row].where(masked[..., None], certain)
    return Statistics(numbers, found.argmax[logit_row].where(masked, 0))


@remembered
def _certain(dtype: torch.dtype, device: torch.device) -> Tensor:
    """The numbers of a written column."""
    return torch.tensor([0, 0, 1, 1], dtype=dtype, device=device)


def of_columns(rows: Tensor, logit_row: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Logits of every column, from their rows [X, V]. -> [R, W, V]"""
    return (rows if logit_row is None else rows[logit_row.flatten()]).view(*shape, -1)


def probability(rows: Tensor, logit_row: Tensor | None, found: Statistics, tokens: Tensor) -> Tensor:
    """The probability of given tokens. [R, N, W] -> [R, N, W]"""
    if (found.numbers.device.type, found.numbers.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import probability as fused

        return fused(rows, logit_row, found.numbers, tokens)
    logits = of_columns(rows, logit_row, found.argmax.shape)
    logit = logits.gather(-1, tokens.transpose(1, 2)).transpose(1, 2)
    return (at_least_float32(logit) - found.numbers[:, None, :, 0]).exp().clamp(max=1)  # rounding can rise above


def draw(
    rows: Tensor,
    logit_row: Tensor | None,
    found: Statistics,
    tau: float,
    u: Tensor,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Tokens from p^(1/τ), τ > 0, cut to the top-k and then the top-p; one for each u in [R, N, W].

    The cumulative distribution is inverted at u: one random number per draw, where Gumbel noise would need one per
    token of the vocabulary.
    """
    if top_k is None and top_p is None and (found.numbers.device.type, found.numbers.dtype) in choice.FUSED:
        from infogain.kernels.columns_triton import draw as fused

        return fused(rows, logit_row, *found, tau, u)
    x = at_least_float32(of_columns(rows, logit_row, found.argmax.shape))
    p = _cut(((x - x.amax(-1, keepdim=True)) / tau).softmax(-1), top_k, top_p)
    cdf = p.cumsum(-1)  # [R, W, V]
    total = cdf[..., -1:]
    # below `total`, so that rounding never reaches past the last possible token
    at = torch.minimum(u.transpose(1, 2).to(cdf) * total, total.nextafter(torch.zeros_like(total)))
    tokens = torch.searchsorted(cdf, at.contiguous(), right=True)  # [R, W, N]
    tokens = tokens.clamp(max=cdf.shape[-1] - 1)  # matters only for NaN, which the loop reports afterwards
    # A parallel sum may dip in its last bits and let the search end on a token of probability 0.
    tokens = torch.where(p.gather(-1, tokens) > 0, tokens, found.argmax[..., None])
    return tokens.transpose(1, 2)


def _cut(p: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Set to 0 all but the top k tokens, then all but the smallest set that holds probability top_p."""
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
