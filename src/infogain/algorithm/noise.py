"""Noise as a function: `uniform(seed, stream, index…)` depends on its arguments and on nothing else.

There is no generator object and no hidden state, so a row draws the same numbers alone, in a
batch, or in a batch of another order. Values are the splitmix64 hash of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from infogain import kernels
from infogain.device import counting, remembered

# One stream per purpose, so that two purposes never share a number.
TOKEN, POSITION, UNIFORM, ORDER, COPY, HYPOTHESIS, ROW, REPEAT, SELECT = range(9)

Kind = Callable[..., Tensor]  # `uniform` or `gumbel`
FEW_NUMBERS, MANY_NUMBERS = 512, 4096  # where a step needs but few, those of many steps are worked out at once


def hashed(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """A 64-bit hash of the arguments; tensors broadcast."""
    return kernels.noise("hash", seed, stream, *index)


def uniform(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """Numbers strictly between 0 and 1, float64, one for each combination of the arguments."""
    return kernels.noise("uniform", seed, stream, *index)


def gumbel(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """Standard Gumbel noise: the top K of φ + τ·gumbel is a draw from softmax(φ/τ) without replacement."""
    return kernels.noise("gumbel", seed, stream, *index)


def fork(seed: Tensor, stream: int, branch: Tensor) -> Tensor:
    """The seed of an independent branch: a copy of a row, or a hypothesis of a beam. Branch 0 is the seed itself."""
    return torch.where(branch == 0, seed, hashed(seed, stream, branch))


def row_seeds(seed: int, rows: int, first: int = 0) -> list[int]:
    """One seed per row from the one seed of a decode, for rows numbered from `first`."""
    base = torch.tensor(seed, dtype=torch.int64)
    return [int(h) for h in hashed(base, ROW, torch.arange(first, first + rows))]


def repeat_seed(seed: int, number: int) -> int:
    """The seed of a decode's repetition, a hash of the pair: no two pairs share one. Number 0 is the decode itself."""
    return int(fork(torch.tensor(seed, dtype=torch.int64), REPEAT, torch.tensor(number)))


class Blocks(Protocol):
    """R hypotheses in blocks of W columns, as far as draws go by them; a State is one."""

    @property
    def seed(self) -> Tensor: ...  # [R]

    @property
    def attempt_seed(self) -> Tensor: ...  # [R] differs from `seed` in beams alone

    @property
    def step(self) -> Tensor: ...  # [R] steps taken in the block

    @property
    def start(self) -> Tensor: ...  # [R] first canvas column of the block

    @property
    def column(self) -> Tensor: ...  # [R, W] canvas columns of the block

    @property
    def masked(self) -> Tensor: ...  # [R, W]


def of_blocks(kind: Kind, stream: int, z: Blocks, n: int, fixed: bool = False) -> Tensor:
    """Noise of n candidates: named by the row's seed, its step, the candidate and the canvas column. [R, N, W]

    `fixed`: by the attempt's seed and step 0 instead, so that it stays as it is for the whole decode.
    """
    seed, steps = (z.attempt_seed, torch.zeros_like(z.step)) if fixed else (z.seed, z.step)
    if seed.device.type == "cpu" and n * z.masked.numel() <= FEW_NUMBERS:
        step, *others = steps.tolist()
        if others.count(step) == len(others):
            return _of_step(step, kind, stream, seed, z, n)
    return kind(seed[:, None, None], stream, steps[:, None, None], _candidates(n, seed.device), z.column[:, None])


def of_candidates(kind: Kind, stream: int, z: Blocks, n: int) -> Tensor:
    """One number for each of n candidates, named as theirs in `of_blocks` are, by the block's first column. [R, N]"""
    return kind(z.seed[:, None], stream, z.step[:, None], counting(n, z.seed.device), z.start[:, None])


def _of_step(step: int, kind: Kind, stream: int, seeds: Tensor, z: Blocks, n: int) -> Tensor:
    """Noise of rows that are in step, looked up: on a CPU few numbers of eight steps take twice as long as of one."""
    width = z.masked.shape[1]
    count = max(1, min(width, MANY_NUMBERS // (n * z.masked.numel())))  # a block seldom has more steps than columns
    first = step - step % count
    seed, start = tuple(seeds.tolist()), tuple(z.start.tolist())
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
