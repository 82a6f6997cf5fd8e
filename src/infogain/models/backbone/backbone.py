"""The transformer as a Denoiser: what a block sees, what is frozen around it, and where its logits are read.

A cache policy is a set of frozen columns, read anew when a block opens, or every so many. Everything that is not frozen
is live: a window of columns that every candidate runs through the model. The frozen columns' keys
and values are kept once per row and read by all its candidates.
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
from infogain.kernels import Keys, MaskedColumns
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.eager import Windows
from infogain.models.backbone.graphs import Engine, check_engine
from infogain.models.backbone.transformer import Transformer
from infogain.models.denoiser import Denoiser, Past
from infogain.models.families.spec import Spec

Window = tuple[int, int]  # the live columns of a row: first, and one past the last

# (columns of the canvas, first live column of the block, one past the block) -> live window
CACHES: dict[str, Callable[[int, int, int], Window]] = {
    "none": lambda columns, first, end: (0, columns),
    "prefix": lambda columns, first, end: (first, columns),
    "dual": lambda columns, first, end: (first, min(end, columns)),
}


OWN = "block-causal"  # the cache of such a model: no block sees what comes after it, so what is kept stays exact


class Backbone(Denoiser):
    """A checkpoint ready to decode."""

    def __init__(
        self,
        transformer: Transformer,
        cache: str | None = None,
        engine: str = "eager",
        ceiling: float | None = None,
        refresh: int | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """`engine`: see engine.py; `ceiling`: GiB that activations and logits of a forward may take; `refresh`: blocks
        that are opened from one reading of the canvas (unset: 1); `vocabulary`: of a part of the ids, if not all are to
        be predicted: the head then runs for that range alone."""
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
        self.cache = OWN if self.attention_block else cache or "dual"
        self.refresh = self._checked_refresh(refresh)
        if ceiling is not None and not 0 < ceiling < math.inf:
            raise OptionError(f"ceiling must be above 0 GiB, or unset; got {ceiling!r}.")
        check_engine(engine)
        self.ceiling = None if ceiling is None else int(ceiling * 2**30)
        if self.ceiling is not None:
            transformer.most_tokens = max(1, self.ceiling // (2 * self._size * self.spec.widest))
        self.windows = Windows(transformer)
        self.engine_name = engine
        self.engine = Engine(self.windows) if engine != "eager" else None

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
        """Bytes of a number."""
        return self.transformer.norm.weight.element_size()

    def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
        first, last = self._window(length, start, start + width)
        end = length if kept is None and not self.attention_block else last
        return end - (kept or 0), last - first

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[BackboneContext, Tensor]:
        if self.attention_block:
            return self._open(canvas, start, width)
        windows = self._windows(canvas, start, end or [at + width for at in start])
        caches = self.cache != "none"
        room = self.engine.room(canvas.tokens, self.transformer.norm.weight) if self.engine and caches else None
        layers = room or (self.transformer.room(*canvas.tokens.shape) if caches else [])
        context = self._context(canvas, start, windows, layers)
        run = self.engine.canvas if self.engine and room else self.windows.canvas
        return context, self._logits(run(context, context.start, canvas.tokens.shape[1], width))

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[BackboneContext, Tensor]:
        """From where the finished block began to the end of what is live; what is finished is stored."""
        done = max(at - before for at, before in zip(start, past.kept, strict=True))
        if self.attention_block:  # some rows store more than they have finished, which nothing reads
            own, columns = width, max(past.kept) + done
        else:  # the block that opens is as wide as the one that is finished
            own, columns = done, canvas.tokens.shape[1]
        windows = self._windows(canvas, start, [at + own for at in start])
        span = max(last - before for (_, last), before in zip(windows, past.kept, strict=True))
        span = -(-span // own) * own  # whole blocks: canvases of any length have few recordings
        layers = self.engine.buffers.in_place(past, canvas.tokens, columns) if self.engine else None
        context = self._context(canvas, start, windows, layers or past.context.grown(past.row, columns))
        run = self.engine.next_block if self.engine and layers else self.windows.next_block
        return context, self._logits(run(context, upload(past.kept, self.device), done, span, width))

    def _open(self, canvas: Canvas, start: Sequence[int], width: int) -> tuple[BackboneContext, Tensor]:
        """Block-causal: no block sees what comes after it, so nothing after the block is run."""
        column = torch.arange(max(start) + width, device=self.device)[None]
        block = column // width
        visible = (column < canvas.length[:, None])[:, None] & (block[:, None] <= block[..., None])  # [C, S, S]
        tokens = canvas.view(torch.zeros_like(canvas.length), column.shape[1])[0]
        windows = self._windows(canvas, start, [at + width for at in start])
        context = self._context(canvas, start, windows, self.transformer.room(len(tokens), max(start)))
        read = self.windows.sources(context.start, torch.zeros_like(context.start), width, column.shape[1])
        return context, self._logits(self.transformer.prefill(tokens, column, visible, context.layers, read))

    def _windows(self, canvas: Canvas, start: Sequence[int], end: Sequence[int]) -> list[Window]:
        """The live columns of each row. A block-causal model's blocks may run past the canvas."""
        columns = canvas.tokens.shape[1]
        return [self._window(b if self.attention_block else columns, a, b) for a, b in zip(start, end, strict=True)]

    def _context(
        self, canvas: Canvas, start: Sequence[int], windows: list[Window], layers: list[Keys]
    ) -> BackboneContext:
        """Blocks that see all that lies around them or, block-causal, what lies before."""
        begin, first, last = (upload(values, self.device) for values in (start, *zip(*windows, strict=True)))
        limit = begin if self.attention_block else canvas.length
        widths = tuple(b - a for a, b in windows)
        return BackboneContext(layers, canvas.tokens, canvas.length, begin, first, last, limit, widths)

    def __call__(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        return self._logits(self._run(tokens, context, row, most))

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: BackboneContext, row: Tensor, most: int
    ) -> Tensor | LazyLogits:
        x = self._run(tokens, context, row, most).flatten(0, 1)[masked_columns.flat_index]
        words, head, room = self.vocabulary.count, self._logits, _roomy(len(x))
        limit = max(1, self.ceiling // (2 * self._size * words)) if self.ceiling is not None else room
        return LazyLogits(x, head, words, limit) if len(x) > limit else head(x, min(room, limit))

    def _logits(self, x: Tensor, room: int | None = None) -> Tensor:
        words = self.vocabulary
        return self.transformer.logits(x, room, None if words.whole else slice(words.first, words.first + words.count))

    def _run(self, tokens: Tensor, context: BackboneContext, row: Tensor, most: int) -> Tensor:
        run = self.engine.candidates if self.engine and context.layers else self.windows.candidates
        return run(tokens, context, row, most)

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
                f"refresh above 1 needs a cache that is kept, dual or prefix; got refresh {refresh} and cache 'none'. "
                "Use cache='dual' (--cache dual), or leave refresh unset."
            )
        return refresh

    def _window(self, columns: int, start: int, end: int) -> Window:
        """The live columns of a block. Where logits are shifted, the column before it is read too, so it stays live."""
        first = max(start - 1, 0) if self.spec.shift else start
        return CACHES["dual" if self.attention_block else self.cache](columns, first, end)


def _roomy(rows: int) -> int:
    """The next power of 2, or multiple of 512 if that is less: a bypass brings any number, memory has few sizes.

    So room for logits is at most twice what they take, and at most 511 rows more.
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
