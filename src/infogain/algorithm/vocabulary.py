"""Which token ids a model knows, and which of them it can predict."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import SupportsIndex

from infogain.errors import InputError


def _whole(name: str, value: object) -> int:
    """A whole number as Python's int, also from numpy and torch."""
    if not isinstance(value, bool) and isinstance(value, SupportsIndex):
        with suppress(TypeError):  # torch's tensors say only when asked whether they are whole
            return operator.index(value)
    what = "hold ids, whole numbers" if name == "never" else "be a whole number"
    raise InputError(f"{name} of a vocabulary must {what}; got {value!r}.")


def _ids(never: Iterable[object]) -> set[int]:
    try:
        tokens = list(never)
    except TypeError:
        raise InputError(f"never of a vocabulary must hold ids, such as (0, 100); got {never!r}.") from None
    return {_whole("never", token) for token in tokens}


@dataclass(frozen=True)
class Vocabulary:
    """The ids that a model knows. It can predict those of a range, less the mask and those in `never`.

    Tokens are ids of the whole vocabulary everywhere. Logits are only as wide as the range: their column 0 is the id
    `first`.
    """

    size: int  # ids the model knows, the mask included
    mask_id: int
    first: int = 0  # first id of the range
    count: int = None  # type: ignore[assignment]  # ids in the range; unset: all from `first` on
    never: tuple[int, ...] = ()  # ids that are not predicted, unless a recipe's eos_ids name them

    def __post_init__(self) -> None:
        for name in ("size", "mask_id", "first"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        count = self.size - self.first if self.count is None else _whole("count", self.count)
        object.__setattr__(self, "count", count)
        never = tuple(sorted(_ids(self.never)))
        object.__setattr__(self, "never", never)
        if not 0 <= self.mask_id < self.size:
            raise InputError(f"the mask id must lie in the vocabulary of {self.size}; got {self.mask_id}.")
        if self.first < 0 or self.count < 1 or self.first + self.count > self.size:
            raise InputError(
                f"the range of ids to predict must hold at least one and lie in the vocabulary of {self.size}; "
                f"got {self.count} ids from {self.first} on."
            )
        if never and not 0 <= never[0] <= never[-1] < self.size:
            raise InputError(
                f"ids that are never predicted must lie in the vocabulary of {self.size}; "
                f"got {never[0]} to {never[-1]}."
            )
        if not self.count - len(self.excluded) - (self.mask_column < self.count and self.mask_id not in never):
            raise InputError("a vocabulary must leave at least one id to predict; the mask and `never` take them all.")

    def __contains__(self, token: int) -> bool:
        """Whether this id has a column among the logits."""
        return self.first <= token < self.first + self.count

    @property
    def span(self) -> str:
        """The range as text: "2 to 9"."""
        return f"{self.first} to {self.first + self.count - 1}"

    @cached_property
    def whole(self) -> bool:
        """Whether every id has a column among the logits."""
        return self.count == self.size

    @cached_property
    def mask_column(self) -> int:
        """The mask's column among the logits; where it has none, the number of columns."""
        return self.mask_id - self.first if self.mask_id in self else self.count

    @cached_property
    def excluded(self) -> tuple[int, ...]:
        """The columns among the logits of the ids that are never predicted."""
        return tuple(token - self.first for token in self.never if token in self)

    def allowing(self, ids: Iterable[int] | None) -> Vocabulary:
        """This vocabulary, but these ids are not in `never`."""
        allowed = set(ids or ())
        if allowed.isdisjoint(self.never):
            return self
        return replace(self, never=tuple(token for token in self.never if token not in allowed))
