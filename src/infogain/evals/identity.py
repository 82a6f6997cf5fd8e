"""Hashes of all that decides a text, so that equal work is known as such. Files count by content, not by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from infogain.evals.fingerprint import content_fingerprint, describe
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.samplers.frequencies import find_table
from infogain.text.text_model import TextModel

EXTENT = ("seeds", "limit")  # of a protocol: how much is wanted, not what
SPELLING = ("name", "revision")  # of a model whose files are known


def hash_of(value: Any) -> str:
    """A hash of anything JSON can hold; equal values have equal hashes."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()


def identity(about: Mapping[str, Any]) -> str:
    """A hash of all that decides what a run's texts are."""
    posed = {name: value for name, value in about["protocol"].items() if name not in EXTENT}
    data = [about["data"].get(name) for name in ("fingerprint", "prompts")]
    model, recipe = _by_content(about["model"]), _without_paths(about["recipe"])
    return hash_of([about["version"], about["task"], model, posed, recipe, about.get("frequencies"), data])


def made_by(model: TextModel, recipe: Recipe) -> str:
    """A hash of the files that decide texts: the model's, which are read whole, and pc's table."""
    return hash_of([_by_content(describe(model)), recipe_entry(recipe)["frequencies"]])


def recipe_entry(recipe: Recipe) -> Plain:
    """The recipe in run.json. Of pc's table the content counts, whatever its file is called."""
    settings = recipe.plain()
    tables = [content_fingerprint(find_table(name)) for name in _named_tables(settings)]
    return {"recipe": settings, "recipe_hash": hash_of(settings), "frequencies": tables[0] if tables else None}


def _named_tables(settings: Plain) -> Iterator[str]:
    """The frequency tables of a sampler, or of the one that it repeats."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _named_tables(value)
        elif name == "frequencies" and value is not None:
            yield value


def _by_content(model: Plain) -> Plain:
    """A described model less the name of its folder; one that was put together by hand has nothing but its name."""
    return {name: value for name, value in model.items() if "fingerprint" not in model or name not in SPELLING}


def _without_paths(recipe: Plain) -> Plain:
    """Settings less the name of pc's table, whose content counts."""
    settings = {name: value for name, value in recipe.items() if name != "frequencies"}
    return {name: _without_paths(value) if isinstance(value, dict) else value for name, value in settings.items()}
