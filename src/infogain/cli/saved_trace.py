"""Loads saved traces, and the text of their token ids."""

from __future__ import annotations

import json
from pathlib import Path

from infogain.errors import InputError
from infogain.loop.trace import Trace
from infogain.models.toys import load_toy


def load_trace(path: Path) -> Trace:
    try:
        return Trace.load(path)
    except InputError as error:
        if not _holds_texts(path):
            raise
        raise InputError(
            f"a trace must be one that was saved; {path} holds texts, as generate writes them. "
            "Run generate with --traces FOLDER, and name a file of that folder."
        ) from error


def _holds_texts(path: Path) -> bool:
    try:
        first = json.loads(path.read_text(encoding="utf-8").partition("\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and {"text", "tokens", "recipe"} <= first.keys()


def token_texts(trace: Trace, toy: str | None, path: Path) -> dict[int, str] | None:
    """The text of each token id: of the toy, if one is named, or else what the trace itself carries, if anything."""
    if toy is None:
        return trace.words
    known = load_toy(toy)
    if trace.mask_id != known.model.mask_id:
        raise InputError(
            f"the trace must be of the toy {toy}, whose mask has the id {known.model.mask_id}; "
            f"{path} has {trace.mask_id}. Drop --toy to see the ids."
        )
    return dict(enumerate(known.alphabet))
