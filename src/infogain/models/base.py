"""What the loop asks of a model, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from infogain.canvas import Canvas


class Context(Protocol):
    """What lies outside each row's block, read-only: candidates of a row share it, never copy it."""

    def take(self, rows: Sequence[int]) -> Self:
        """These rows, in this order: others have left the batch."""

    def join(self, other: Self) -> Self:
        """These rows followed by the other's: some have opened a block."""


class Denoiser(Protocol):
    """A masked diffusion model. Logits it returns are handed over: the loop may write to them."""

    @property
    def mask_id(self) -> int: ...

    @property
    def vocab_size(self) -> int:
        """Ids the model knows, the mask included."""

    @property
    def block_causal(self) -> bool:
        """Attention sees earlier blocks and its own, counted from column 0; the attention block is the decode block."""

    @property
    def device(self) -> torch.device: ...

    def columns(self, length: int, start: int, width: int) -> tuple[int, int]:
        """Columns that run through the model to open a block in a row of this length, and for each candidate there."""

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int) -> tuple[Any, Tensor]:
        """Open a block at each row's start: its Context, and the block's logits. -> [C], [C, W, V]"""

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, most: int) -> Tensor:
        """Logits of candidate blocks, each over the context row it names. [M, W], [M] -> [M, W, V]

        No context row is named by more than `most` candidates: known to the host, so that they can be packed.
        """
