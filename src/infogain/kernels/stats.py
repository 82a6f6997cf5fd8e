"""Statistics of logits in one pass: they are read once, in the precision they have, and never copied."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from infogain.kernels import lined_up

BLOCK = 8192  # words of the vocabulary that one program reads


@triton.jit
def _read(logits, parts, args, words, mask_id, row_stride, BLOCK: tl.constexpr):
    """Of one block of one row: the largest logit m and where, the second, Σ e^(x−m) and Σ (x−m)·e^(x−m)."""
    row, part = tl.program_id(0), tl.program_id(1)
    count = tl.num_programs(1)
    word = part * BLOCK + tl.arange(0, BLOCK)
    real = (word < words) & (word != mask_id)
    x = tl.load(logits + row.to(tl.int64) * row_stride + word, mask=real, other=-float("inf")).to(tl.float32)
    m, at = tl.max(x, 0, return_indices=True)
    second = tl.max(tl.where(tl.arange(0, BLOCK) == at, -float("inf"), x), 0)
    below = x - tl.where(m == -float("inf"), 0.0, m)
    e = tl.exp(below)
    weighted = tl.where(below == -float("inf"), 0.0, below * e)  # −inf · 0
    out = parts + (row * count + part) * 4
    tl.store(out, m)
    tl.store(out + 1, second)
    tl.store(out + 2, tl.sum(e, 0))
    tl.store(out + 3, tl.sum(weighted, 0))
    tl.store(args + row * count + part, part * BLOCK + at)


@triton.jit
def _merge(parts, args, stats, argmax, count, rows, COUNT: tl.constexpr):
    """The blocks of one row become its statistics."""
    row = tl.program_id(0)
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
    tl.store(stats + row, top + tl.log(z))
    tl.store(stats + rows + row, tl.log(z) - t / z)
    tl.store(stats + 2 * rows + row, 1 / z)
    tl.store(stats + 3 * rows + row, (1 - tl.exp(runner_up - top)) / z)
    best = tl.minimum(best, count - 1)  # among NaN any block may come out largest, also one past the last
    tl.store(argmax + row, tl.load(args + row * count + best))


def statistics(logits: Tensor, mask_id: int) -> tuple[Tensor, ...]:
    """log-normaliser, entropy, confidence, margin (float32) and argmax of each row, the mask left out. [X, V] -> [X]"""
    logits = lined_up(logits)
    rows, words = logits.shape
    count = triton.cdiv(words, BLOCK)
    parts = logits.new_empty((rows, count, 4), dtype=torch.float32)
    args = logits.new_empty((rows, count), dtype=torch.int64)
    stats = logits.new_empty((4, rows), dtype=torch.float32)
    argmax = logits.new_empty(rows, dtype=torch.int64)
    if rows:
        _read[(rows, count)](logits, parts, args, words, mask_id, logits.stride(0), BLOCK=BLOCK)
        _merge[(rows,)](parts, args, stats, argmax, count, rows, COUNT=triton.next_power_of_2(count))
    return (*stats.unbind(), argmax)
