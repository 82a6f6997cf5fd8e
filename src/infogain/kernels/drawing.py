"""Draws from logits at a temperature: the inverse of the cumulative distribution, which is never written down."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from infogain.kernels import lined_up

BLOCK = 8192  # words of the vocabulary that one program reads


@triton.jit
def _weigh(logits, top, parts, words, row_stride, inverse, BLOCK: tl.constexpr):
    """The mass of one block of one row: Σ e^((x−top)/τ)."""
    row, part = tl.program_id(0), tl.program_id(1)
    word = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits + row.to(tl.int64) * row_stride + word, mask=word < words, other=-float("inf")).to(tl.float32)
    mass = tl.sum(tl.exp((x - tl.load(top + row)) * inverse), 0)
    tl.store(parts + row * tl.num_programs(1) + part, mass)


@triton.jit
def _find(
    logits, top, parts, argmax, u, out, words, row_stride, inverse, count, width,
    BLOCK: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """The first word at which the running mass exceeds u of the whole: first its block, then the word in it."""
    row, n = tl.program_id(0), tl.program_id(1)
    spot = (row // width * tl.num_programs(1) + n) * width + row % width  # [R, N, W]
    part = tl.arange(0, COUNT)
    mass = tl.load(parts + row * count + part, mask=part < count, other=0.0)
    total = tl.sum(mass, 0)
    aim = tl.minimum(tl.load(u + spot).to(tl.float32), 1 - 5.9604645e-08) * total
    chosen = tl.minimum(tl.sum(((tl.cumsum(mass, 0) <= aim) & (part < count)).to(tl.int32), 0), count - 1)
    before = tl.sum(tl.where(part < chosen, mass, 0.0), 0)
    word = chosen * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits + row.to(tl.int64) * row_stride + word, mask=word < words, other=-float("inf")).to(tl.float32)
    e = tl.exp((x - tl.load(top + row)) * inverse)
    found = tl.min(tl.where((tl.cumsum(e, 0) + before > aim) & (e > 0), word, 2147483647), 0)
    last = tl.max(tl.where(e > 0, word, -1), 0)  # where the two sums round apart
    found = tl.where(found == 2147483647, tl.where(aim < float("inf"), last, -1), found)
    likeliest = tl.load(argmax + row)  # where τ is so small that nothing is left, or too much
    tl.store(out + spot, tl.where(found < 0, likeliest, found.to(tl.int64)))


def draw(logits: Tensor, top: Tensor, argmax: Tensor, tau: float, u: Tensor) -> Tensor:
    """Words from e^(x/τ), one for each u [R, N, W]; logits [R·W, V], their largest ones and where. -> [R, N, W]"""
    logits = lined_up(logits)
    rows, words = logits.shape
    count = triton.cdiv(words, BLOCK)
    parts = torch.empty((rows, count), dtype=torch.float32, device=logits.device)
    out = torch.empty(u.shape, dtype=torch.int64, device=logits.device)
    if out.numel():
        _weigh[(rows, count)](logits, top, parts, words, logits.stride(0), 1 / tau, BLOCK=BLOCK)
        _find[(rows, u.shape[1])](
            logits, top, parts, argmax, u.contiguous(), out, words, logits.stride(0), 1 / tau, count, u.shape[2],
            BLOCK=BLOCK, COUNT=triton.next_power_of_2(count),
        )  # fmt: skip
    return out
