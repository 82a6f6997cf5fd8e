"""Statistics of logits in one pass, draws from them, and the probability of tokens.

Logits are read in their own precision and never copied; a draw inverts the cumulative distribution without storing it.
`logit_row` says which row of the logits belongs to a column; where it is None, columns and rows are in the same order.
`numbers` are those of `kernels.columns.Statistics`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

READ = 1024  # logits that one program reads: one warp, which need not wait for others
FLAGS = 1024  # columns that are counted together
WEIGH = 8192  # logits that one program sums up for a draw
TOKENS = 128  # tokens whose probability one program looks up


@triton.jit
def _read(logits, parts, args, size, mask_id, row_stride, BLOCK: tl.constexpr):
    """Read one block of one row: the largest logit m and where, the second, Σ e^(x−m) and Σ (x−m)·e^(x−m).

    The mask token is left out, and its logit becomes −inf in place.
    """
    row, part = tl.program_id(0), tl.program_id(1)
    count = tl.num_programs(1)
    word = part * BLOCK + tl.arange(0, BLOCK)
    real = (word < size) & (word != mask_id)
    line = logits + row.to(tl.int64) * row_stride
    x = tl.load(line + word, mask=real, other=-float("inf")).to(tl.float32)
    tl.store(line + mask_id, -float("inf"), mask=(mask_id < size) & (mask_id // BLOCK == part))
    m = tl.max(x, 0)
    at = tl.min(tl.where(x == m, word, 2147483647), 0)  # the first of equals
    second = tl.max(tl.where(word == at, -float("inf"), x), 0)
    below = x - tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(below)
    weighted = tl.where(below == -float("inf"), 0.0, below * e)  # −inf · 0
    out = parts + (row * count + part) * 4
    tl.store(out, m)
    tl.store(out + 1, second)
    tl.store(out + 2, tl.sum(e, 0))
    tl.store(out + 3, tl.sum(weighted, 0))
    tl.store(args + row * count + part, tl.minimum(at, size - 1).to(tl.int64))  # among NaN there is none


@triton.jit
def _merge(parts, args, logit_row, masked, numbers, argmax, count, COUNT: tl.constexpr, SPREAD: tl.constexpr):
    """Merge the blocks of one row into the statistics of one column; a written column is certain."""
    column = tl.program_id(0)
    row = column
    open_ = True
    if SPREAD:
        row = tl.load(logit_row + column).to(tl.int32)
        open_ = tl.load(masked + column) != 0
    part = tl.arange(0, COUNT)
    there = part < count
    at = parts + (row * count + part) * 4
    m = tl.load(at, mask=there, other=-float("inf"))
    second = tl.load(at + 1, mask=there, other=-float("inf"))
    mass = tl.load(at + 2, mask=there, other=0.0)
    weighted = tl.load(at + 3, mask=there, other=0.0)
    top, best = tl.max(m, 0, return_indices=True)
    gap = tl.where(m == -float("inf"), 0.0, m - top)
    scale = tl.where(m == -float("inf"), 0.0, tl.exp(gap))
    z = tl.sum(mass * scale, 0)  # NaN stays NaN: the loop looks for it
    t = tl.sum((weighted + mass * gap) * scale, 0)
    runner_up = tl.max(tl.where(part == best, second, m), 0)
    best = tl.minimum(best, count - 1)  # among NaN any block may come out largest, also one past the last
    likeliest = tl.load(args + row * count + best)
    out = numbers + column * 4
    tl.store(out, tl.where(open_, top + tl.log(z), 0.0))
    tl.store(out + 1, tl.where(open_, tl.log(z) - t / z, 0.0))
    tl.store(out + 2, tl.where(open_, 1 / z, 1.0))
    tl.store(out + 3, tl.where(open_, (1 - tl.exp(runner_up - top)) / z, 1.0))
    tl.store(argmax + column, tl.where(open_, likeliest, 0))


def statistics(
    logits: Tensor, mask_id: int, shape: tuple[int, ...], logit_row: Tensor | None = None, masked: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The fields of `kernels.columns.Statistics` for columns of this shape, from logits [X, V].

    `logit_row` and `masked` say which row of the logits each column has, if any; None: one for each, in order.
    """
    rows, size = logits.shape
    count = triton.cdiv(size, READ)
    parts = logits.new_empty((rows, count, 4), dtype=torch.float32)
    args = logits.new_empty((rows, count), dtype=torch.int64)
    numbers = logits.new_empty((*shape, 4), dtype=torch.float32)
    argmax = logits.new_empty(shape, dtype=torch.int64)
    if rows:
        _read[(rows, count)](logits, parts, args, size, mask_id, logits.stride(0), BLOCK=READ, num_warps=1)
        _merge[(argmax.numel(),)](
            parts, args, args if logit_row is None else logit_row.contiguous(),
            args if masked is None else masked.contiguous(), numbers, argmax, count,
            COUNT=triton.next_power_of_2(count), SPREAD=logit_row is not None,
        )  # fmt: skip
    return numbers, argmax


