"""A lane: rows that are decoded with one recipe. Lanes share the model's forwards and nothing else.

A row's hypotheses compete for its places; independent copies of a row (best-of-N) are attempts of their own. Attempts
move through their blocks at their own pace, and a row that waits takes the place of one that has finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.algorithm.vocabulary import Vocabulary
from infogain.capacity import check_candidates
from infogain.errors import InputError
from infogain.recipe import Recipe


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
        self.canvas.check(vocabulary)
        self.recipe.check(vocabulary, block_causal, stops=self.stop is not None)
        if len(self.row_seeds) != self.rows:
            raise InputError(f"seeds must be one per row ({self.rows}); got {len(self.row_seeds)}.")
        if not all(isinstance(seed, int) and -(2**63) <= seed < 2**63 for seed in self.row_seeds):
            raise InputError(f"seeds must be whole numbers of 64 bits; got {self.row_seeds!r:.80}.")
        if self.at_once is not None and (not isinstance(self.at_once, int) or self.at_once < 1):
            raise InputError(f"at_once must be a whole number of at least 1, or unset; got {self.at_once!r}.")

    def check_memory(self, words: int, device: torch.device) -> None:
        """Refuse more candidates than can be listed; `words`: how many numbers the logits of a column are."""
        traits, columns = self.recipe.sampler.traits, self.canvas.tokens.shape[1]
        rows = min(self.at_once or self.rows, self.rows)
        written = rows * min(self.recipe.block or columns, columns)
        check_candidates(rows, written, words, (traits.candidates * traits.copies, traits.beam), device)
