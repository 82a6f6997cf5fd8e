"""Any module that maps token ids to logits, as a model the loop can decode with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas, block_columns
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import upload
from infogain.models.denoiser import Denoiser


@dataclass(frozen=True)
class FullCanvasContext:
    """The canvas of C rows, and where their blocks start."""

    canvas: Canvas  # [C]
    start: Tensor  # [C]

    def take(self, rows: Sequence[int]) -> Self:
        index = upload(rows, self.start.device)
        return type(self)(self.canvas.take(index), self.start[index])

    def join(self, other: Self) -> Self:
        return type(self)(self.canvas.join(other.canvas), torch.cat([self.start, other.start]))


class FullCanvas(Denoiser):
    """Any network, run over the whole canvas for every candidate: no cache, no assumption about the network.

    `network(tokens, inside)` returns logits [B, L, V], where those at a column predict that same column; `inside`
    [B, L] is False at padding, which must not be attended to. Put the network in eval mode yourself. `context` is the
    most columns that it takes, where it has a limit.
    """

    def __init__(
        self,
        network: Callable[[Tensor, Tensor], Tensor],
        vocabulary: Vocabulary,
        device: torch.device | str = "cpu",
        context: int | None = None,
    ) -> None:
        self.network, self.vocabulary = network, vocabulary
        self.device, self.context = torch.device(device), context

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[FullCanvasContext, Tensor]:
        context = FullCanvasContext(canvas, upload(start, self.device))
        return context, self._block_logits(canvas, context.start, width)

    def __call__(self, tokens: Tensor, context: FullCanvasContext, row: Tensor, max_per_row: int) -> Tensor:
        start = context.start[row]
        return self._block_logits(context.canvas.take(row).write(start, tokens), start, tokens.shape[1])

    def _block_logits(self, canvas: Canvas, start: Tensor, width: int) -> Tensor:
        logits = self.network(canvas.tokens, canvas.inside)
        # columns past the canvas are not looked at
        column = block_columns(start, width).clamp(max=canvas.tokens.shape[1] - 1)
        return logits[torch.arange(len(start), device=self.device)[:, None], column]
