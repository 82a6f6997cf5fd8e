"""Operations between the matrix products of a layer, as in `layers.py`; they round where torch rounds."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from infogain.kernels.layers import Angles, Heads

GATE = 1024  # columns of an MLP that one program reads
HEADS = 8  # heads that one program rotates


@triton.jit
def _scaled(n, weight, dtype: tl.constexpr, IN_FLOAT32: tl.constexpr):
    """Normed numbers times their weights, rounded before or after as the family does it."""
    return n * weight if IN_FLOAT32 else n.to(dtype).to(tl.float32) * weight


@triton.jit
def _add_norm(x, more, weight, total, out, size, eps, ADD: tl.constexpr, IN_FLOAT32: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < size
    at = tl.program_id(0).to(tl.int64) * size + column
    dtype: tl.constexpr = x.dtype.element_ty
    y = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        y = (y + tl.load(more + at, mask=inside, other=0.0).to(tl.float32)).to(dtype)
        tl.store(total + at, y, mask=inside)
        y = y.to(tl.float32)
    n = y * tl.rsqrt(tl.sum(y * y, 0) / size + eps)
    w = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, _scaled(n, w, dtype, IN_FLOAT32).to(dtype), mask=inside)


def add_norm(
    x: Tensor, more: Tensor | None, weight: Tensor, eps: float, scale_in_float32: bool
) -> tuple[Tensor, Tensor]:
    """The sum x + more, and its RMSNorm. [T, hidden] each"""
    x = x.contiguous()
    out = torch.empty_like(x)
    total = x if more is None else torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    _add_norm[(len(x),)](
        x, x if more is None else more.contiguous(), weight, total, out, x.shape[1], eps,
        ADD=more is not None, IN_FLOAT32=scale_in_float32, BLOCK=block, num_warps=min(16, max(1, block // 512)),
    )  # fmt: skip
    return total, out


@triton.jit
def _rotated(y, other, cos, sin, dtype: tl.constexpr, IN_FLOAT32: tl.constexpr):
    if IN_FLOAT32:
        return y * cos + other * sin
    return (y * cos).to(dtype).to(tl.float32) + (other * sin).to(dtype).to(tl.float32)


@triton.jit
def _half(x, pair, D: tl.constexpr):
    return tl.load(x + pair, mask=pair < D // 2, other=0.0)[None].to(tl.float32)


@triton.jit
def _rotate(
    x, cos, sin, q_weight, k_weight, row_stride, queries, both, eps,
    D: tl.constexpr, HALF: tl.constexpr, HEADS: tl.constexpr, NORM: tl.constexpr, NORM_IN_FLOAT32: tl.constexpr,
    ROPE_IN_FLOAT32: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    pair = tl.arange(0, HALF)
    real = (head[:, None] < both) & (pair[None] < D // 2)
    dtype: tl.constexpr = x.dtype.element_ty
    at = x + token * row_stride + head[:, None] * D + pair[None]
    a = tl.load(at, mask=real, other=0.0).to(tl.float32)
    b = tl.load(at + D // 2, mask=real, other=0.0).to(tl.float32)
    if NORM:
        scale = tl.rsqrt((tl.sum(a * a, 1) + tl.sum(b * b, 1)) / D + eps)[:, None]
        is_query = head[:, None] < queries
        w_a = tl.where(is_query, _half(q_weight, pair, D), _half(k_weight, pair, D))
        w_b = tl.where(is_query, _half(q_weight + D // 2, pair, D), _half(k_weight + D // 2, pair, D))
        a = _scaled(a * scale, w_a, dtype, NORM_IN_FLOAT32).to(dtype).to(tl.float32)
        b = _scaled(b * scale, w_b, dtype, NORM_IN_FLOAT32).to(dtype).to(tl.float32)
    c, s = _half(cos + token * D, pair, D), _half(sin + token * D, pair, D)
    tl.store(at, _rotated(a, -b, c, s, dtype, ROPE_IN_FLOAT32).to(dtype), mask=real)
    tl.store(at + D // 2, _rotated(b, a, c, s, dtype, ROPE_IN_FLOAT32).to(dtype), mask=real)


def rotate_heads(heads: Tensor, how: Heads, angles: Angles, weights: tuple[Tensor, Tensor] | None) -> None:
    """Norm, if weights are given, and rotate queries and keys, in place. heads [T, H + 2K, D]"""
    dim, rotated = heads.shape[2], how.queries + how.keys
    q_weight, k_weight = weights or (heads, heads)
    _rotate[(len(heads), triton.cdiv(rotated, HEADS))](
        heads, *(x.contiguous() for x in angles), q_weight, k_weight, heads.stride(0), how.queries, rotated, how.eps,
        D=dim, HALF=triton.next_power_of_2(dim // 2), HEADS=HEADS, NORM=weights is not None,
        NORM_IN_FLOAT32=how.norm_scales_in_float32, ROPE_IN_FLOAT32=how.rope_in_float32,
        num_warps=2, enable_fp_fusion=False,  # fused, one rounding would be left out
    )  # fmt: skip


@triton.jit
def _gate(both, out, size, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < size
    dtype: tl.constexpr = both.dtype.element_ty
    gate = tl.load(both + row * 2 * size + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * 2 * size + size + column, mask=inside, other=0.0).to(tl.float32)
    silu = (gate / (1 + tl.exp(-gate))).to(dtype).to(tl.float32)
    tl.store(out + row * size + column, (silu * up).to(dtype), mask=inside)


def gate(both: Tensor) -> Tensor:
    """silu of the first half times the second. [T, 2·wide] -> [T, wide]"""
    both = both.contiguous()
    rows, size = both.shape[0], both.shape[1] // 2
    out = both.new_empty((rows, size))
    _gate[(rows, triton.cdiv(size, GATE))](both, out, size, BLOCK=GATE, num_warps=4)
    return out
