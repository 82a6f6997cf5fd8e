"""Many texts of one task as one tensor, drawn ahead of training by as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.zoo.tasks import load_task

CHUNK = 10_000  # texts one process draws at a time; part of what a seed means
BATCH, PICK, TIME, COLUMN = range(100, 104)  # streams of noise; decoding uses those below

Order = tuple[str, str, int, int, int]  # task, split, seed, which chunk, how many texts


@dataclass(frozen=True)
class Pool:
    tokens: Tensor  # [texts, L] solutions, in the smallest integers that hold the alphabet
    holes: Tensor  # [texts, L] columns that may be masked; the rest is given

    def to(self, device: torch.device) -> Pool:
        return Pool(self.tokens.to(device), self.holes.to(device))

    def pick(self, rows: int, seed: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """The rows of a step, the same whenever it is asked for: tokens and holes. [rows, L] each"""
        row = torch.arange(rows, device=self.tokens.device)
        index = (noise.uniform(seed, PICK, step, row) * len(self.tokens)).long()
        return self.tokens[index].long(), self.holes[index]


def fill(names: Sequence[str], split: str, count: int, seed: int, workers: int = 1) -> dict[str, Pool]:
    """A pool of `count` texts for each task. The number of workers changes the time it takes, and nothing else."""
    orders = [
        (name, split, seed, chunk, min(CHUNK, count - first))
        for name in names
        for chunk, first in enumerate(range(0, count, CHUNK))
    ]
    if workers == 1:
        return gather(orders, [draw(order) for order in orders])
    with multiprocessing.get_context("spawn").Pool(workers) as processes:  # spawn: a fork would copy torch's threads
        return gather(orders, processes.map(draw, orders, chunksize=1))


def draw(order: Order) -> Pool:
    """The texts of one chunk."""
    name, split, seed, chunk, count = order
    rng = Random(f"{name} {split} pool {seed} {chunk}")
    task = load_task(name)
    problems = [task.sample(rng, split, posed=False) for _ in range(count)]
    canvas = task.alphabet.tensor([problem.canvas for problem in problems])
    return Pool(task.alphabet.tensor([problem.solution for problem in problems]), canvas == task.alphabet.mask_id)


def gather(orders: Sequence[Order], drawn: Sequence[Pool]) -> dict[str, Pool]:
    """The chunks of each task as one."""
    chunks: dict[str, list[Pool]] = {}
    for order, pool in zip(orders, drawn, strict=True):
        chunks.setdefault(order[0], []).append(pool)
    return {
        name: Pool(torch.cat([pool.tokens for pool in own]), torch.cat([pool.holes for pool in own]))
        for name, own in chunks.items()
    }
