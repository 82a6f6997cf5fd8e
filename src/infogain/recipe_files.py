"""Recipes as TOML files: those that come with the package, by name, and those that users write."""

from __future__ import annotations

import tomllib
from itertools import takewhile
from pathlib import Path

from infogain.errors import InfoGainError, InputError, OptionError, UnknownName
from infogain.options import Plain
from infogain.recipe import Recipe

SUFFIX = ".toml"


def recipes_folder() -> Path:
    """The folder of recipes: within the installed package, or at the root of a checkout."""
    package = Path(__file__).parent
    inside = package / "recipes"
    return inside if inside.is_dir() else package.parents[1] / "recipes"


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    return sorted(path.stem for path in recipes_folder().glob(f"*{SUFFIX}"))


def about_recipe(name: str) -> str:
    """The comment at the head of a recipe that comes with the package: whose settings it holds."""
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
    if isinstance(name, Path) or (name not in recipe_names() and is_path(name)):
        return Path(name)
    if name not in recipe_names():
        raise UnknownName("recipe", name, recipe_names(), ", which is no file either")
    return recipes_folder() / f"{name}{SUFFIX}"


def is_path(name: str) -> bool:
    """Is this the path of a file, and not the name of a recipe?"""
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
