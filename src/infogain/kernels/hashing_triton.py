"""The noise as one kernel: in torch a hash is some seventy small operations, and a number made of it ten more."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256
MOST = 4  # most tensors that are hashed together, the seed included
NUMBERS = ["stream", "size", "rows", "columns", *(f"{name}{axis}" for name in "abcd" for axis in range(3))]


@triton.jit
def _mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


@triton.jit
def _fold(h, value):
    return _mix(h + value.to(tl.uint64, bitcast=True) * 0x94D049BB133111EB + 0x9E3779B97F4A7C15)


@triton.jit(do_not_specialize=NUMBERS)
def _hash(
    a, b, c, d, out, stream, size, rows, columns,
    a0, a1, a2, b0, b1, b2, c0, c1, c2, d0, d1, d2,
    COUNT: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    i, j, k = at // columns // rows, at // columns % rows, at % columns
    seed = tl.load(a + i * a0 + j * a1 + k * a2, mask=inside, other=0)
    h = _mix(seed.to(tl.uint64, bitcast=True) + 0x9E3779B97F4A7C15)
    h = _fold(h, tl.full((BLOCK,), 0, tl.int64) + stream)
    if COUNT > 1:
        h = _fold(h, tl.load(b + i * b0 + j * b1 + k * b2, mask=inside, other=0))
    if COUNT > 2:
        h = _fold(h, tl.load(c + i * c0 + j * c1 + k * c2, mask=inside, other=0))
    if COUNT > 3:
        h = _fold(h, tl.load(d + i * d0 + j * d1 + k * d2, mask=inside, other=0))
    if KIND == "hash":
        tl.store(out + at, h.to(tl.int64, bitcast=True), mask=inside)
    else:
        u = ((h >> 12).to(tl.float64) + 0.5) * 2.220446049250313e-16  # 2^-52
        tl.store(out + at, u if KIND == "uniform" else -tl.log(-tl.log(u)), mask=inside)


def noise(kind: str, stream: int, *values: Tensor) -> Tensor:
    """Noise of the kind "hash", "uniform" or "gumbel", from int64 tensors, the seed first.

    They must broadcast to at most three dimensions.
    """
    alike = torch.broadcast_tensors(*values)
    shape = alike[0].shape
    out = torch.empty(shape, dtype=torch.int64 if kind == "hash" else torch.float64, device=alike[0].device)
    three = [x.expand(*(1,) * (3 - x.ndim), *shape) if x.ndim < 3 else x for x in alike]
    rows, columns = three[0].shape[1:]
    unused = MOST - len(three)
    strides = [stride for x in three for stride in x.stride()] + [0] * (3 * unused)
    if out.numel():
        _hash[(triton.cdiv(out.numel(), BLOCK),)](
            *three, *three[:1] * unused, out, stream, out.numel(), rows, columns, *strides,
            COUNT=len(three), KIND=kind, BLOCK=BLOCK,
        )  # fmt: skip
    return out
