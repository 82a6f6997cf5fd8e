"""Forwards of a backbone, run operation by operation: candidates, a block that follows another, the whole canvas."""

from __future__ import annotations

import torch
from torch import Tensor

from infogain.algorithm.canvas import block_columns
from infogain.kernels import Shared
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.transformer import Transformer


class Eager:
    """Each forward returns the activations that predict the block's columns. `Graphs` records these same functions."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer

    def candidates(
        self, tokens: Tensor, context: BackboneContext, row: Tensor, max_per_row: int, columns: int | None = None
    ) -> Tensor:
        """Forward of candidate blocks, each in the live window of its context row. [M, W], [M] -> [M, W, hidden]

        Windows run `columns` wide; unset: as wide as the widest. At most `max_per_row` candidates share a context row.
        """
        columns = context.width if columns is None else columns
        start, first = context.start[row], context.first[row]
        column = block_columns(first, columns)  # [M, Q]
        window = context.tokens[row[:, None], column.clamp(max=context.tokens.shape[1] - 1)]
        offset = column - start[:, None]
        in_block = (offset >= 0) & (offset < tokens.shape[1])
        window = torch.where(in_block, tokens.gather(1, offset.clamp(0, tokens.shape[1] - 1)), window)
        live = column < torch.minimum(context.length, context.last)[row, None]
        bounds = context.first, context.last, context.limit
        shared = Shared(context.layers, *bounds, row, max_per_row) if context.layers else None
        needed = self.predicting(start, first, tokens.shape[1], columns)
        x: Tensor = self.transformer(window, column, live[:, None], shared, needed)
        return x

    def append(self, context: BackboneContext, since: Tensor, done: int, span: int, width: int) -> Tensor:
        """Forward over `span` columns from `since` on: the finished block, then the next. [C] -> [C, W, hidden]

        The K/V of the first `done` columns, which are finished, are stored in the context.
        """
        row = torch.arange(len(since), device=since.device)
        column = block_columns(since, span)  # [C, S]
        window = context.tokens[row[:, None], column.clamp(max=context.tokens.shape[1] - 1)]
        live = column < torch.minimum(context.length, context.last)[:, None]
        block = width if self.transformer.spec.block else None
        shared = Shared(context.layers, since, context.last, context.limit, row, 1, block, column[:, :done])
        needed = self.predicting(context.start, since, width, span)
        x: Tensor = self.transformer(window, column, live[:, None], shared, needed)
        return x

    def prefill(self, context: BackboneContext, start: Tensor, columns: int, width: int) -> Tensor:
        """Full forward over `columns` canvas columns; stores their K/V in the context. [C] -> [C, W, hidden]"""
        column = torch.arange(columns, device=start.device)[None]
        live = (column < context.length[:, None])[:, None]
        needed = self.predicting(start, torch.zeros_like(start), width, columns)
        return self.transformer.prefill(context.tokens[:, :columns], column, live, context.layers, needed)

    def predicting(self, start: Tensor, first: Tensor, width: int, columns: int) -> Tensor:
        """Which columns predict the block at `start`: indices among `columns` columns from `first` on. -> [B, W]"""
        source = block_columns(start, width) - (1 if self.transformer.spec.shift else 0)
        return (source.clamp(min=0) - first[:, None]).clamp(max=columns - 1)  # column 0 predicts itself
