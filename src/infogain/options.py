"""Samplers, schedules and recipes are values: frozen dataclasses whose fields are their options.

A field's range, help and choices stand in its metadata once; validation, `--help`, CLI flags and
recipes all read them from there.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

from infogain.errors import OptionError, UnknownName

Plain = dict[str, Any]
MOST = 2**31 - 1  # the largest number of anything that is counted
HOTTEST = 1e20  # a temperature at which every draw is uniform to the last digit, far from where float32 overflows
LARGEST = 3.4e38  # what float32 holds, in which models compute: beyond it a number would become infinite there


def option(
    default: Any = MISSING,
    help: str = "",
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    when: tuple[str, str] | None = None,
    hint: str = "",
    implied: bool = False,
) -> Any:
    """A dataclass field with its rules.

    `low ≤ value ≤ high` and `value > above` where given; `when=("variant", "original")` says the
    option means something for that value of another field only; `hint` ends the error text. `implied`: a table
    without it means its default, as tables do that were written before there was the option.
    """
    rules = {"low": low, "above": above, "high": high, "choices": choices, "when": when, "implied": implied}
    return dataclasses.field(default=default, metadata={"help": help, "hint": hint, **rules})


def fields(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The options of a class, by name."""
    return {field.name: field for field in dataclasses.fields(kind) if field.init}


def dashed(option: str) -> str:
    """An option as the command line writes it: `tau_token` is `--tau-token`."""
    return "--" + option.replace("_", "-")


_hints = functools.cache(get_type_hints)  # annotations are text: reading them takes as long as a step of a small model


def accepted(kind: type, name: str) -> tuple[type, ...]:
    """The plain types a field takes, `None` included where it is optional."""
    hint = _hints(kind)[name]
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return tuple(parts)


def _check_type(owner: str, field: dataclasses.Field[Any], value: Any, kinds: tuple[type, ...]) -> Any:
    if value is None and type(None) in kinds:
        return None
    if typing.get_origin(kinds[0]) is tuple:
        return _check_ids(owner, field, value)
    if isinstance(value, bool) and bool not in kinds:
        pass  # True is an int to Python, never to a user
    elif isinstance(value, int | float) and float in kinds and _is_finite(value):
        return float(value)
    elif isinstance(value, kinds) and not isinstance(value, float):
        return value
    wanted = " or ".join("nothing" if kind is type(None) else kind.__name__ for kind in kinds)
    raise OptionError(f"{owner}: {field.name} must be {wanted}; got {value!r:.80}.")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an int that is too large for a float
        return False


def _check_ids(owner: str, field: dataclasses.Field[Any], value: Any) -> tuple[int, ...]:
    """Several whole numbers; one alone may be written without brackets."""
    several = (value,) if isinstance(value, int) else value
    if not isinstance(several, list | tuple) or any(isinstance(x, bool) or not isinstance(x, int) for x in several):
        raise OptionError(f"{owner}: {field.name} must be a list of whole numbers; got {value!r}.")
    return tuple(several)


def _check_rules(owner: str, field: dataclasses.Field[Any], value: Any) -> None:
    rules = field.metadata
    if isinstance(value, tuple):
        for part in value:
            _check_rules(owner, field, part)
        return
    if not rules or value is None:
        return
    needs = (
        ("be at least", "low", operator.ge),
        ("be above", "above", operator.gt),
        ("be at most", "high", operator.le),
    )
    for verb, rule, holds in needs:
        bound = rules[rule]
        if bound is not None and not holds(value, bound):
            raise OptionError(f"{owner}: {field.name} must {verb} {bound}; got {value!r}. {rules['hint']}".rstrip())
    if isinstance(value, float) and abs(value) > LARGEST:
        raise OptionError(f"{owner}: {field.name} must lie between -{LARGEST:g} and {LARGEST:g}; got {value:g}.")
    if rules["choices"] and value not in rules["choices"]:
        raise UnknownName(f"{owner} option {field.name}:", value, rules["choices"])


