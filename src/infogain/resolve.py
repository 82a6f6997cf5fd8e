"""One resolution of settings: flags, recipe files and Python's keywords all become a Recipe here.

What is asked for lies over what it starts from, option by option; what nobody asks for has the default of its option.
Two fields may stay unset, for they depend on what is decoded: the block and the tokens that end a text. Whoever decodes
fills them in: `decode` takes all columns at once and ends nowhere, texts are as `generate` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from infogain.algorithm.schedule import Schedule, Steps, TokensPerStep
from infogain.errors import InputError, OptionError, UnknownName
from infogain.options import fields
from infogain.recipe import Recipe
from infogain.recipe_files import is_path, load_recipe, recipe_names
from infogain.samplers import SAMPLERS, Sampler

Given = Recipe | Sampler | str | Path | Mapping[str, Any] | None
SCHEDULE = {"k": "k", "steps": "count", "shape": "shape", "rounding": "rounding"}  # keyword -> option of a schedule


def as_recipe(given: Given = None, options: Mapping[str, Any] = {}, call: Callable[..., Any] | None = None) -> Recipe:
    """A recipe, with options laid over it.

    given    a Recipe; a sampler, its name, or a table of its name and options; a recipe's name, path or table
    options  of the sampler (n, tau_token …), the schedule (k; or steps, shape, rounding), the recipe's own fields
    call     what was called with them: its keywords are suggested, too, where one is misspelled
    """
    start = _start(given)
    if "sampler" in options:
        start = _with_sampler(start, options["sampler"])
    known = {*fields(type(start.sampler)), *SCHEDULE, *fields(Recipe)}
    if strange := [name for name in options if name not in known]:
        taken = signature(call).parameters.values() if call else ()
        keywords = {each.name for each in taken if each.kind is each.KEYWORD_ONLY}
        raise UnknownName("keyword", strange[0], known | keywords, SAMPLERS.takers(strange[0]))
    schedule = {SCHEDULE[name]: value for name, value in options.items() if name in SCHEDULE}
    if schedule and "schedule" in options:
        raise OptionError("a schedule is given once; got schedule, and k, steps or shape too. Drop one of them.")
    own = {name: value for name, value in options.items() if name in fields(type(start.sampler))}
    rest = {name: value for name, value in options.items() if name in fields(Recipe) and name != "sampler"}
    return change(replace(start, **rest), own, schedule)


def change(
    recipe: Recipe,
    sampler: Mapping[str, Any] = {},
    schedule: Mapping[str, Any] = {},
    rest: Mapping[str, Any] = {},
) -> Recipe:
    """Options over those of a recipe. A sampler of another name starts from its own defaults, see `vary`."""
    varied = vary(recipe.sampler, sampler)
    return replace(recipe, sampler=varied, schedule=_vary_schedule(recipe.schedule, schedule), **rest)


def vary(sampler: Sampler, options: Mapping[str, Any]) -> Sampler:
    """A sampler with these options over its own; `base` goes down into the sampler of a sampler.

    A name that it bears already changes nothing, unless it is the default: nobody asked for that one's options, which
    are a preset's, so the name stands for its own.
    """
    options = dict(options)
    name = options.pop("name", None)
    if name is not None and (name != sampler.name or sampler == Recipe().sampler):
        sampler = SAMPLERS.make(name)
    base = getattr(sampler, "base", None)
    if isinstance(options.get("base"), Mapping) and isinstance(base, Sampler):
        options["base"] = vary(base, options["base"])
    return SAMPLERS.vary(sampler, **options)


def _vary_schedule(schedule: Schedule, options: Mapping[str, Any]) -> Schedule:
    if "k" in options and "count" in options:
        raise OptionError(
            f"a schedule is tokens per step (k, -k) or a number of steps (steps, --steps); got k {options['k']} and "
            f"steps {options['count']}. Drop one of them."
        )
    if "k" in options:
        schedule = TokensPerStep(options["k"])
    elif "count" in options:
        schedule = replace(schedule, count=options["count"]) if isinstance(schedule, Steps) else Steps(options["count"])
    spread = {name: options[name] for name in ("shape", "rounding") if name in options}
    if not spread:
        return schedule
    if not isinstance(schedule, Steps):
        name = next(iter(spread))
        raise OptionError(
            f"{name} says how a number of steps is spread; the schedule is {schedule.name!r}. Give steps "
            f"(--steps), or drop {name}."
        )
    return replace(schedule, **spread)


def _start(given: Given) -> Recipe:
    if given is None:
        return Recipe()
    if isinstance(given, Recipe):
        return given
    if isinstance(given, Path):
        return load_recipe(given)
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, Mapping) and "name" not in given:
        return Recipe.of(given)
    if isinstance(given, Mapping | Sampler | type):
        return Recipe(given)  # type: ignore[arg-type]  # Recipe parses tables
    raise InputError(f"a recipe is a Recipe, a sampler, a name of either, a path or a plain table; got {given!r:.80}.")


def _named(name: str) -> Recipe:
    """A sampler's name, a recipe's, or a path."""
    if name.partition(":")[0] in SAMPLERS:
        return Recipe(name)  # type: ignore[arg-type]  # Recipe parses names
    if name in recipe_names() or is_path(name):
        return load_recipe(name)
    raise UnknownName("sampler or recipe", name, {*SAMPLERS, *recipe_names()})


def _with_sampler(recipe: Recipe, sampler: Any) -> Recipe:
    return replace(recipe, sampler=vary(recipe.sampler, {"name": sampler}) if isinstance(sampler, str) else sampler)
