"""Writes recipes as TOML files, which give each recipe back exactly when they are loaded.

It stands apart from `recipe_files`, which the core imports: writing needs a library that the core does without.
"""

from __future__ import annotations

from pathlib import Path

from infogain.recipe import Recipe


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML, every option spelled out except those that are unset, and implied ones at their default."""
    import tomli_w

    return tomli_w.dumps(recipe.plain())


def save_recipe(recipe: Recipe, path: str | Path) -> None:
    Path(path).write_text(dump_recipe(recipe), encoding="utf-8")
