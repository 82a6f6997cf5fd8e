"""Many texts of one task as one tensor: drawn ahead of training by as many processes as there are cores, or read."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.errors import InputError
from infogain.zoo.tasks import FileTask, load_task

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


def fill(
    names: Sequence[str], split: str, count: int, seed: int, workers: int = 1, data: Path | None = None
) -> dict[str, Pool]:
    """A pool of `count` texts for each task; of one that reads them from a file, `data`, at most as many as there are.

    The number of workers changes the time it takes, and nothing else.
    """
    read = {task.name: load(task, split, count, data) for task in map(load_task, names) if isinstance(task, FileTask)}
    check_used(names, read, data)
    drawn = draw_all([name for name in names if name not in read], split, count, seed, workers)
    return {name: {**read, **drawn}[name] for name in names}


def check_used(names: Sequence[str], read: Mapping[str, Pool], data: Path | None) -> None:
    if data is not None and not read:
        raise InputError(f"--data is for tasks that read their texts from a file; {', '.join(names)} do not. Drop it.")


def load(task: FileTask, split: str, count: int, data: Path | None) -> Pool:
    """The texts of a task that reads them, evenly from the whole file; all of their columns may be masked."""
    if data is None:
        raise InputError(f"the texts of {task.name} are read from a file, {task.source}. Name it with --data.")
    tokens = task.texts(data, split)
    if count < len(tokens):  # a file may be in some order
        tokens = tokens[torch.arange(count) * len(tokens) // count]
    return Pool(tokens, torch.ones_like(tokens, dtype=torch.bool))


def draw_all(names: Sequence[str], split: str, count: int, seed: int, workers: int) -> dict[str, Pool]:
    """The pools of tasks that draw their texts."""
    orders = [
        (name, split, seed, chunk, min(CHUNK, count - first))
        for name in names
        for chunk, first in enumerate(range(0, count, CHUNK))
    ]
    if workers == 1 or not orders:
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
