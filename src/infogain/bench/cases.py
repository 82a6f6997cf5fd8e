"""A case: one decode to be timed. Cases are values, and a grid is all combinations of what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, field
from itertools import product
from typing import Any

from infogain.algorithm.schedule import Steps, TokensPerStep
from infogain.bench.bypass import ForcedBypass
from infogain.errors import InputError, OptionError, UnknownName
from infogain.models.backbone.backbone import CACHES
from infogain.models.backbone.graphs import ENGINES
from infogain.options import Plain, fields, plain
from infogain.recipe import Recipe
from infogain.samplers import SAMPLERS, InfoGain, Sampler

ENGINE = "default"  # what the model takes by itself: graphs on a GPU, eager elsewhere
CANVAS = "canvas"  # no cache as public code has none: every column runs, and every column's logits are made


@dataclass(frozen=True)
class Case:
    """One decode to be timed: model, sampler and canvas."""

    shape: str  # of SHAPES, zoo:NAME, or a checkpoint
    sampler: Sampler = field(default_factory=InfoGain)
    k: int = 1
    block: int = 16
    batch: int = 1
    cache: str | None = None  # "dual", "prefix", "none", "canvas"; unset: what the model does by itself
    refresh: int | None = None  # blocks opened from one reading of the canvas; unset: 1
    context: int = 512  # columns of the canvas outside the block: what a dual cache holds
    ragged: int | None = None  # columns by which prompts are shorter at most, each by another number; unset: by none
    length: int = 48  # columns generated
    steps: int | None = None  # stop after so many; unset: decode to the end
    engine: str = ENGINE
    device: str | None = None  # unset: the bench's own
    text: str | None = None  # of every prompt, for a model with a tokenizer; unset: random tokens
    guidance: float | None = None  # every row runs without its prompt too; unset: it does not
    codes: int | None = None  # the last so many ids alone can be predicted, as in images; unset: all can
    count: int | None = None  # steps of a cosine schedule, in place of k

    def __post_init__(self) -> None:
        for name in ("k", "block", "batch", "length", "steps", "refresh", "codes", "count"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise OptionError(f"{name} must be at least 1; got {value}.")
        if self.engine not in (ENGINE, *ENGINES):
            raise UnknownName("engine", self.engine, ENGINES)
        if self.cache is not None and self.cache not in (known := (CANVAS, *CACHES)):
            raise UnknownName("cache", self.cache, known)
        if self.cache == CANVAS and self.engine != ENGINE:
            raise OptionError(f"cache {CANVAS!r} runs without an engine; leave it unset, got {self.engine!r}.")
        if self.cache in (CANVAS, "none") and self.refresh not in (None, 1):
            raise OptionError(
                f"refresh above 1 needs a cache that is kept, dual or prefix; got {self.cache!r} and {self.refresh}."
            )
        if self.prompt < 1:
            raise OptionError(
                f"a prompt needs a column: context + block must exceed length; got {self.context} + {self.block} "
                f"and {self.length}. Generate less, or give more context."
            )
        if not 0 <= (self.ragged or 0) < self.prompt:
            raise OptionError(
                f"ragged must be 0 or more and leave a prompt a column of its {self.prompt}; got {self.ragged}."
            )
        if self.ragged and self.text is not None:
            raise OptionError(f"prompts of one text are equally long; ragged must be 0, got {self.ragged}.")

    @property
    def prompt(self) -> int:
        """Columns given, so that `context` of them and of those to generate lie outside each block."""
        return self.context + self.block - self.length

    @property
    def candidates(self) -> int:
        """N, for each row of the context."""
        return self.sampler.traits.candidates

    @property
    def rows(self) -> int:
        """Hypotheses that are decoded side by side, once the beam is full."""
        return self.batch * self.sampler.traits.beam * self.sampler.traits.copies

    @property
    def recipe(self) -> Recipe:
        schedule = Steps(self.count, "cosine") if self.count else TokensPerStep(self.k)
        return Recipe(self.sampler, schedule, self.block, guidance=self.guidance or 0.0)

    @property
    def tokens_per_step(self) -> float:
        return self.length / self.count if self.count else self.k

    @property
    def parts(self) -> dict[str, str]:
        """Every setting that is set, as text, by its name."""
        said = {"shape": self.shape, "sampler": sampler_label(self.sampler)}
        rest = {key: f"{key} {value}" for key, value in vars(self).items() if key not in said and value is not None}
        return said | rest

    @property
    def label(self) -> str:
        return ", ".join(self.parts.values())

    def plain(self) -> Plain:
        return {**vars(self), "sampler": plain(self.sampler)}


def sampler_label(sampler: Sampler) -> str:
    """Its name, and what is not at its default: info-gain(n=8, gamma=1)."""
    name = "info-gain" if isinstance(sampler, ForcedBypass) else sampler.name
    told = [key for key, about in fields(type(sampler)).items() if _is_shown(sampler, key, about)]
    return f"{name}({', '.join(f'{key}={_short(getattr(sampler, key))}' for key in told)})" if told else name


def _is_shown(sampler: Sampler, key: str, about: Field[Any]) -> bool:
    return key in ("n", "width", "rate") or getattr(sampler, key) != about.default


def _short(value: Any) -> str:
    return value.name if isinstance(value, Sampler) else f"{value:g}" if isinstance(value, float) else str(value)


def make_sampler(name: str, bypass: float | None = None, **options: Any) -> Sampler:
    """A sampler with those of the options that it takes."""
    if bypass is not None and not 0 <= bypass <= 1:
        raise OptionError(f"bypass is a share of the steps, from 0 to 1; got {bypass:g}.")
    if name == InfoGain.name and bypass is not None:
        return ForcedBypass(rate=bypass, **_accepted(ForcedBypass, options))
    return SAMPLERS.make(name, **_accepted(SAMPLERS[name], options))


def _accepted(kind: type, options: Plain) -> Plain:
    return {key: value for key, value in options.items() if key in fields(kind) and value is not None}


def grid(
    shapes: Sequence[str],
    samplers: Sequence[str],
    options: dict[str, Sequence[Any]],
    settings: dict[str, Sequence[Any]],
) -> list[Case]:
    """All combinations, each once: `options` of samplers (n, gamma, bypass …), `settings` of cases (k, batch …).

    An option means something for samplers that take it; one that none takes is refused.
    """
    takes = {key for name in samplers for key in fields(SAMPLERS[name])}
    if InfoGain.name in samplers:
        takes.add("bypass")
    if strange := [key for key in options if key not in takes]:
        raise InputError(f"none of {', '.join(samplers)} takes {strange[0]}. Drop it, or add a sampler that does.")
    made = [
        Case(shape, make_sampler(name, **own), **rest)
        for shape, name in product(shapes, samplers)
        for own in _combinations(options)
        for rest in _combinations(settings)
    ]
    return list(dict.fromkeys(made))


def _combinations(values: dict[str, Sequence[Any]]) -> list[Plain]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def named(cases: Sequence[Case]) -> dict[str, Case]:
    """Each by its sampler and whatever else tells it from the others: runs of another engine have the same names."""
    every = [case.parts for case in cases]
    keys = dict.fromkeys(key for parts in every for key in parts)
    shown = [key for key in keys if key == "sampler" or len({parts.get(key) for parts in every}) > 1]
    names = (", ".join(parts[key] for key in shown if key in parts) for parts in every)
    return dict(zip(names, cases, strict=True))