@triton.jit
def _number(masked, logit_row, flat_index, size, count, FLAGS: tl.constexpr):
    """Number the masked columns: one program goes through all columns, because there are few."""
    before = 0
    for start in range(0, size, FLAGS):
        column = start + tl.arange(0, FLAGS)
        flag = (tl.load(masked + column, mask=column < size, other=0) != 0).to(tl.int32)
        nth = before + tl.cumsum(flag, 0) - 1
        tl.store(logit_row + column, tl.maximum(nth, 0).to(tl.int64), mask=column < size)
        tl.store(flat_index + nth, column.to(tl.int64), mask=(flag != 0) & (nth < count))
        before += tl.sum(flag, 0)


def number_masked(masked: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Number the `count` masked columns of [R, W]: the fields of `kernels.columns.MaskedColumns`. -> [R, W], [X]"""
    masked = masked.contiguous()
    logit_row = torch.empty(masked.shape, dtype=torch.int64, device=masked.device)
    flat_index = torch.empty(count, dtype=torch.int64, device=masked.device)
    if count:
        _number[(1,)](masked, logit_row, flat_index, masked.numel(), count, FLAGS=FLAGS)
    return logit_row, flat_index


@triton.jit
def _row(logit_row, column, PLACED: tl.constexpr):
    """The row of the logits that belongs to a column."""
    return tl.load(logit_row + column) if PLACED else column.to(tl.int64)


@triton.jit
def _largest(numbers, column):
    """The largest logit of a column: log-normaliser plus log of its probability."""
    return tl.load(numbers + column * 4) + tl.log(tl.load(numbers + column * 4 + 2))


@triton.jit
def _weigh(logits, logit_row, numbers, parts, size, row_stride, inverse, BLOCK: tl.constexpr, PLACED: tl.constexpr):
    """The mass of one block of one column: Σ e^((x−top)/τ)."""
    column, part = tl.program_id(0), tl.program_id(1)
    word = part * BLOCK + tl.arange(0, BLOCK)
    row = _row(logit_row, column, PLACED)
    x = tl.load(logits + row * row_stride + word, mask=word < size, other=-float("inf")).to(tl.float32)
    mass = tl.sum(tl.exp((x - _largest(numbers, column)) * inverse), 0)
    tl.store(parts + column * tl.num_programs(1) + part, mass)


@triton.jit
def _find(
    logits, logit_row, numbers, argmax, parts, u, out, size, row_stride, inverse, count, width,
    BLOCK: tl.constexpr, COUNT: tl.constexpr, PLACED: tl.constexpr,
):  # fmt: skip
    """Find the first token at which the running mass exceeds u of the total: first its block, then the token in it."""
    column, n = tl.program_id(0), tl.program_id(1)
    spot = (column // width * tl.num_programs(1) + n) * width + column % width  # [R, N, W]
    part = tl.arange(0, COUNT)
    mass = tl.load(parts + column * count + part, mask=part < count, other=0.0)
    total = tl.sum(mass, 0)
    aim = tl.minimum(tl.load(u + spot).to(tl.float32), 1 - 5.9604645e-08) * total
    chosen = tl.minimum(tl.sum(((tl.cumsum(mass, 0) <= aim) & (part < count)).to(tl.int32), 0), count - 1)
    before = tl.sum(tl.where(part < chosen, mass, 0.0), 0)
    word = chosen * BLOCK + tl.arange(0, BLOCK)
    row = _row(logit_row, column, PLACED)
    x = tl.load(logits + row * row_stride + word, mask=word < size, other=-float("inf")).to(tl.float32)
    e = tl.exp((x - _largest(numbers, column)) * inverse)
    found = tl.min(tl.where((tl.cumsum(e, 0) + before > aim) & (e > 0), word, 2147483647), 0)
    last = tl.max(tl.where(e > 0, word, -1), 0)  # where the two sums round apart
    found = tl.where(found == 2147483647, tl.where(aim < float("inf"), last, -1), found)
    likeliest = tl.load(argmax + column)  # where τ is so small that nothing is left, or too much
    tl.store(out + spot, tl.where(found < 0, likeliest, found.to(tl.int64)))


def draw(logits: Tensor, logit_row: Tensor | None, numbers: Tensor, argmax: Tensor, tau: float, u: Tensor) -> Tensor:
    """Tokens drawn from e^(x/τ), one for each u [R, N, W]; logits [X, V], logit_row and argmax [R, W] -> [R, N, W]"""
    rows, n, width = u.shape
    size, stride = logits.shape[1], logits.stride(0)
    count = triton.cdiv(size, WEIGH)
    parts = torch.empty((rows * width, count), dtype=torch.float32, device=logits.device)
    out = torch.empty(u.shape, dtype=torch.int64, device=logits.device)
    if out.numel():
        placed = logit_row is not None
        where = argmax if logit_row is None else logit_row.contiguous()
        numbers = numbers.contiguous()
        _weigh[(rows * width, count)](
            logits, where, numbers, parts, size, stride, 1 / tau, BLOCK=WEIGH, PLACED=placed
        )  # fmt: skip
        _find[(rows * width, n)](
            logits, where, numbers, argmax.contiguous(), parts, u.contiguous(), out, size, stride, 1 / tau, count,
            width, BLOCK=WEIGH, COUNT=triton.next_power_of_2(count), PLACED=placed,
        )  # fmt: skip
    return out


@triton.jit
def _look_up(
    logits, logit_row, numbers, tokens, out, size, row_stride, n, width, TOKENS: tl.constexpr, PLACED: tl.constexpr
):  # fmt: skip
    """The probability of some tokens: e to the logit less the log-normaliser."""
    spot = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    real = spot < size
    column = tl.where(real, spot // (n * width) * width + spot % width, 0)
    row = _row(logit_row, column, PLACED)
    token = tl.load(tokens + spot, mask=real, other=0)
    x = tl.load(logits + row * row_stride + token, mask=real, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.load(numbers + column * 4))
    tl.store(out + spot, tl.where(p > 1, 1.0, p), mask=real)  # rounding can rise above; NaN stays


def probability(logits: Tensor, logit_row: Tensor | None, numbers: Tensor, tokens: Tensor) -> Tensor:
    """The probability of given tokens. [R, N, W] -> [R, N, W]"""
    tokens = tokens.contiguous()
    out = torch.empty(tokens.shape, dtype=torch.float32, device=logits.device)
    size = tokens.numel()
    if size:
        _look_up[(triton.cdiv(size, TOKENS),)](
            logits, tokens if logit_row is None else logit_row.contiguous(), numbers.contiguous(), tokens, out, size,
            logits.stride(0), *tokens.shape[1:], TOKENS=TOKENS, PLACED=logit_row is not None,
        )  # fmt: skip
    return out
