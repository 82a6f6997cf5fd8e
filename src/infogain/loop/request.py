"""A row on its way through a lane: what the host knows of it from the moment it is admitted to its result."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas, split_blocks
from infogain.device import upload
from infogain.loop.trace import StepRecord
from infogain.recipe import Recipe


class Block(NamedTuple):
    start: int
    masks: int
    steps: int  # that the schedule allots to it


@dataclass(eq=False)
class Request:
    """One row that somebody asked for, with all its attempts."""

    row: int  # its number in the lane
    canvas: Canvas  # [1] as it came, on the host
    seed: int
    recipe: Recipe
    length: int
    attempts: list[Attempt] = field(default_factory=list)  # those that are not finished
    forwards: int = 0
    token_forwards: int = 0
    finished: list[Parked] = field(default_factory=list)  # hypotheses that have left, one each
    records: list[StepRecord] = field(default_factory=list)  # of its steps, where they are traced
    error: Exception | None = None  # why it was not decoded to its end

    @property
    def masks(self) -> int:
        """Masks that are still to be filled, in all attempts."""
        return sum(attempt.left + sum(block.masks for block in attempt.blocks) for attempt in self.attempts)


@dataclass(eq=False)
class Attempt:
    """One independent decode of a request; its hypotheses compete. All of it is known without asking the device."""

    number: int  # among all attempts of the lane
    copy: int  # among those of its request
    request: Request
    seed: int
    width: int  # of its blocks
    blocks: deque[Block]  # still to come
    now: Block = Block(0, 0, 0)
    left: int = 0  # masks of the present block
    steps_here: int = 0  # steps taken in the present block
    steps_taken: int = 0  # in all blocks
    previous_start: int = 0  # where the block before began
    opened: int = 0  # blocks since the row was last read as a whole, the present one included
    columns: tuple[int, int] = (0, 0)  # that run to open the present block, and for each candidate there
    context: list[int] = field(default_factory=list)  # rows of the context that its hypotheses stand on

    def next_block(self) -> None:
        self.previous_start = self.now.start
        self.now = self.blocks.popleft()
        self.left, self.steps_here = self.now.masks, 0
        self.opened += 1

    def stop(self) -> int:
        """The text ends in the present block, so the blocks right of it are skipped. Returns their masks."""
        skipped = [block for block in self.blocks if block.start > self.now.start]
        self.blocks = deque(block for block in self.blocks if block.start < self.now.start)
        return sum(block.masks for block in skipped)


@dataclass(frozen=True, eq=False)
class Parked:
    """Hypotheses between two blocks, or after their last."""

    canvas: Canvas  # [H]
    attempts: list[Attempt]  # of each hypothesis
    cost: Tensor  # [H]
    row: Tensor | None = None  # [H] the context row of the block each has finished; None: the row is read as a whole
    context: Any = None  # whose row that is; a failed opening may leave the batch with another
    complete: bool = True  # False: decoding broke off before the text was whole

    def of_rows(self, rows: Collection[int], inside: bool = True) -> list[int]:
        """The hypotheses of these rows or, not `inside`, of all others."""
        return [h for h, attempt in enumerate(self.attempts) if (attempt.request.row in rows) == inside]

    def take(self, hypotheses: Sequence[int]) -> Parked:
        if len(hypotheses) == len(self.attempts):
            return self
        index = upload(hypotheses, self.cost.device)
        row = None if self.row is None else self.row[index]
        attempts = [self.attempts[h] for h in hypotheses]
        return replace(self, canvas=self.canvas.take(index), attempts=attempts, cost=self.cost[index], row=row)

    def hand_over(self, complete: bool = True) -> None:
        """These hypotheses are finished, or set aside where decoding breaks off: each goes to its request."""
        for h, attempt in enumerate(self.attempts):
            one = slice(h, h + 1)
            attempt.request.finished.append(Parked(self.canvas.take(one), [], self.cost[one], complete=complete))


def make_requests(recipe: Recipe, canvas: Canvas, seeds: Sequence[int], first: int, aligned: bool) -> list[Request]:
    """A request for each row, numbered from `first`."""
    copies = torch.arange(recipe.sampler.traits.copies)
    forked = noise.fork(torch.tensor(seeds)[:, None], noise.COPY, copies).tolist()  # [P, copies]
    masked, lengths = canvas.masked, canvas.length.tolist()
    requests = []
    for i, (seed, own, length) in enumerate(zip(seeds, forked, lengths, strict=True)):
        request = Request(first + i, canvas.take(slice(i, i + 1)), seed, recipe, length)
        request.attempts = make_attempts(request, masked[i, :length].tolist(), own, aligned)
        requests.append(request)
    return requests


def make_attempts(request: Request, masked: list[bool], seeds: list[int], aligned: bool) -> list[Attempt]:
    """A row's attempts, one for each seed."""
    recipe = request.recipe
    width, masks = split_blocks(masked, recipe.block or 0, aligned)
    steps = recipe.schedule.allot(list(masks.values()))
    blocks = [Block(*block) for block in zip(masks, masks.values(), steps, strict=True)]
    first = request.row * len(seeds)
    return [
        Attempt(first + copy, copy, request, seed, width, deque(_ordered(blocks, recipe.order, seed)))
        for copy, seed in enumerate(seeds)
    ]


def _ordered(blocks: list[Block], order: str, seed: int) -> list[Block]:
    if order == "sequence":
        return blocks
    starts = torch.tensor([block.start for block in blocks], dtype=torch.int64)
    shuffled = noise.uniform(torch.tensor(seed), noise.ORDER, starts).argsort()
    return [blocks[i] for i in shuffled.tolist()]
