"""A lane: rows that are decoded with one recipe. Lanes share the model's forwards and nothing else.

A row's hypotheses compete for its places; independent copies of a row (best-of-N) are attempts of their own. Attempts
move through their blocks at their own pace, and a row that waits takes the place of one that has finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from infogain import noise
from infogain.canvas import Canvas
from infogain.capacity import check_fits
from infogain.errors import InputError, OptionError
from infogain.recipe import Recipe
from infogain.vocabulary import Vocabulary

COPY_BYTES = 1000  # on the host, of an attempt
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

    def decodes_like(self, other: Lane) -> bool:
        """Whether rows of both can share a lane: all is equal but the rows and their seeds."""
        ours, theirs = (replace(lane.recipe, seed=0) for lane in (self, other))
        return ours == theirs and self.stop == other.stop and self.at_once == other.at_once

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
