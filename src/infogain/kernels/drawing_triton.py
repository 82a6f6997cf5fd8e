"""Draws from logits at a temperature: the inverse of the cumulative distribution, which is never written down.

`place` says which row of the logits a column has; unset: columns and rows are in the same order. `numbers` are those
of `infogain.statistics`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 8192  # words of the vocabulary that one program reads
TOKENS = 128  # whose probability one program looks up


@triton.jit
def _row(place, column, PLACED: tl.constexpr):
    return tl.load(place + column) if PLACED else column.to(tl.int64)


@triton.jit
def _largest(numbers, column):
    """The largest logit of a column: log-normaliser plus log of its probability."""
    return tl.load(numbers + column * 4) + tl.log(tl.load(numbers + column * 4 + 2))


@triton.jit
def _weigh(logits, place, numbers, parts, size, row_stride, inverse, BLOCK: tl.constexpr, PLACED: tl.constexpr):
    """The mass of one block of one column: Σ e^((x−top)/τ)."""
    column, part = tl.program_id(0), tl.program_id(1)
    word = part * BLOCK + tl.arange(0, BLOCK)
    row = _row(place, column, PLACED)
    x = tl.load(logits + row * row_stride + word, mask=word < size, other=-float("inf")).to(tl.float32)
    mass = tl.sum(tl.exp((x - _largest(numbers, column)) * inverse), 0)
    tl.store(parts + column * tl.num_programs(1) + part, mass)


@triton.jit
def _find(
    logits, place, numbers, argmax, parts, u, out, size, row_stride, inverse, count, width,
    BLOCK: tl.constexpr, COUNT: tl.constexpr, PLACED: tl.constexpr,
):  # fmt: skip
    """The first word at which the running mass exceeds u of the whole: first its block, then the word in it."""
    column, n = tl.program_id(0), tl.program_id(1)
    spot = (column // width * tl.num_programs(1) + n) * width + column % width  # [R, N, W]
    part = tl.arange(0, COUNT)
    mass = tl.load(parts + column * count + part, mask=part < count, other=0.0)
    total = tl.sum(mass, 0)
    aim = tl.minimum(tl.load(u + spot).to(tl.float32), 1 - 5.9604645e-08) * total
    chosen = tl.minimum(tl.sum(((tl.cumsum(mass, 0) <= aim) & (part < count)).to(tl.int32), 0), count - 1)
    before = tl.sum(tl.where(part < chosen, mass, 0.0), 0)
    word = chosen * BLOCK + tl.arange(0, BLOCK)
    row = _row(place, column, PLACED)
    x = tl.load(logits + row * row_stride + word, mask=word < size, other=-float("inf")).to(tl.float32)
    e = tl.exp((x - _largest(numbers, column)) * inverse)
    found = tl.min(tl.where((tl.cumsum(e, 0) + before > aim) & (e > 0), word, 2147483647), 0)
    last = tl.max(tl.where(e > 0, word, -1), 0)  # where the two sums round apart
    found = tl.where(found == 2147483647, tl.where(aim < float("inf"), last, -1), found)
    likeliest = tl.load(argmax + column)  # where τ is so small that nothing is left, or too much
    tl.store(out + spot, tl.where(found < 0, likeliest, found.to(tl.int64)))


def draw(logits: Tensor, place: Tensor | None, numbers: Tensor, argmax: Tensor, tau: float, u: Tensor) -> Tensor:
    """Words from e^(x/τ), one for each u [R, N, W]; logits [X, V], place and argmax [R, W] -> [R, N, W]"""
    rows, n, width = u.shape
    size, stride = logits.shape[1], logits.stride(0)
    count = triton.cdiv(size, BLOCK)
    parts = torch.empty((rows * width, count), dtype=torch.float32, device=logits.device)
    out = torch.empty(u.shape, dtype=torch.int64, device=logits.device)
    if out.numel():
        placed = place is not None
        where = argmax if place is None else place.contiguous()
        numbers = numbers.contiguous()
        _weigh[(rows * width, count)](
            logits, where, numbers, parts, size, stride, 1 / tau, BLOCK=BLOCK, PLACED=placed
        )  # fmt: skip
        _find[(rows * width, n)](
            logits, where, numbers, argmax.contiguous(), parts, u.contiguous(), out, size, stride, 1 / tau, count,
            width, BLOCK=BLOCK, COUNT=triton.next_power_of_2(count), PLACED=placed,
        )  # fmt: skip
    return out


@triton.jit
def _look_up(
    logits, place, numbers, tokens, out, size, row_stride, n, width, TOKENS: tl.constexpr, PLACED: tl.constexpr
):  # fmt: skip
    """p of some tokens: e to the logit less the log-normaliser."""
    spot = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    real = spot < size
    column = tl.where(real, spot // (n * width) * width + spot % width, 0)
    row = _row(place, column, PLACED)
    token = tl.load(tokens + spot, mask=real, other=0)
    x = tl.load(logits + row * row_stride + token, mask=real, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.load(numbers + column * 4))
    tl.store(out + spot, tl.where(p > 1, 1.0, p), mask=real)  # rounding can rise above; NaN stays


def probability(logits: Tensor, place: Tensor | None, numbers: Tensor, tokens: Tensor) -> Tensor:
    """p of given tokens. [R, N, W] -> [R, N, W]"""
    tokens = tokens.contiguous()
    out = torch.empty(tokens.shape, dtype=torch.float32, device=logits.device)
    size = tokens.numel()
    if size:
        _look_up[(triton.cdiv(size, TOKENS),)](
            logits, tokens if place is None else place.contiguous(), numbers.contiguous(), tokens, out, size,
            logits.stride(0), *tokens.shape[1:], TOKENS=TOKENS, PLACED=place is not None,
        )  # fmt: skip
    return out
