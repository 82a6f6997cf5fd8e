"""What the loop asks of a model: a base class with defaults, and an adapter for models that do not inherit it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import LazyLogits
from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import ContractError, InputError
from infogain.kernels import MaskedColumns


class Context(Protocol):
    """What a model has read outside each row's block. Read-only: the candidates of a row share it without a copy."""

    def take(self, rows: Sequence[int]) -> Self:
        """A context of these rows, in this order, when others have left the batch."""

    def join(self, other: Self) -> Self:
        """A context of these rows followed by the other's, when some have opened a block."""


class Past(NamedTuple):
    """The context of rows in the block they have finished, for a model to append to when they open the next."""

    context: Any
    row: Tensor  # [C] rows of that context
    previous_start: Sequence[int]  # [C] where the finished block began: the context covers what lies around it
    host_rows: Sequence[int] | None = None  # `row` again, where the host knows it without asking the device

    def next_ends(self, start: Sequence[int]) -> list[int]:
        """One past the blocks that open at `start`, where each is as wide as the finished one and follows it."""
        return [2 * at - before for at, before in zip(start, self.previous_start, strict=True)]


class Denoiser(ABC):
    """A masked diffusion model: set `vocabulary` and `device`, write `prefill` and `__call__`; the rest has defaults.

    A model with an `attention_block` is block-causal: a column sees earlier blocks and its own, counted from column 0.
    The loop owns the logits that are returned, and writes to them.

    Shapes: C context rows, M candidates, W columns of a block, X masked columns, V ids that can be predicted.
    """

    vocabulary: Vocabulary
    device: torch.device
    attention_block: int | None = None  # block width of a block-causal model; None: every column sees every other
    refresh: int = 1  # consecutive blocks that are opened from one reading of the row, where every column sees all
    guides: bool = False  # whether rows may carry guidance; `Guided` makes any model do so
    context: int | None = None  # the most columns a row may have; None: no limit
    name: str | None = None  # what outputs call the model; None: its class
    family: str | None = None  # what outputs call its family; None: its class
    dtype: torch.dtype | None = None
    cache: str = "none"
    engine_name: str = "eager"

    @property
    def mask_id(self) -> int:
        return self.vocabulary.mask_id

    @property
    def vocab_size(self) -> int:
        """Ids the model knows, the mask included."""
        return self.vocabulary.size

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        """How many columns run through the model to open a block in a row of this length, and for each candidate.

        `previous_start` is given where `append` opens the block: the row's `Past.previous_start`.
        """
        return length, length

    @abstractmethod
    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        """Open a block at each row's start: returns a Context of C rows, and the blocks' logits. -> [C, W, V]

        `width` is that of the widest block in the batch; a row's own block ends before `end` (unset: start + width).
        Later calls may show more or fewer columns, as wide blocks come and go, but always all of the row's own block.
        """

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        """Open the next block of rows that have finished one, from the context in which they finished it.

        The loop asks it of block-causal models, whose context stays exact, and of models with `refresh` above 1, for
        blocks that are equally wide and follow each other. The default reads the whole rows again, by `prefill`.
        """
        return self.prefill(canvas, start, width, None if self.attention_block else past.next_ends(start))

    @abstractmethod
    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        """Logits of candidate blocks: tokens [M, W], and the context row of each [M]. -> [M, W, V]

        At most `max_per_row` candidates share a context row. The host knows this number, so that they can be packed.
        """

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: Any, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        """Logits of the masked columns alone, in order: the loop looks at no others. -> [X, V]

        The default calls the model for all columns and picks these.
        """
        logits = self(tokens, context, row, max_per_row)
        check_logits(logits, [*tokens.shape, self.vocabulary.count])
        return logits.flatten(0, 1)[masked_columns.flat_index]


def check_logits(logits: Any, shape: Sequence[int]) -> None:
    """Refuse what a model returned, unless it is logits of this shape."""
    if not isinstance(logits, Tensor | LazyLogits) or list(logits.shape) != list(shape):
        came = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ContractError(
            f"a model must return logits [rows, width, vocabulary], here {list(shape)}; it returned {came}."
        )


NEEDED = ("mask_id", "vocab_size", "attention_block", "device", "columns", "prefill", "__call__")
OPTIONAL = ("refresh", "guides", "context", "dtype", "cache", "engine_name")


class Adapted(Denoiser):
    """A model that does not inherit Denoiser but has the members it needs; the rest comes from the defaults."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.vocabulary = _own_vocabulary(model) or Vocabulary(model.vocab_size, model.mask_id)
        self.attention_block, self.device = model.attention_block, model.device
        kind = type(model)
        self.name = getattr(model, "name", None) or kind.__name__
        self.family = getattr(model, "family", None) or kind.__name__
        for name in OPTIONAL:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        for name in ("append", "at_masks"):
            if hasattr(kind, name):  # its own: a proxy that passes unknown attributes on would bypass its changes
                setattr(self, name, getattr(model, name))

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        appends = previous_start is not None and hasattr(type(self.model), "append")
        more = [previous_start] if appends else []  # a model that cannot append need not take it
        opening, candidate = self.model.columns(length, start, width, *more)
        return opening, candidate

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        context, logits = self.model.prefill(canvas, start, width, end)
        return context, logits

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        logits: Tensor = self.model(tokens, context, row, max_per_row)
        return logits


def adapt(model: Any) -> Denoiser:
    """A Denoiser from itself, or from any object that has the members of one."""
    if isinstance(model, Denoiser):
        if unset := [name for name in ("vocabulary", "device") if not hasattr(model, name)]:
            raise InputError(f"a Denoiser must set vocabulary and device; {type(model).__name__} lacks {unset[0]}.")
        return model
    if lacking := _lacking(model):
        has_tokenizer = isinstance(getattr(model, "denoiser", None), Denoiser)  # a TextModel
        wrap = "Wrap a module that maps tokens to logits in infogain.models.FullCanvas"
        raise InputError(
            f"a model needs {', '.join(NEEDED[:-1])} and {NEEDED[-1]}; "
            f"{type(model).__name__} lacks {', '.join(lacking)}. {'Pass its .denoiser' if has_tokenizer else wrap}."
        )
    return Adapted(model)


def _lacking(model: Any) -> list[str]:
    given = {"__call__"} if callable(model) else set()
    if _own_vocabulary(model):
        given |= {"mask_id", "vocab_size"}
    return [name for name in NEEDED if name not in given and (name == "__call__" or not hasattr(model, name))]


def _own_vocabulary(model: Any) -> Vocabulary | None:
    """The `vocabulary` of a model that does not inherit Denoiser, where it is a Vocabulary and not something else."""
    own = getattr(model, "vocabulary", None)
    if not isinstance(own, Vocabulary):
        return None
    said = {"mask_id": own.mask_id, "vocab_size": own.size}
    for name, value in said.items():
        if (other := getattr(model, name, value)) != value:
            raise InputError(
                f"a model's {name} must be its vocabulary's, {value}; {type(model).__name__} has {other}. "
                "The vocabulary alone will do."
            )
    return own
