"""Noise as a function: `uniform(seed, stream, index…)` depends on its arguments and on nothing else.

There is no generator object and no hidden state, so a row draws the same numbers alone, in a
batch, or in a batch of another order. Values are the splitmix64 hash of the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, cast

import torch
from torch import Tensor

from infogain import kernels
from infogain.device import counting, remembered

# One stream per purpose, so that two purposes never share a number.
TOKEN, POSITION, UNIFORM, ORDER, COPY, PLACE, ROW, REPEAT = range(8)

Kind = Callable[..., Tensor]  # `uniform` or `gumbel`
FEW_NUMBERS, MANY_NUMBERS = 512, 4096  # where a step needs but few, those of many steps are worked out at once

FEW = 64  # seeds whose part of the hash is kept

GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit integer
MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


# Numbers as tensors: torch wraps a bare number anew in every operation, which takes longer than the operation.
_GOLDEN, _MIX_1, _MIX_2 = (torch.tensor(x) for x in (GOLDEN, MIX_1, MIX_2))
_SHIFTS = {bits: (torch.tensor(bits), torch.tensor((1 << (64 - bits)) - 1)) for bits in (12, 27, 30, 31)}


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift: torch shifts signed integers arithmetically."""
    places, rest = _SHIFTS[bits]
    return (x >> places).bitwise_and_(rest)


def mix(x: Tensor) -> Tensor:
    """Scramble 64-bit integers (the finaliser of splitmix64); a bijection."""
    x = _shift(x, 30).bitwise_xor_(x).mul_(_MIX_1)
    x = _shift(x, 27).bitwise_xor_(x).mul_(_MIX_2)
    return _shift(x, 31).bitwise_xor_(x)


def hashed(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """A 64-bit hash of the arguments; tensors broadcast."""
    if (found := _in_one_go("hash", seed, stream, index)) is not None:
        return found
    h = _root(seed, stream)
    for i in index:
        h = _fold(h, i)
    return h if index else h.clone()


def _fold(h: Tensor, i: Tensor | int) -> Tensor:
    link = wrapped(i * MIX_2 + GOLDEN) if isinstance(i, int) else i * _MIX_2 + _GOLDEN
    return mix(h + link)  # sums and products wrap, as they should


def _root(seed: Tensor, stream: int) -> Tensor:
    """Where the hash begins. A row keeps its seed from step to step: on a CPU what follows from it is looked up."""
    if seed.device.type == "cpu" and seed.numel() <= FEW:
        return _kept(tuple(seed.flatten().tolist()), stream).view(seed.shape)
    return _fold(mix(seed + _GOLDEN), stream)


@lru_cache(maxsize=256)
def _kept(seeds: tuple[int, ...], stream: int) -> Tensor:
    with torch.inference_mode(False):
        return _fold(mix(torch.tensor(seeds, dtype=torch.int64, device="cpu") + _GOLDEN), stream)


def _in_one_go(kind: str, seed: Tensor, stream: int, index: tuple[Tensor | int, ...]) -> Tensor | None:
    """The same by one kernel; None where that cannot be."""
    fits = len(index) <= 3 and all(isinstance(i, Tensor) and i.ndim <= 3 for i in index)
    if not fits or not kernels.usable(seed):
        return None
    from infogain.kernels.hashing import noise

    return noise(kind, stream, seed, *cast("tuple[Tensor, ...]", index))


def wrapped(x: int) -> int:
    """As a signed 64-bit integer."""
    return (x + 2**63) % 2**64 - 2**63


def uniform(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """Numbers strictly between 0 and 1, float64, one for each combination of the arguments."""
    if (found := _in_one_go("uniform", seed, stream, index)) is not None:
        return found
    return _shift(hashed(seed, stream, *index), 12).double().add_(0.5).mul_(math.ldexp(1, -52))


def gumbel(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """Standard Gumbel noise: the top K of φ + τ·gumbel is a draw from softmax(φ/τ) without replacement."""
    if (found := _in_one_go("gumbel", seed, stream, index)) is not None:
        return found
    return -(-uniform(seed, stream, *index).log()).log()


def fork(seed: Tensor, stream: int, branch: Tensor) -> Tensor:
    """The seed of an independent branch, a copy or a place in a beam; branch 0 is the seed itself."""
    return torch.where(branch == 0, seed, hashed(seed, stream, branch))


def row_seeds(seed: int, rows: int) -> list[int]:
    """One seed per row from the one seed of a decode."""
    base = torch.tensor(seed, dtype=torch.int64)
    return [int(h) for h in hashed(base, ROW, torch.arange(rows))]


def repeat_seed(seed: int, number: int) -> int:
    """The seed of a decode's repetition, a hash of the pair: no two pairs share one. Number 0 is the decode itself."""
    return int(fork(torch.tensor(seed, dtype=torch.int64), REPEAT, torch.tensor(number)))


class Blocks(Protocol):
    """R hypotheses in blocks of W columns, as far as draws go by them; a State is one."""

    @property
    def seed(self) -> Tensor: ...  # [R]

    @property
    def step(self) -> Tensor: ...  # [R] steps taken in the block

    @property
    def start(self) -> Tensor: ...  # [R] first canvas column of the block

    @property
    def column(self) -> Tensor: ...  # [R, W] canvas columns of the block

    @property
    def masked(self) -> Tensor: ...  # [R, W]


def of_blocks(kind: Kind, stream: int, z: Blocks, n: int) -> Tensor:
    """Noise of n candidates: named by the row's seed, its step, the candidate and the canvas column. [R, N, W]"""
    if z.seed.device.type == "cpu" and n * z.masked.numel() <= FEW_NUMBERS:
        step, *others = z.step.tolist()
        if others.count(step) == len(others):
            return _of_step(step, kind, stream, z, n)
    return kind(z.seed[:, None, None], stream, z.step[:, None, None], _candidates(n, z.seed.device), z.column[:, None])


def _of_step(step: int, kind: Kind, stream: int, z: Blocks, n: int) -> Tensor:
    """Noise of rows that are in step, looked up: on a CPU few numbers of eight steps take twice as long as of one."""
    width = z.masked.shape[1]
    count = max(1, min(width, MANY_NUMBERS // (n * z.masked.numel())))  # a block seldom has more steps than columns
    first = step - step % count
    seed, start = tuple(z.seed.tolist()), tuple(z.start.tolist())
    return _of_steps(range(first, first + count), kind, stream, seed, start, width, n)[step - first].clone()


@remembered
def _of_steps(
    steps: range, kind: Kind, stream: int, seed: tuple[int, ...], start: tuple[int, ...], width: int, n: int
) -> Tensor:
    with torch.device("cpu"):
        row, column = torch.tensor(seed)[:, None, None], torch.tensor(start)[:, None, None] + torch.arange(width)
        step = torch.arange(steps.start, steps.stop)[:, None, None, None]
        return kind(row, stream, step, _candidates(n, row.device), column)


def _candidates(n: int, device: torch.device) -> Tensor:
    return counting(n, device)[:, None]
