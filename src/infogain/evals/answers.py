"""Answers found in a text: what its boxes hold, and whether that is the gold answer as mathematics."""

from __future__ import annotations

import re
from typing import NamedTuple

from infogain.evals.math_process import compare

BRACES = re.compile(r"\\[{}]|(\\(?:boxed|fbox)\s*)?([{}])")
BETWEEN_BOXES = re.compile(r"[\s$,;]*(?:and|or|\\text\{ *(?:and|or) *\})?[\s$,;]*(?:[A-Za-z] *= *)?")


class Box(NamedTuple):
    r"""The places in a text where a \boxed{…} begins, and where its content begins and ends."""

    begin: int
    start: int
    end: int


def boxes(text: str) -> list[Box]:
    r"""The \boxed{…} of a text that are whole, in the order of their beginnings; found in one pass."""
    unclosed, found = list[re.Match[str]](), list[Box]()
    for brace in BRACES.finditer(text):
        if brace[2] == "{":
            unclosed.append(brace)
        elif brace[2] == "}" and unclosed and (opening := unclosed.pop())[1]:
            found.append(Box(opening.start(), opening.end(), brace.start()))
    return sorted(found)


def boxed(text: str) -> str | None:
    r"""What the last \boxed{…} holds, its own braces included; None where there is no whole one."""
    found = boxes(text)
    return text[found[-1].start : found[-1].end].strip() if found else None


def last_boxes(text: str) -> str | None:
    r"""What the last box holds, after those right before it: "\boxed{1} and \boxed{2}" is 1, 2."""
    found = boxes(text)
    first = len(found) - 1
    while first > 0 and BETWEEN_BOXES.fullmatch(text, found[first - 1].end + 1, found[first].begin):
        first -= 1
    return ", ".join(text[box.start : box.end].strip() for box in found[first:]) if found else None


def equal(gold: str, answer: str) -> bool:
    """Is the answer the gold one, as mathematics? Units may be left out; bases, brackets of a list and unknowns not."""
    return compare(gold, answer).right
