"""What the loop asks of a model: a base class with defaults, and an adapter for models of no base class."""

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

    def next_ends(self, start: Sequence[int]) -> list[int]:
        """Where the blocks that open end, if all columns see all: each is as wide as the one before, and follows it."""
        return [2 * at - before for at, before in zip(start, self.kept, strict=True)]


class Denoiser(ABC):
    """A masked diffusion model: set `vocabulary` and `device`, write `prefill` and `__call__`; the rest has defaults.

    A model with an `attention_block` is block-causal: a column sees earlier blocks and its own, counted from column 0.
    Logits that are returned are handed over: the loop may write to them.
    """

    vocabulary: Vocabulary
    device: torch.device
    attention_block: int | None = None  # the width it was trained with; unset: every column sees every other
    refresh: int = 1  # blocks that follow each other and are opened from one reading, where every column sees all
    context: int | None = None  # the most columns a row may have, where there is a limit
    name: str | None = None  # by which outputs call the model; unset: its class
    family: str | None = None  # unset: its class
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

    def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
        """Columns that run through the model to open a block in a row of this length, and for each candidate there.

        `kept`: the row's `Past.kept`, where the block is opened by `append`.
        """
        return length, length

    @abstractmethod
    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        """Open a block at each row's start: its Context, and the block's logits. -> [C], [C, W, V]

        `width` is that of the widest block in the batch; a row's own ends before `end` (unset: start + width). Calls to
        come may show more columns of a block or fewer, as wide ones come and go, but never less than the row's own.
        """

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        """`prefill` for rows that have finished a block, from what was kept when that one opened.

        Asked of block-causal models, whose past stays exact, and of those with `refresh` above 1, where the blocks are
        equally wide and follow each other. A model that keeps nothing reads the rows as a whole.
        """
        return self.prefill(canvas, start, width, None if self.attention_block else past.next_ends(start))

    @abstractmethod
    def __call__(self, tokens: Tensor, context: Any, row: Tensor, most: int) -> Tensor:
        """Logits of candidate blocks, each over the context row it names. [M, W], [M] -> [M, W, V]

        No context row is named by more than `most` candidates: known to the host, so that they can be packed.
        """

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: Any, row: Tensor, most: int
    ) -> Tensor | LazyLogits:
        """`__call__` for the columns that are masked [M, W], in order: all that the loop looks at. -> [X, V]"""
        logits = self(tokens, context, row, most)
        check_logits(logits, [*tokens.shape, self.vocabulary.count])
        return logits.flatten(0, 1)[masked_columns.flat_index]


def check_logits(logits: Any, shape: Sequence[int]) -> None:
    """Make sure of what a model returned."""
    if not isinstance(logits, Tensor | LazyLogits) or list(logits.shape) != list(shape):
        came = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ContractError(
            f"a model must return logits [rows, width, vocabulary], here {list(shape)}; it returned {came}."
        )


NEEDED = ("mask_id", "vocab_size", "attention_block", "device", "columns", "prefill", "__call__")
OPTIONAL = ("refresh", "context", "dtype", "cache", "engine_name")


class Adapted(Denoiser):
    """A model of no base class that has the members a Denoiser needs; what it lacks is taken from the defaults."""

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
            if hasattr(kind, name):  # of its own: one that passes attributes on changes what lies behind them
                setattr(self, name, getattr(model, name))

    def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
        appends = kept is not None and hasattr(type(self.model), "append")
        asked = {"kept": kept} if appends else {}  # one that cannot append need not know the word
        opening, candidate = self.model.columns(length, start, width, **asked)
        return opening, candidate

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        context, logits = self.model.prefill(canvas, start, width, end)
        return context, logits

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, most: int) -> Tensor:
        logits: Tensor = self.model(tokens, context, row, most)
        return logits


def adapt(model: Any) -> Denoiser:
    """A model that the loop can decode with, from a Denoiser or from anything with the members it must have."""
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
    """The Vocabulary that a model of no base class has, if any; what else goes by that name is the model's own."""
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
