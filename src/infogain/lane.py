"""A lane: rows that are decoded with one recipe. Lanes share the model's forwards and nothing else.

A prompt's hypotheses form a group and compete for its places; independent copies of a prompt
(best-of-N) are groups of their own. Groups move through their blocks at their own pace, and a row
that waits takes the place of one that has finished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import torch

from infogain import noise
from infogain.canvas import Canvas, split_blocks
from infogain.capacity import check_fits
from infogain.errors import InputError, OptionError
from infogain.recipe import Recipe
from infogain.vocabulary import Vocabulary

COPY_BYTES = 1000  # on the host, of a group
COLUMN_BYTES = 64  # of a candidate: a token, its noise, a key and a rank, and what sorting them takes
LOGIT_BYTES = 12  # in float32, of logits, probabilities and their sums


@dataclass(frozen=True)
class Lane:
    canvas: Canvas
    recipe: Recipe
    seeds: Sequence[int] | None = None  # of each row; unset: derived from the recipe's seed
    stop: Callable[[int, list[int]], bool] | None = None  # (row, what it wrote so far): end here? Asked at block ends
    at_once: int | None = None  # rows in flight, the longest first; the others wait for a place. Unset: all

    @property
    def rows(self) -> int:
        return self.canvas.tokens.shape[0]

    @cached_property
    def row_seeds(self) -> list[int]:
        return noise.row_seeds(self.recipe.seed, self.rows) if self.seeds is None else list(self.seeds)

    def fitted(self, attention_block: int | None) -> Lane:
        """A lane whose block is a number: what the recipe leaves open is the model's own width, or 0 for one block."""
        return replace(self, recipe=replace(self.recipe, block=self.recipe.block or attention_block or 0))

    def check(self, vocabulary: Vocabulary, block_causal: bool) -> None:
        """Refuse what cannot be decoded, before any work is done."""
        canvas, recipe = self.canvas, self.recipe
        mask_id, vocab_size = vocabulary.mask_id, vocabulary.size
        if canvas.mask_id != mask_id:
            raise InputError(f"canvas and model must share a mask id; they have {canvas.mask_id} and {mask_id}.")
        if canvas.tokens.shape[0] == 0:
            raise InputError("a canvas needs at least one row; got an empty batch.")
        if not 1 <= int(canvas.length.min()) <= int(canvas.length.max()) <= canvas.tokens.shape[1]:
            raise InputError(f"row lengths must lie between 1 and the canvas's {canvas.tokens.shape[1]} columns.")
        if not ((canvas.prompt >= 0) & (canvas.prompt <= canvas.length)).all():
            raise InputError("prompts must end between column 0 and the end of their rows; see Canvas.prompt.")
        lowest, highest = int(canvas.tokens.min()), int(canvas.tokens.max())
        if lowest < 0 or highest >= vocab_size:
            raise InputError(f"token ids must be 0 to {vocab_size - 1}; the canvas holds {lowest} to {highest}.")
        if len(self.row_seeds) != self.rows:
            raise InputError(f"seeds must be one per row ({self.rows}); got {len(self.row_seeds)}.")
        if not all(isinstance(seed, int) and -(2**63) <= seed < 2**63 for seed in self.row_seeds):
            raise InputError(f"seeds must be whole numbers of 64 bits; got {self.row_seeds!r:.80}.")
        if self.at_once is not None and (not isinstance(self.at_once, int) or self.at_once < 1):
            raise InputError(f"at_once must be a whole number of at least 1, or unset; got {self.at_once!r}.")
        recipe.sampler.check(vocabulary)
        if wrong := [eos for eos in recipe.eos_ids or () if eos >= vocab_size or eos == mask_id]:
            raise OptionError(
                f"eos_ids must be below the vocabulary of {vocab_size} and not the mask id {mask_id}; got {wrong[0]}."
            )
        if unseen := [eos for eos in recipe.eos_ids or () if eos not in vocabulary]:
            raise OptionError(f"eos_ids must be predicted by the model, {vocabulary.span} here; got {unseen[0]}.")
        if block_causal and recipe.order == "random":
            raise OptionError("a block-causal model needs order='sequence': a block cannot see what comes after it.")
        if self.stop and (recipe.order == "random" or recipe.sampler.traits.beam > 1):
            raise OptionError(
                "`stop` needs order='sequence' and a sampler that keeps one hypothesis; cut the finished text instead."
            )
        if recipe.order == "random" and recipe.eos_ids and recipe.sampler.traits.beam > 1:
            raise OptionError(
                "order='random' with eos_ids needs a sampler that keeps one hypothesis, for each hypothesis would go "
                "through other blocks. Use order='sequence', or width 1."
            )

    def check_memory(self, words: int, device: torch.device) -> None:
        """Refuse more candidates, copies and hypotheses than can be listed at all; where logits are held, fewer fit.

        `words`: how many numbers the logits of a column are.
        """
        traits, columns = self.recipe.sampler.traits, self.canvas.tokens.shape[1]
        rows = min(self.at_once or self.rows, self.rows)
        written = rows * min(self.recipe.block or columns, columns)
        each, held = rows * COPY_BYTES + written * COLUMN_BYTES, written * words * LOGIT_BYTES
        count = traits.candidates * traits.copies
        which = f"of {rows} prompt{'s' if rows > 1 else ''} in flight,"
        check_fits(f"n, candidates or copies {which}", count, each, each + held, device)
        check_fits(f"width, hypotheses {which}", traits.beam, count * each, count * (each + held), device)