class Options:
    """A base for frozen dataclasses: checks every field when the value is made."""

    name: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Plain]] = {}  # settings with a name of their own, made as "name:preset"

    def __post_init__(self) -> None:
        owner = self.name or type(self).__name__
        for name, field in fields(type(self)).items():
            value = _check_type(owner, field, getattr(self, name), accepted(type(self), name))
            object.__setattr__(self, name, value)
            _check_rules(owner, field, value)
        for name, field in fields(type(self)).items():
            when = field.metadata.get("when")
            if when and getattr(self, when[0]) != when[1] and getattr(self, name) != field.default:
                raise OptionError(
                    f"{owner}: {name} belongs to {when[0]}={when[1]!r}; "
                    f"{when[0]} is {getattr(self, when[0])!r}. Drop {name} or change {when[0]}."
                )


T = TypeVar("T", bound=Options)


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Classes by name, for example all samplers."""

    kind: str
    entries: dict[str, type[T]]

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        def add(entry: type[T]) -> type[T]:
            if name in self.entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            entry.name = name
            self.entries[name] = entry
            return entry

        return add

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> type[T]:
        """The entry of a name, with or without a preset behind it."""
        own, colon, preset = name.partition(":")
        if own not in self.entries:
            raise UnknownName(self.kind, name, self.entries)
        if colon and preset not in self.entries[own].presets:
            raise UnknownName(f"preset of {self.kind} {own!r}:", preset, self.entries[own].presets)
        return self.entries[own]

    def make(self, name: str, **options: Any) -> T:
        """Make an entry by name, or by name and preset ("info-gain:validated"); options go over the preset."""
        entry = self[name]
        options = {**entry.presets.get(name.partition(":")[2], {}), **options}
        self._check_names(entry, name, options)
        known = fields(entry)
        missing = [field.name for field in known.values() if field.default is MISSING and field.name not in options]
        if missing:
            raise OptionError(f"{self.kind} {name!r} needs {missing[0]}: {known[missing[0]].metadata['help']}.")
        return entry(**options)

    def vary(self, value: T, **options: Any) -> T:
        """A value with these options over its own."""
        self._check_names(type(value), value.name, options)
        return dataclasses.replace(value, **options)  # type: ignore[type-var]  # entries are dataclasses

    def _check_names(self, entry: type[T], name: str, options: Plain) -> None:
        known = fields(entry)
        for given in options:
            if given not in known:
                raise UnknownName(f"option of {self.kind} {name!r}:", given, known, self.takers(given))

    def takers(self, option: str) -> str:
        """A note of which entries take this option, for the error about one that was misplaced; empty if none does."""
        names = [name for name in self if option in fields(self[name])]
        return f" ({option} belongs to {', '.join(names)})" if names else ""

    def parse(self, value: T | str | Mapping[str, Any]) -> T:
        """The value that is given ready made, by its bare name, or as a plain table with a `name`."""
        if isinstance(value, str):
            return self.make(value)
        if isinstance(value, type):
            raise OptionError(f"a {self.kind} is a value, not a class; got {value.__name__}. Use {value.__name__}().")
        if not isinstance(value, Mapping):
            return value
        if not isinstance(value.get("name"), str):
            raise OptionError(f"a {self.kind} needs a name; got {dict(value)!r}. Known: {', '.join(self.entries)}.")
        return self.make(**value)


def plain(value: Options) -> Plain:
    """A sampler, schedule or recipe as a plain table: `parse` of it gives the value back.

    Options that are unset (None), and implied ones at their default, are left out. A class nobody registered is told
    by where it stands: it must not pass for the one it derives from.
    """
    kind = type(value)
    table: Plain = {"name": value.name if "name" in vars(kind) else f"{kind.__module__}:{kind.__qualname__}"}
    for name, field in fields(kind).items():
        entry = getattr(value, name)
        if isinstance(entry, tuple):
            entry = list(entry)
        implied = field.metadata.get("implied") and entry == field.default
        if entry is not None and not implied:
            table[name] = plain(entry) if isinstance(entry, Options) else entry
    return table
