"""What is asked for, and how far each row of it has come: a Lane, its Requests, their Attempts.

A lane is rows that are decoded with one recipe; lanes share the model's forwards and nothing else. A row's hypotheses
compete with each other; independent copies of a row (best-of-N) are attempts of their own. Attempts move through their
blocks at their own pace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas, order_blocks, split_blocks, whole_numbers
from infogain.algorithm.guidance import guidance_of
from infogain.capacity import check_candidates
from infogain.device import upload
from infogain.errors import InputError
from infogain.loop.trace import TraceStep
from infogain.models.denoiser import Denoiser
from infogain.recipe import Recipe
from infogain.samplers.base import TokenizerInfo


@dataclass(frozen=True)
class Lane:
    """Rows to decode, and the recipe to decode them with."""

    canvas: Canvas
    recipe: Recipe
    seeds: Sequence[int] | None = None  # of each row; unset: derived from the recipe's seed
    stop: Callable[[int, list[int]], bool] | None = None  # (row, what it wrote so far): end here? Asked at block ends
    max_in_flight: int | None = None  # rows that are decoded at a time, the longest first. Unset: all

    def __post_init__(self) -> None:
        """Refuse what no model could decode."""
        if not isinstance(self.canvas, Canvas) or not isinstance(self.recipe, Recipe):
            kinds = " and ".join(type(value).__name__ for value in (self.canvas, self.recipe))
            raise InputError(
                f"decoding takes lanes of a Canvas and a Recipe; got {kinds}. "
                'Make them with Canvas.from_prompts or .infill, and Recipe("info-gain").'
            )
        if self.seeds is not None and len(self.row_seeds) != self.rows:
            raise InputError(f"seeds must be one per row ({self.rows}); got {len(self.row_seeds)}.")
        if self.max_in_flight is not None and (not isinstance(self.max_in_flight, int) or self.max_in_flight < 1):
            raise InputError(f"max_in_flight must be a whole number of at least 1, or unset; got {self.max_in_flight}.")

    @property
    def rows(self) -> int:
        return self.canvas.tokens.shape[0]

    @cached_property
    def row_seeds(self) -> list[int]:
        if self.seeds is None:
            return noise.row_seeds(self.recipe.seed, self.rows)
        return whole_numbers(self.seeds, "seeds must be a list of whole numbers of 64 bits, one per row")

    def decodes_like(self, other: Lane) -> bool:
        """Whether rows of both can share a lane: all is equal but the rows and their seeds."""
        ours, theirs = (replace(lane.recipe, seed=0) for lane in (self, other))
        return ours == theirs and self.stop == other.stop and self.max_in_flight == other.max_in_flight

    def fitted(self, model: Denoiser, tokenizer: TokenizerInfo | None) -> Lane:
        """This lane as the model decodes it, its block a number; refuses what the model or memory does not allow."""
        self.canvas.check(model.vocabulary, model.context)
        self.recipe.check(model.vocabulary, model.attention_block is not None, stops=self.stop is not None)
        if self.guided and not model.guides:
            raise InputError(
                "guidance needs a model that also runs rows without their prompts; this one does not. "
                "Wrap it: infogain.models.Guided(model)."
            )
        if tokenizer is not None:
            self.recipe.sampler.check_tokenizer(tokenizer)
        traits, columns = self.recipe.sampler.traits, self.canvas.tokens.shape[1]
        block = self.recipe.block or model.attention_block or 0  # unset: the model's own, or 0 for one block
        rows = min(self.max_in_flight or self.rows, self.rows)
        written, counts = rows * min(block or columns, columns), (traits.candidates * traits.copies, traits.beam)
        check_candidates(rows, written, model.vocabulary.count, counts, model.device)
        return replace(self, canvas=self.guided_canvas, recipe=replace(self.recipe, block=block))

    @cached_property
    def guided_canvas(self) -> Canvas:
        """The rows with the recipe's guidance, where they carry none of their own."""
        own = self.canvas.guidance
        asked = guidance_of(self.recipe.guidance, self.recipe.guidance_shape, self.rows).to(own.device)
        return replace(self.canvas, guidance=torch.where(own.isnan(), asked, own))

    @property
    def guided(self) -> bool:
        """Whether a row has guidance."""
        return bool((self.guided_canvas.guidance[:, 0] > 0).any())


class Block(NamedTuple):
    """Columns of a row that are decoded together."""

    start: int
    masks: int
    steps_allotted: int  # by the schedule


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
    finished: list[Parked] = field(default_factory=list)  # one hypothesis each, of attempts that are let go
    records: list[TraceStep] = field(default_factory=list)  # of its steps, where they are traced
    error: Exception | None = None  # why it was not decoded to its end

    @property
    def masks_left(self) -> int:
        """Masks that are still to be filled, in all attempts."""
        return sum(attempt.left + sum(block.masks for block in attempt.later_blocks) for attempt in self.attempts)


@dataclass(eq=False)
class Attempt:
    """One independent decode of a request; its hypotheses compete. All of it is known without asking the device."""

    number: int  # among all attempts of the lane
    copy: int  # among those of its request
    request: Request
    seed: int
    width: int  # of its blocks
    later_blocks: deque[Block]
    block: Block = Block(0, 0, 0)  # the present one
    left: int = 0  # masks left in the present block
    steps_here: int = 0  # steps taken in the present block
    steps_taken: int = 0  # in all blocks
    previous_start: int = 0  # where the block before began
    opened: int = 0  # blocks since the row was last read as a whole, the present one included
    columns: tuple[int, int] = (0, 0)  # that the model runs to open the present block, and for each candidate there
    context: list[int] = field(default_factory=list)  # rows of the context that its hypotheses stand on

    def next_block(self) -> None:
        self.previous_start = self.block.start
        self.block = self.later_blocks.popleft()
        self.left, self.steps_here = self.block.masks, 0
        self.opened += 1

    def skip_later_blocks(self) -> int:
        """The text ends in the present block, so those right of it are skipped. Returns how many masks they hold."""
        skipped = [block for block in self.later_blocks if block.start > self.block.start]
        self.later_blocks = deque(block for block in self.later_blocks if block.start < self.block.start)
        return sum(block.masks for block in skipped)


@dataclass(frozen=True, eq=False)
class Parked:
    """Hypotheses between two blocks, or after their last."""

    canvas: Canvas  # [H]
    attempts: list[Attempt]  # of each hypothesis
    cost: Tensor  # [H]
    row: Tensor | None = None  # [H] the context row of the block each has finished
    context: Any = None  # whose row that is; a failed opening may leave the batch with another
    group: int | None = None  # see `Scheduler.append_group`
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
    """A request for each row, numbered from `first`, with an attempt for each copy that the sampler asks for."""
    copies = torch.arange(recipe.sampler.traits.copies)
    forked = noise.fork(torch.tensor(seeds)[:, None], noise.COPY, copies).tolist()  # [P, copies]
    masked, requests = canvas.masked, []
    for i, (seed, own, length) in enumerate(zip(seeds, forked, canvas.length.tolist(), strict=True)):
        request = Request(first + i, canvas.take(slice(i, i + 1)), seed, recipe, length)
        width, masks = split_blocks(masked[i, :length].tolist(), recipe.block or 0, aligned)
        steps = dict(zip(masks, recipe.schedule.allot(list(masks.values())), strict=True))
        for copy, fork in enumerate(own):
            blocks = deque(Block(at, masks[at], steps[at]) for at in order_blocks(list(masks), recipe.order, fork))
            request.attempts.append(Attempt(request.row * len(own) + copy, copy, request, fork, width, blocks))
        requests.append(request)
    return requests
