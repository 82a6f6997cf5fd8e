"""What lies between the products of a layer: sums and norms, rotation, the gate."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infogain.kernels import choice
from infogain.kernels.columns import at_least_float32

Angles = tuple[Tensor, Tensor]  # cos and sin for every token


class Heads(NamedTuple):
    """How many heads a layer has, and how the family norms and turns them."""

    queries: int
    keys: int
    eps: float
    wide_norm: bool  # the norm's weight multiplies before the cast back; else after
    wide_rope: bool  # they are turned in float32; else in the activations' dtype


def add_norm(x: Tensor, more: Tensor | None, weight: Tensor, eps: float, wide: bool) -> tuple[Tensor, Tensor]:
    """x + more, and its norm. [T, hidden] each"""
    if choice.forward_only(x):
        from infogain.kernels.layers_triton import add_norm as fused

        return fused(x, more, weight, eps, wide)
    x = x if more is None else x + more
    return x, _norm(x, weight, eps, wide)


def turn(heads: Tensor, how: Heads, angles: Angles, weights: tuple[Tensor, Tensor] | None) -> tuple[Tensor, ...]:
    """Queries and keys are normed, where weights are given, and turned. [T, H + 2K, D] -> [T, heads, D] each

    `heads` becomes ours: it may be changed in place.
    """
    parts = torch.split(heads, [how.queries, how.keys, how.keys], 1)
    if choice.forward_only(heads):
        from infogain.kernels.layers_triton import turn as fused

        fused(heads, how, angles, weights)
        return parts
    q, k, v = parts
    if weights is not None:
        q, k = (_norm(y, weight, how.eps, how.wide_norm) for y, weight in zip((q, k), weights, strict=True))
    return _rotate(q, angles, how.wide_rope), _rotate(k, angles, how.wide_rope), v


def gate(both: Tensor) -> Tensor:
    """The gate's half opens the other. [T, 2·wide] -> [T, wide]"""
    if choice.forward_only(both):
        from infogain.kernels.layers_triton import gate as fused

        return fused(both)
    first, second = both.chunk(2, -1)
    return F.silu(first) * second


def _norm(x: Tensor, weight: Tensor, eps: float, wide: bool) -> Tensor:
    """RMSNorm in float32, in the family's order of rounding."""
    y = at_least_float32(x)
    y = y * (y.square().mean(-1, keepdim=True) + eps).rsqrt()
    return (y * weight).to(x.dtype) if wide else y.to(x.dtype) * weight


def _rotate(x: Tensor, angles: Angles, in_float32: bool) -> Tensor:
    """RoPE: the two halves of each head turn against each other. [T, heads, D]"""
    cos, sin = angles
    y = x.float() if in_float32 else x
    first, second = y.chunk(2, -1)
    return (y * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)