class Block(NamedTuple):
    start: int
    masks: int
    steps: int


@dataclass
class Group:
    """Hypotheses that compete. What the host must know of them without asking the device."""

    number: int  # among all groups of the lane
    prompt: int
    copy: int
    seed: int
    length: int  # columns of its row
    width: int  # of its blocks
    blocks: deque[Block]  # still to come
    now: Block = Block(0, 0, 0)
    columns: tuple[int, int] = (0, 0)  # that run to open the present block, and for each candidate there
    kept: int = 0  # where the block before began
    opened: int = 0  # blocks since the row was last read as a whole, the present one included
    filled: int = 0  # masks of the present block
    steps: int = 0  # taken, over all blocks
    context: list[int] = field(default_factory=list)  # rows of the context its hypotheses stand on

    @property
    def left(self) -> int:
        """Masks of the present block that no step has filled."""
        return self.now.masks - self.filled

    def next_block(self) -> None:
        self.kept = self.now.start
        self.now, self.filled = self.blocks.popleft(), 0
        self.opened += 1

    def stop(self) -> int:
        """An EOS in the present block: what lies right of it is skipped. Returns the masks skipped."""
        skipped = [block for block in self.blocks if block.start > self.now.start]
        self.blocks = deque(block for block in self.blocks if block.start < self.now.start)
        return sum(block.masks for block in skipped)


def make_groups(recipe: Recipe, prompt: int, masked: list[bool], seeds: list[int], aligned: bool) -> list[Group]:
    """One row's groups, one for each seed.

    A block is the recipe's, but no wider than what lies between the row's first mask and its last. Where the model's
    attention is block-causal (`aligned`), it is exactly the recipe's.
    """
    span = max(1, _span(masked))
    width = recipe.block if aligned and recipe.block else min(recipe.block or span, span)
    masks = split_blocks(masked, width, aligned)
    steps = recipe.schedule.allot(list(masks.values()))
    blocks = [Block(*block) for block in zip(masks, masks.values(), steps, strict=True)]
    groups = []
    for copy, seed in enumerate(seeds):
        queue = deque(blocks if recipe.order == "sequence" else _shuffled(blocks, seed))
        groups.append(Group(prompt * len(seeds) + copy, prompt, copy, seed, len(masked), width, queue))
    return groups


def _shuffled(blocks: list[Block], seed: int) -> list[Block]:
    starts = torch.tensor([block.start for block in blocks], dtype=torch.int64)
    order = noise.uniform(torch.tensor(seed), noise.ORDER, starts).argsort()
    return [blocks[i] for i in order.tolist()]


def _span(masked: list[bool]) -> int:
    """Columns from the first mask to the last."""
    return len(masked) - masked.index(True) - masked[::-1].index(True) if any(masked) else 0
