"""The rows that a batch keeps open in a model: as canvas, and as the context that the model has read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import LazyLogits
from infogain.algorithm.state import Draft
from infogain.device import upload
from infogain.errors import ContractError
from infogain.kernels import MaskedColumns
from infogain.models.denoiser import Denoiser, Past, check_logits


class ContextRows:
    """What lies outside each open block: row i of `canvas` is row i of `context`.

    Rows come when blocks open (`prefill` or `append`, then `join`), and go when no hypothesis stands on them any more
    (`keep`, `clear`). All calls of the model are made and counted here, and what it returns is checked.
    """

    def __init__(self, model: Denoiser) -> None:
        self.model = model
        self.width = 0  # of the widest block, of those that are open
        self.canvas: Canvas | None = None  # [C, L]
        self.context: Any = None  # of C rows
        self.calls = 0  # of the model

    def __len__(self) -> int:
        return 0 if self.canvas is None else len(self.canvas.length)

    def written(self, draft: Draft) -> Canvas:
        """The rows of these hypotheses as a whole, with their blocks as they stand. [R, L]"""
        assert self.canvas is not None
        return self.canvas.take(draft.row).write(draft.start, draft.tokens, draft.revealed)

    def clear(self) -> None:
        """Nothing is decoded at present: hold no memory for it."""
        self.canvas = self.context = None

    def keep(self, rows: Sequence[int]) -> None:
        """These rows stay, in this order, and are numbered from 0."""
        assert self.canvas is not None
        index = upload(rows, self.model.device)
        self.context, self.canvas = self.context.take(rows), self.canvas.take(index)

    def join(self, canvas: Canvas, context: Any) -> int:
        """Rows that have been read stand behind those that are here; returns the number of the first."""
        first = len(self)
        if self.canvas is None:
            self.context, self.canvas = context, canvas
        else:
            self.context, self.canvas = self.context.join(context), self.canvas.join(canvas)
        return first

    def prefill(self, canvas: Canvas, start: Sequence[int], end: Sequence[int]) -> tuple[Any, Tensor]:
        """Open the block of each row from `start` to before `end`: `Denoiser.prefill`."""
        return self._opened(len(start), *self.model.prefill(canvas, start, self.width, end))

    def append(self, canvas: Canvas, start: Sequence[int], past: Past) -> tuple[Any, Tensor]:
        """Open the next block of rows that have finished one: `Denoiser.append`."""
        return self._opened(len(start), *self.model.append(canvas, start, self.width, past))

    def _opened(self, rows: int, context: Any, logits: Tensor) -> tuple[Any, Tensor]:
        if lacking := [name for name in ("take", "join") if not hasattr(context, name)]:
            raise ContractError(f"a model's context needs take and join; {type(context).__name__} lacks {lacking[0]}.")
        self._check(logits, [rows, self.width])
        return context, logits

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        """Logits of the masked columns of candidates, each on a row of the context: `Denoiser.at_masks`. -> [X, V]"""
        logits = self.model.at_masks(tokens, masked_columns, self.context, row, max_per_row)
        self._check(logits, [masked_columns.count])
        return logits

    def _check(self, logits: Any, shape: Sequence[int]) -> None:
        check_logits(logits, [*shape, self.model.vocabulary.count])
        self.calls += 1
