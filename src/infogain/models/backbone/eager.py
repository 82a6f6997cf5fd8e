"""Windows of live columns over what a context keeps: candidates, a block that follows another, and the whole canvas."""

from __future__ import annotations

import torch
from torch import Tensor

from infogain.algorithm.canvas import block_columns
from infogain.kernels import Shared
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.transformer import Transformer


class Windows:
    """Each gives the activations that predict the block. It knows no engine, which may record them."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer

    def candidates(
        self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int, columns: int | None = None
    ) -> Tensor:
        """From windows of so many columns; unset: as many as the widest has. [M, W], [M] -> [M, W, hidden]"""
        columns = context.width if columns is None else columns
        start, first = context.start[row], context.first[row]
        column = block_columns(first, columns)  # [M, Q]
        window = context.tokens[row[:, None], column.clamp(max=context.tokens.shape[1] - 1)]
        offset = column - start[:, None]
        in_block = (offset >= 0) & (offset < tokens.shape[1])
        window = torch.where(in_block, tokens.gather(1, offset.clamp(0, tokens.shape[1] - 1)), window)
        live = column < torch.minimum(context.length, context.last)[row, None]
        window_of = context.first, context.last, context.limit
        shared = Shared(context.layers, *window_of, row, most) if context.layers else None
        read = self.sources(start, first, tokens.shape[1], columns)
        x: Tensor = self.transformer(window, column, live[:, None], shared, read)
        return x

    def next_block(self, context: BackboneContext, since: Tensor, done: int, span: int, width: int) -> Tensor:
        """From those of `span` columns, the first of which, `done`, are finished and stored. [C] -> [C, W, hidden]"""
        row = torch.arange(len(since), device=since.device)
        column = block_columns(since, span)  # [C, S]
        window = context.tokens[row[:, None], column.clamp(max=context.tokens.shape[1] - 1)]
        live = column < torch.minimum(context.length, context.last)[:, None]
        block = width if self.transformer.spec.block else None
        shared = Shared(context.layers, since, context.last, context.limit, row, 1, block, column[:, :done])
        read = self.sources(context.start, since, width, span)
        x: Tensor = self.transformer(window, column, live[:, None], shared, read)
        return x

    def canvas(self, context: BackboneContext, start: Tensor, columns: int, width: int) -> Tensor:
        """From those of all columns, so many, whose keys the context is given to keep. [C] -> [C, W, hidden]"""
        column = torch.arange(columns, device=start.device)[None]
        live = (column < context.length[:, None])[:, None]
        read = self.sources(start, torch.zeros_like(start), width, columns)
        return self.transformer.prefill(context.tokens[:, :columns], column, live, context.layers, read)

    def sources(self, start: Tensor, first: Tensor, width: int, columns: int) -> Tensor:
        """The columns that predict the block, among so many that begin at `first`. -> [B, W]"""
        source = block_columns(start, width) - (1 if self.transformer.spec.shift else 0)
        return (source.clamp(min=0) - first[:, None]).clamp(max=columns - 1)  # column 0 predicts itself
