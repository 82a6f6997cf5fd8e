"""Provenance: which model made an output and how it ran, every default resolved, as a plain table."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any

import torch

from infogain.models.denoiser import Denoiser
from infogain.options import Plain
from infogain.version import __version__

WORDS = {
    "model": "{}",
    "revision": "revision {}",
    "family": "family {}",
    "cache": "cache {}",
    "refresh": "refresh {}",
    "dtype": "{}",
    "device": "{}",
    "engine": "engine {}",
}
FROZEN = {"dual": "outside", "prefix": "before"}  # where the columns lie that a cache freezes


def provenance(model: Denoiser, name: str | None = None, revision: str | None = None) -> Plain:
    """A table that distinguishes this model's outputs from those of another, or of the same one loaded differently.

    name      as it was asked for; unset: the model's own name, else its class
    revision  of a hub id, where one was asked for

    The rest comes from attributes of `Denoiser`: family, dtype, cache, refresh, engine_name. What is not known (a
    dtype, a revision) is left out: no value is null.
    """
    kind = type(model).__name__
    table = {
        "model": name or model.name or kind,
        "revision": revision,
        "family": model.family or kind,
        "dtype": None if model.dtype is None else str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "cache": model.cache,
        "refresh": model.refresh,
        "engine": model.engine_name,
        "attention_block": model.attention_block,
        "versions": versions(),
    }
    return {key: value for key, value in table.items() if value is not None}


def versions() -> Plain:
    return {"infogain": __version__, "torch": str(torch.__version__), "python": platform.python_version()}


def checked_provenance(table: Any) -> Plain | None:
    """A provenance that was read from a file, or None where it holds none; raises TypeError for anything else."""
    if table is not None and not (isinstance(table, dict) and isinstance(table.get("versions", {}), dict)):
        raise TypeError("its provenance is no table")
    return table


def in_words(about: Plain | None) -> str:
    """A provenance as one line for people; empty for an output that has none."""
    if not about:
        return ""
    parts = [form.format(about[name]) for name, form in WORDS.items() if name in about]
    versions = about.get("versions", {})
    return ", ".join([*parts, *(f"{name} {versions[name]}" for name in ("infogain", "torch") if name in versions)])


def made_with(tables: Iterable[Plain | None]) -> str:
    """A sentence for a page that names all models behind it, each once; empty where none is known."""
    lines = dict.fromkeys(line for table in tables if (line := in_words(table)))
    return f"Made with {'; and with '.join(lines)}." if lines else ""


def approximation(about: Plain) -> str | None:
    """One line that says what is approximate, and how to be exact; None where everything is exact."""
    if about["cache"] not in FROZEN:
        return None
    often = "once per block" if about["refresh"] == 1 else f"once in {about['refresh']} blocks"
    return (
        f"cache: {about['cache']}, an approximation: columns {FROZEN[about['cache']]} the block are read {often}; "
        "cache='none' (--cache none) is exact."
    )
