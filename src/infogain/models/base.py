"""What the loop asks of a model, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from infogain.canvas import Canvas
from infogain.marginals import Deferred
from infogain.statistics import Spots


class Context(Protocol):
    """What lies outside each row's block, read-only: candidates of a row share it, never copy it."""

    def take(self, rows: Sequence[int]) -> Self:
        """These rows, in this order: others have left the batch."""

    def join(self, other: Self) -> Self:
        """These rows followed by the other's: some have opened a block."""


class Past(NamedTuple):
    """Where rows that open their next block stood in the one they have finished."""

    context: Any
    row: Tensor  # [C] of that context
    kept: Sequence[int]  # [C] where the finished block began: what lies before, or around it, is kept
    places: Sequence[int] | None = None  # the rows again, where the host knows them


class Denoiser(Protocol):
    """A masked diffusion model. Logits it returns are handed over: the loop may write to them."""

    @property
    def mask_id(self) -> int: ...

    @property
    def vocab_size(self) -> int:
        """Ids the model knows, the mask included."""

    @property
    def attention_block(self) -> int | None:
        """Unset: every column sees every other. Set: the model is block-causal, see `GoesOn`."""

    @property
    def device(self) -> torch.device: ...

    def columns(self, length: int, start: int, width: int) -> tuple[int, int]:
        """Columns that run through the model to open a block in a row of this length, and for each candidate there."""

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        """Open a block at each row's start: its Context, and the block's logits. -> [C], [C, W, V]

        `width` is that of the widest block in the batch; a row's own ends before `end` (unset: start + width).
        """

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, most: int) -> Tensor:
        """Logits of candidate blocks, each over the context row it names. [M, W], [M] -> [M, W, V]

        No context row is named by more than `most` candidates: known to the host, so that they can be packed.
        """


class Masks(Denoiser, Protocol):
    """A model that can leave written columns out of its head. The loop asks such a one for masks only."""

    def at_masks(self, tokens: Tensor, spots: Spots, context: Any, row: Tensor, most: int) -> Tensor | Deferred:
        """`__call__` for the columns that are masked [M, W], in order. -> [X, V]"""


class GoesOn(Denoiser, Protocol):
    """A model that opens a row's next block from what it kept when it opened the last one.

    A block-causal one always does: a column sees earlier blocks and its own, counted from column 0, so what was kept
    stays exact. The attention block is the decode block, and `attention_block` the width the model was trained with.
    Any other says how often: see `refresh`.
    """

    @property
    def refresh(self) -> int:
        """Blocks that follow each other and are opened from one reading of the row. Asked where all columns see all."""

    def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
        """The same; `kept`: the row's `Past.kept`, where it goes on from there."""

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        """`prefill` for rows that have finished a block: it is stored and the next one opened in one forward.

        Columns before `past.kept` are not run again. Where all columns see all, the finished blocks are equally wide,
        and each row's next one follows at once.
        """
