"""The text of a saved trace's token ids: of the toy it is named after, or the words it carries."""

from __future__ import annotations

from pathlib import Path

from infogain.errors import InputError
from infogain.models.toys import load_toy
from infogain.trace import Trace


def words_of(trace: Trace, toy: str | None, path: Path) -> dict[int, str] | None:
    if toy is None:
        return trace.words
    alphabet = load_toy(toy).alphabet
    highest = max((token for row in [*trace.canvas, *trace.rows] for token in row), default=0)
    if max(highest, trace.mask_id) >= len(alphabet):
        raise InputError(
            f"the trace must be of the toy {toy}, whose token ids are below {len(alphabet)}; "
            f"{path} holds {max(highest, trace.mask_id)}. Drop --toy to see the ids."
        )
    return dict(enumerate(alphabet))
