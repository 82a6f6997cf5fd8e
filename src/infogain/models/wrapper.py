"""A model around another: it passes everything on, and no call bypasses what a subclass changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import LazyLogits
from infogain.errors import ContractError
from infogain.kernels import MaskedColumns
from infogain.models.denoiser import Denoiser, Past, adapt, check_logits

TWINS = ("__call__", "at_masks"), ("prefill", "append")  # pairs of methods that ask for the same thing


class _UnlessSet:
    """An attribute that is computed from the wrapper, until it is set on the wrapper or in its class."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute

    def __get__(self, wrapper: Any, kind: type) -> Any:
        return self if wrapper is None else self.compute(wrapper)


def _of_inner(name: str) -> Any:
    """An attribute that is the inner model's until it is set."""
    return _UnlessSet(lambda wrapper: getattr(wrapper.inner, name))


class Wrapper(Denoiser):
    """A model around another, which passes everything on: a subclass overrides what it changes.

    No call bypasses a change. A class that writes `__call__` alone is asked for masked columns through it, and one that
    writes `at_masks` alone is called through that. One that writes `prefill` alone opens every block with it: whole
    rows are read each time, and `refresh` is 1. This holds for every class by itself: `super()` leads to the changes of
    its parents, whichever of the two methods they wrote. A mixin that does not inherit Wrapper counts as part of the
    class it is mixed into, and must write the same of the two methods.

    All attributes are the inner model's until they are set, except `name`, which is "Class(inner model's name)".
    """

    _derived: frozenset[str] = frozenset()  # methods that this class did not write but derives from their twins

    vocabulary = _of_inner("vocabulary")
    device = _of_inner("device")
    attention_block = _of_inner("attention_block")
    refresh: Any = _UnlessSet(lambda wrapper: wrapper.inner.refresh if _appends(type(wrapper)) else 1)
    guides = _of_inner("guides")
    context = _of_inner("context")
    name: Any = _UnlessSet(
        lambda wrapper: f"{type(wrapper).__name__}({wrapper.inner.name or type(wrapper.inner).__name__})"
    )
    family: Any = _UnlessSet(lambda wrapper: wrapper.inner.family or type(wrapper.inner).__name__)
    dtype = _of_inner("dtype")
    cache = _of_inner("cache")
    engine_name = _of_inner("engine_name")

    def __init__(self, inner: Denoiser) -> None:
        self.inner = adapt(inner)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._derived = frozenset()
        for head, *mixed in _with_mixins(cls):
            for twins in TWINS:
                _complete(cls, head, mixed, twins)

    def columns(self, length: int, start: int, width: int, previous_start: int | None = None) -> tuple[int, int]:
        return self.inner.columns(length, start, width, previous_start if _appends(type(self)) else None)

    def prefill(
        self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None
    ) -> tuple[Any, Tensor]:
        return self.inner.prefill(canvas, start, width, end)

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        return self.inner.append(canvas, start, width, past)

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        return self.inner(tokens, context, row, max_per_row)

    def at_masks(
        self, tokens: Tensor, masked_columns: MaskedColumns, context: Any, row: Tensor, max_per_row: int
    ) -> Tensor | LazyLogits:
        return self.inner.at_masks(tokens, masked_columns, context, row, max_per_row)


def _with_mixins(cls: type[Wrapper]) -> list[list[type]]:
    """The Wrapper classes that a wrapper consists of, in the order of `super()`, each with the mixins behind it."""
    found: list[list[type]] = []
    for kind in cls.__mro__[: cls.__mro__.index(Wrapper)]:
        if issubclass(kind, Wrapper):
            found.append([kind])
        else:
            found[-1].append(kind)
    return found


def _written(kind: type, twins: Sequence[str]) -> set[str]:
    """The methods among these that a class wrote itself."""
    derived = vars(kind).get("_derived", ())
    return {name for name in twins if name in vars(kind) and name not in derived}


def _appends(cls: type[Wrapper]) -> bool:
    """Whether a class appends to contexts: its `append` was written, and not derived from `prefill`."""
    owner = next(kind for kind in cls.__mro__ if "append" in vars(kind))
    return bool(_written(owner, ["append"]))


def _complete(cls: type[Wrapper], head: type, mixed: Sequence[type], twins: tuple[str, str]) -> None:
    """Derive the one of two twins that `head` and its mixins leave out; classes before `cls` are complete already."""
    changes = {kind: names for kind in (head, *mixed) if (names := _written(kind, twins))}
    if not changes:
        return
    names = next(iter(changes.values()))
    lacking = set(twins) - names - {"prefill"}  # `prefill` cannot be derived from `append`
    if any(other != names for other in changes.values()) or not (head is cls or lacking <= vars(head).keys()):
        raise _mismatch(cls, changes, twins)
    if head is cls:
        for name in lacking:
            setattr(cls, name, DERIVED[name](cls))
        cls._derived |= lacking


def _mismatch(cls: type[Wrapper], changes: dict[type, set[str]], twins: tuple[str, str]) -> ContractError:
    told = ", ".join(f"{kind.__name__} writes {' and '.join(sorted(names))}" for kind, names in changes.items())
    return ContractError(
        f"what is mixed into a Wrapper must write the same of {' and '.join(twins)} as the class it is mixed into, "
        f"or calls bypass a change; in {cls.__name__}, {told}. Let {[*changes][-1].__name__} inherit Wrapper."
    )


def _method(owner: type, wrapper: Any, name: str) -> Callable[..., Any]:
    """A wrapper's method as this class writes it or, where it writes none, as the next class behind it does."""
    found: Callable[..., Any]
    found = vars(owner)[name].__get__(wrapper) if name in vars(owner) else getattr(super(owner, wrapper), name)
    return found


def _at_masks_from_call(owner: type) -> Callable[..., Tensor]:
    def at_masks(
        self: Wrapper, tokens: Tensor, masked_columns: MaskedColumns, context: Any, row: Tensor, max_per_row: int
    ) -> Tensor:
        logits = _method(owner, self, "__call__")(tokens, context, row, max_per_row)
        check_logits(logits, [*tokens.shape, _width(logits, self)])
        picked: Tensor = logits.flatten(0, 1)[masked_columns.flat_index]
        return picked

    return at_masks


def _call_from_at_masks(owner: type) -> Callable[..., Tensor]:
    def __call__(self: Wrapper, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:  # noqa: N807
        every = MaskedColumns(torch.ones_like(tokens, dtype=torch.bool), tokens.numel())
        logits = _method(owner, self, "at_masks")(tokens, every, context, row, max_per_row)
        check_logits(logits, [every.count, _width(logits, self)])
        held: Tensor = logits.all() if isinstance(logits, LazyLogits) else logits
        return held.view(*tokens.shape, -1)

    return __call__


def _width(logits: Any, wrapper: Wrapper) -> int:
    """How wide logits are. Their own width counts, because a class around this one may change the vocabulary."""
    return logits.shape[-1] if isinstance(logits, Tensor | LazyLogits) else wrapper.vocabulary.count


def _append_from_prefill(owner: type) -> Callable[..., tuple[Any, Tensor]]:
    def append(self: Wrapper, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> tuple[Any, Tensor]:
        end = None if self.attention_block else past.next_ends(start)
        context, logits = _method(owner, self, "prefill")(canvas, start, width, end)
        return context, logits

    return append


DERIVED: dict[str, Callable[[type], Callable[..., Any]]] = {
    "at_masks": _at_masks_from_call,
    "__call__": _call_from_at_masks,
    "append": _append_from_prefill,
}
