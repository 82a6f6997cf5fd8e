"""Draws from logits, and the probability of tokens.

Logits are rows [X, V]; `place` [R, W] says which of them each column has, and unset: all, in order.
"""

from __future__ import annotations

import torch
from torch import Tensor

from infogain.kernels import choice
from infogain.kernels.stats import Statistics
from infogain.kernels.tensors import at_least_float32


def of_columns(rows: Tensor, place: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Logits of every column. -> [R, W, V]"""
    return (rows if place is None else rows[place.flatten()]).view(*shape, -1)


def probability(rows: Tensor, place: Tensor | None, found: Statistics, tokens: Tensor) -> Tensor:
    """p of given tokens. [R, N, W] -> [R, N, W]"""
    if choice.usable(found.numbers):
        from infogain.kernels.drawing_triton import probability as fused

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
    if top_k is None and top_p is None and choice.usable(found.numbers):
        from infogain.kernels.drawing_triton import draw as fused

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
