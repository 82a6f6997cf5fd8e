"""Operations between the matrix products of a layer: residual sum and norm, rotation of heads, the gate of an MLP."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infogain.kernels import choice
from infogain.kernels.columns import at_least_float32

Angles = tuple[Tensor, Tensor]  # the cos and sin of every token's position


class Heads(NamedTuple):
    """How many heads a layer has, and how its family norms and rotates them."""

    queries: int
    keys: int
    eps: float
    norm_scales_in_float32: bool  # the norm's weight multiplies before the cast back; else after
    rope_in_float32: bool  # heads are rotated in float32; else in the activations' dtype


def add_norm(
    x: Tensor, more: Tensor | None, weight: Tensor, eps: float, scale_in_float32: bool
) -> tuple[Tensor, Tensor]:
    """The sum x + more, and its RMSNorm. [T, hidden] each"""
    if choice.forward_only(x):
        from infogain.kernels.layers_triton import add_norm as fused

        return fused(x, more, weight, eps, scale_in_float32)
    x = x if more is None else x + more
    return x, _norm(x, weight, eps, scale_in_float32)


def rotate_heads(
    heads: Tensor, how: Heads, angles: Angles, weights: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, ...]:
    """Queries, keys and values, with queries and keys normed, if weights are given, and rotated (RoPE).

    `heads` may be changed in place. [T, H + 2K, D] -> three [T, heads, D]
    """
    parts = torch.split(heads, [how.queries, how.keys, how.keys], 1)
    if choice.forward_only(heads):
        from infogain.kernels.layers_triton import rotate_heads as fused

        fused(heads, how, angles, weights)
        return parts
    q, k, v = parts
    if weights is not None:
        q, k = (
            _norm(y, weight, how.eps, how.norm_scales_in_float32) for y, weight in zip((q, k), weights, strict=True)
        )
    return _rotate(q, angles, how.rope_in_float32), _rotate(k, angles, how.rope_in_float32), v


def gate(both: Tensor) -> Tensor:
    """The gate of an MLP: silu of the first half times the second. [T, 2·wide] -> [T, wide]"""
    if choice.forward_only(both):
        from infogain.kernels.layers_triton import gate as fused

        return fused(both)
    first, second = both.chunk(2, -1)
    return F.silu(first) * second


def _norm(x: Tensor, weight: Tensor, eps: float, scale_in_float32: bool) -> Tensor:
    """RMSNorm in float32; its weight multiplies before or after the cast back, as the family does it."""
    y = at_least_float32(x)
    y = y * (y.square().mean(-1, keepdim=True) + eps).rsqrt()
    return (y * weight).to(x.dtype) if scale_in_float32 else y.to(x.dtype) * weight


def _rotate(x: Tensor, angles: Angles, in_float32: bool) -> Tensor:
    """RoPE, where pairs are formed of the two halves of each head. [T, heads, D]"""
    cos, sin = angles
    y = x.float() if in_float32 else x
    first, second = y.chunk(2, -1)
    return (y * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)
