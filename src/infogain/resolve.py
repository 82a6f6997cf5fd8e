"""One resolution of settings: flags, recipe files and Python's keywords all become a Recipe here.

What is asked for lies over what it starts from, option by option; what nobody asks for has the default of its option.
Two fields may stay unset, for they depend on what is decoded: the block and the tokens that end a text. Whoever decodes
fills them in: `decode` takes all columns at once and ends nowhere, texts are as `generate` says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from itertools import takewhile
from pathlib import Path
from typing import Any

from infogain.algorithm.schedule import Schedule, Steps, TokensPerStep
from infogain.errors import InfoGainError, InputError, OptionError, UnknownName
from infogain.options import Plain, fields
from infogain.recipe import Recipe
from infogain.samplers import SAMPLERS, Sampler

Given = Recipe | Sampler | str | Path | Mapping[str, Any] | None
SCHEDULE = {"k": "k", "steps": "count", "shape": "shape"}  # keyword -> option of a schedule
SUFFIX = ".toml"


def as_recipe(given: Given = None, options: Mapping[str, Any] = {}, call: Callable[..., Any] | None = None) -> Recipe:
    """A recipe, with options laid over it.

    given    a Recipe; a sampler, its name, or a table of its name and options; a recipe's name, path or table
    options  of the sampler (n, tau_token …), the schedule (k; or steps and shape), and the recipe's own fields
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
    """Options over those of a recipe. A sampler or schedule of another name starts from its own defaults."""
    varied = vary(recipe.sampler, sampler)
    return replace(recipe, sampler=varied, schedule=_vary_schedule(recipe.schedule, schedule), **rest)


def vary(sampler: Sampler, options: Mapping[str, Any]) -> Sampler:
    """A sampler with these options over its own; `base` goes down into the sampler of a sampler."""
    options = dict(options)
    name = options.pop("name", sampler.name)
    if name != sampler.name:
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
    if "shape" not in options:
        return schedule
    if not isinstance(schedule, Steps):
        raise OptionError(
            f"shape says how a number of steps is spread; the schedule is {schedule.name!r}. Give steps "
            "(--steps), or drop shape."
        )
    return replace(schedule, shape=options["shape"])


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
        return _with_sampler(Recipe(), given)
    raise InputError(f"a recipe is a Recipe, a sampler, a name of either, a path or a plain table; got {given!r:.80}.")


def _named(name: str) -> Recipe:
    """A sampler's name, a recipe's, or a path."""
    if name.partition(":")[0] in SAMPLERS:
        return _with_sampler(Recipe(), name)
    if name in recipe_names() or _is_path(name):
        return load_recipe(name)
    raise UnknownName("sampler or recipe", name, {*SAMPLERS, *recipe_names()})


def _with_sampler(recipe: Recipe, sampler: Any) -> Recipe:
    """A name that the recipe's sampler bears already changes nothing, as --sampler does not."""
    same = isinstance(sampler, str) and sampler == recipe.sampler.name
    return recipe if same else replace(recipe, sampler=sampler)


# recipe files


def recipes_folder() -> Path:
    """Within the installed package, or at the root of a checkout."""
    package = Path(__file__).parent
    inside = package / "recipes"
    return inside if inside.is_dir() else package.parents[1] / "recipes"


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    return sorted(path.stem for path in recipes_folder().glob(f"*{SUFFIX}"))


def about_recipe(name: str) -> str:
    """What the head of its file says of a recipe that comes with the package."""
    lines = _recipe_path(name).read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("# ") for line in takewhile(lambda line: line.startswith("#"), lines))


def load_recipe(name: str | Path) -> Recipe:
    """The recipe of that name which comes with the package, or the one a TOML file holds.

    A key that is left out of a file means what a flag means that is not given: see `resolve`.
    """
    path = _recipe_path(name)
    table = _read_toml(path)
    try:
        return Recipe.of(table)
    except InfoGainError as error:
        raise OptionError(f"{path}: {error}") from error


def _recipe_path(name: str | Path) -> Path:
    if isinstance(name, Path) or (name not in recipe_names() and _is_path(name)):
        return Path(name)
    if name not in recipe_names():
        raise UnknownName("recipe", name, recipe_names(), ", which is no file either")
    return recipes_folder() / f"{name}{SUFFIX}"


def _is_path(name: str) -> bool:
    return name.endswith(SUFFIX) or Path(name).name != name or Path(name).exists()


def _read_toml(path: Path) -> Plain:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(
            f"a recipe must be a TOML file that can be read; {path}: {error.strerror}. "
            "Write one with `infogain recipe > my-recipe.toml`."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"a recipe must be TOML; {path} is not: {error}. Compare it with what `infogain recipe` prints."
        ) from error
