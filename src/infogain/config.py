"""Recipes as TOML files, which give each recipe back exactly, and settings laid over settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infogain.errors import InfoGainError, InputError, OptionError
from infogain.options import Plain
from infogain.recipe import Recipe


def load_recipe(path: str | Path) -> Recipe:
    """The recipe a TOML file holds; keys it leaves out have their defaults."""
    table = _read_toml(path)
    try:
        return Recipe.of(table)
    except InfoGainError as error:
        raise OptionError(f"{path}: {error}") from error


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML, every option spelled out except those that are unset."""
    import tomli_w

    return tomli_w.dumps(recipe.plain())


def save_recipe(recipe: Recipe, path: str | Path) -> None:
    Path(path).write_text(dump_recipe(recipe), encoding="utf-8")


def merge(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> Plain:
    """`overrides` over `table`, tables within tables too.

    A policy of another name replaces the one there is, for its options would mean nothing to it.
    """
    merged = dict(table)
    for key, value in overrides.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, str):
            below = {"name": below}  # a policy at its defaults may be written as its bare name
        merged[key] = _merged(below, value)
    return merged


def _merged(below: Any, above: Any) -> Any:
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    same_policy = above.get("name", below.get("name")) == below.get("name")
    return merge(below, above) if same_policy else above


def _read_toml(path: str | Path) -> Plain:
    try:
        with Path(path).open("rb") as file:
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
