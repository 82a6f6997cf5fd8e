"""The transformer as a Denoiser: what a block sees, which columns around it are frozen, where its logits are read.

A cache says which columns are frozen: their K/V are computed when a block opens (or every `refresh` blocks), once per
row, and all its candidates read them. The other columns are live: a window that every candidate runs through the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import LazyLogits
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import upload
from infogain.errors import OptionError, UnknownName
from infogain.kernels import KV, MaskedColumns
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.eager import Eager
from infogain.models.backbone.graphs import Graphs, check_engine
from infogain.models.backbone.transformer import Transformer
from infogain.models.denoiser import Denoiser, Past
from infogain.models.families.spec import Spec

Window = tuple[int, int]  # the live columns of a row: the first, and one past the last

# (columns of the canvas, first live column of the block, one past the block) -> live window
CACHES: dict[str, Callable[[int, int, int], Window]] = {
    "none": lambda columns, first, end: (0, columns),
    "prefix": lambda columns, first, end: (first, columns),
    "dual": lambda columns, first, end: (first, min(end, columns)),
}
BLOCK_CAUSAL = "block-causal"  # the cache of such models: no block sees what comes after it, so K/V stay exact


class Backbone(Denoiser):
    """A transformer with a cache and an engine, ready to decode."""

    def __init__(
        self,
        transformer: Transformer,
        cache: str | None = None,
        engine: str = "eager",
        ceiling: float | None = None,
        refresh: int | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Check and resolve the options.

        cache       none, prefix or dual (the default); unset for block-causal models
        engine      eager or graphs, see graphs.py
        ceiling     GiB that activations and logits of a forward may take
        refresh     how many blocks are opened from one reading of the row; unset: 1
        vocabulary  which ids are predicted; unset: all. The head runs for its range alone
        """
        self.transformer, self.spec = transformer, transformer.spec
        self.vocabulary = vocabulary or Vocabulary(self.spec.vocab_size, self.spec.mask_id)
        if self.vocab_size != self.spec.vocab_size:
            known = self.spec.vocab_size
            raise OptionError(
                f"a vocabulary must have the {known} ids of the model's embedding; got {self.vocab_size}."
            )
        self.family, self.context, self.attention_block = self.spec.family, self.spec.context, self.spec.block
        if self.attention_block and cache is not None:
            raise OptionError(
                f"{self.spec.family} is block-causal and its cache is exact; cache must be unset, got {cache!r}."
            )
        if cache is not None and cache not in CACHES:
            raise UnknownName("cache", cache, CACHES)
        self.cache = BLOCK_CAUSAL if self.attention_block else cache or "dual"
        self.refresh = self._checked_refresh(refresh)
        if ceiling is not None and not 0 < ceiling < math.inf:
            raise OptionError(f"ceiling must be above 0 GiB, or unset; got {ceiling!r}.")
        check_engine(engine)
        self.ceiling = None if ceiling is None else int(ceiling * 2**30)
        if self.ceiling is not None:
            transformer.most_tokens = max(1, self.ceiling // (2 * self._size * self.spec.widest))
        self.eager = Eager(transformer)
        self.engine_name = engine
        self.graphs = Graphs(self.eager) if engine != "eager" else None

    def __repr__(self) -> str:
        cache = "its own cache" if self.attention_block else f"cache {self.cache}, refresh {self.refresh}"
        return f"<{self.family}, {self.spec.parameters / 1e6:,.1f} M parameters, {cache}, on {self.device}>"

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.transformer.norm.weight.dtype

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.transformer.norm.weight.device

    @property
    def _size(self) -> int:
        """Bytes of one weight or activation."""
        return self.transformer.norm.weight.element_size()

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        first, last = self._window(length, start, start + width)
        end = length if previous_start is None and not self.attention_block else last
        return end - (previous_start or 0), last - first

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[BackboneContext, Tensor]:
        if self.attention_block:
            return self._prefill_block_causal(canvas, start, width)
        windows = self._windows(canvas, start, end or [at + width for at in start])
        caches = self.cache != "none"
        free = self.graphs.free_layers(canvas.tokens, self.transformer.norm.weight) if self.graphs and caches else None
        layers = free or (self.transformer.empty_layers(*canvas.tokens.shape) if caches else [])
        context = self._context(canvas, start, windows, layers)
        run = self.graphs.prefill if self.graphs and free else self.eager.prefill
        return context, self._logits(run(context, context.start, canvas.tokens.shape[1], width))

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[BackboneContext, Tensor]:
        """Run the finished block, whose K/V are stored, and the live window of the next."""
        done = max(at - before for at, before in zip(start, past.previous_start, strict=True))
        if self.attention_block:  # some rows store more columns than they have finished, which nothing reads
            own, columns = width, max(past.previous_start) + done
        else:  # the block that opens is as wide as the one that is finished
            own, columns = done, canvas.tokens.shape[1]
        windows = self._windows(canvas, start, [at + own for at in start])
        span = max(last - before for (_, last), before in zip(windows, past.previous_start, strict=True))
        span = -(-span // own) * own  # whole blocks, so that canvases of any length need few recordings
        layers = self.graphs.buffers.in_place(past, canvas.tokens, columns) if self.graphs else None
        context = self._context(canvas, start, windows, layers or past.context.grown(past.row, columns))
        run = self.graphs.append if self.graphs and layers else self.eager.append
        return context, self._logits(run(context, upload(past.previous_start, self.device), done, span, width))

    def _prefill_block_causal(self, canvas: Canvas, start: Sequence[int], width: int) -> tuple[BackboneContext, Tensor]:
        """Run all columns up to the end of the block: no block sees what comes after it."""
        column = torch.arange(max(start) + width, device=self.device)[None]
        block = column // width
        visible = (column < canvas.length[:, None])[:, None] & (block[:, None] <= block[..., None])  # [C, S, S]
        tokens = canvas.view(torch.zeros_like(canvas.length), column.shape[1])[0]
        windows = self._windows(canvas, start, [at + width for at in start])
        context = self._context(canvas, start, windows, self.transformer.empty_layers(len(tokens), max(start)))
        needed = self.eager.predicting(context.start, torch.zeros_like(context.start), width, column.shape[1])
        return context, self._logits(self.transformer.prefill(tokens, column, visible, context.layers, needed))

    def _windows(self, canvas: Canvas, start: Sequence[int], end: Sequence[int]) -> list[Window]:
        """The live columns of each row. A block-causal model's blocks may run past the canvas."""
        columns = canvas.tokens.shape[1]
        return [self._window(b if self.attention_block else columns, a, b) for a, b in zip(start, end, strict=True)]

    def _context(
        self, canvas: Canvas, start: Sequence[int], windows: list[Window], layers: list[KV]
    ) -> BackboneContext:
        """A context of rows whose blocks see all columns around them or, block-causal, those before."""
        begin, first, last = (upload(values, self.device) for values in (start, *zip(*windows, strict=True)))
        limit = begin if self.attention_block else canvas.length
        widths = tuple(b - a for a, b in windows)
        return BackboneContext(layers, canvas.tokens, canvas.length, begin, first, last, limit, widths)

    def __call__(self, tokens: Tensor, context: BackboneContext, row: Tensor, max_per_row: int) -> Tensor:
        return self._logits(self._run(tokens, context, row, max_per_row))

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: BackboneContext, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        x = self._run(tokens, context, row, max_per_row).flatten(0, 1)[masked_columns.flat_index]
        width, head, capacity = self.vocabulary.count, self._logits, _few_sizes(len(x))
        limit = max(1, self.ceiling // (2 * self._size * width)) if self.ceiling is not None else capacity
        return LazyLogits((x,), head, width, limit) if len(x) > limit else head(x, min(capacity, limit))

    def _logits(self, x: Tensor, capacity: int | None = None) -> Tensor:
        ids = self.vocabulary
        return self.transformer.logits(x, capacity, None if ids.whole else slice(ids.first, ids.first + ids.count))

    def _run(self, tokens: Tensor, context: BackboneContext, row: Tensor, max_per_row: int) -> Tensor:
        """The activations that predict candidate blocks. -> [M, W, hidden]"""
        run = self.graphs.candidates if self.graphs and context.layers else self.eager.candidates
        return run(tokens, context, row, max_per_row)

    def _checked_refresh(self, refresh: int | None) -> int:
        if refresh is None:
            return 1
        if isinstance(refresh, bool) or not isinstance(refresh, int) or refresh < 1:
            raise OptionError(f"refresh must be a whole number of blocks, at least 1; got {refresh!r}.")
        if refresh > 1 and self.attention_block:
            raise OptionError(
                f"{self.spec.family} is block-causal and never reads a row again; refresh must be unset, got {refresh}."
            )
        if refresh > 1 and self.cache == "none":
            raise OptionError(
                f"refresh above 1 needs a cache, dual or prefix; got refresh {refresh} and cache 'none'. "
                "Use cache='dual' (--cache dual), or leave refresh unset."
            )
        return refresh

    def _window(self, columns: int, start: int, end: int) -> Window:
        """The live columns of a block. Where logits are shifted, the column before the block is live too."""
        first = max(start - 1, 0) if self.spec.shift else start
        return CACHES["dual" if self.attention_block else self.cache](columns, first, end)


def _few_sizes(rows: int) -> int:
    """The next power of 2, or the next multiple of 512 if that is less: at most twice the rows, and at most 511 more.

    A bypass leaves any number of masks; memory for their logits is asked for in few sizes.
    """
    return min(1 << max(0, rows - 1).bit_length(), -(-rows // 512) * 512)


def random_backbone(spec: Spec, seed: int = 0, cache: str | None = None, engine: str = "eager") -> Backbone:
    """A model of this shape with random weights: for tests and benchmarks."""
    transformer = Transformer(spec)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in transformer.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.1 * noise if parameter.ndim == 1 else noise / parameter.shape[-1] ** 0.5)
    transformer.fuse()
    return Backbone(transformer.requires_grad_(False).eval(), cache, engine)
