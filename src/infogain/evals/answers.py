"""Answers in mathematics: found in a text, and compared by math-verify."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from infogain.errors import InputError

NUMBER = r"(?<![0-9.])(?:(?<![0-9)}])-)?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
WORDS = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")
SIGNS = re.compile(r"\\[$%,;! ]|\{,\}|[$%]")
BASE = re.compile(r"[0-9]_\{?([0-9]+)\}?")  # 40_9 is 36
PATIENCE = 5  # seconds for a comparison


def boxed(text: str) -> str | None:
    r"""What the last \boxed{…} holds, its own braces included; None where there is no whole one."""
    for found in reversed(list(re.finditer(r"\\(?:boxed|fbox)\s*\{", text))):
        depth = 1
        for end in range(found.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
            if depth == 0:
                return text[found.end() : end].strip()
    return None


def last_number(text: str) -> str | None:
    """With its sign, without commas: "$1,200." holds 1200."""
    found: list[str] = re.findall(NUMBER, text)
    return found[-1].replace(",", "") if found else None


def only_number(text: str) -> str | None:
    """The number, where a short answer holds one and no mathematics besides: "70{,}000\\text{ dollars}"."""
    bare = SIGNS.sub(lambda sign: "," if sign[0] == "{,}" else "", WORDS.sub(r"\1", text))
    found = re.findall(NUMBER, bare)
    return last_number(bare) if len(found) == 1 and not re.search(r"[\\^/*+]", bare) else None


def equal(gold: str, answer: str) -> bool:
    """Is the answer the gold one, as mathematics? Units may be left out; bases, brackets of a list and unknowns not."""
    if BASE.findall(gold) != BASE.findall(answer) or is_bracketed_list(gold) != is_bracketed_list(answer):
        return False
    with _math_verify() as (library, patience):
        ours, theirs = (library.parse(rf"\boxed{{{text}}}", parsing_timeout=patience) for text in (gold, answer))
        if is_equation(theirs) and not is_equation(ours):
            return False
        return bool(library.verify(ours, theirs, timeout_seconds=patience))


def is_bracketed_list(text: str) -> bool:
    """A point or an interval, and not several numbers."""
    bare = re.sub(r"\\left|\\right|\s|.*=|.*\\in\b", "", text)
    return "," in bare and bare.startswith(("(", "["))


def is_equation(parsed: list[Any]) -> bool:
    """5x + 7 = 0, whose right side is no answer; in x = 5 it is one."""
    left = getattr(parsed[0], "lhs", None) if parsed else None
    return left is not None and bool(left.free_symbols) and not (left.is_Symbol or left.is_Function)


def final_expression(text: str) -> str | None:
    """The last expression of a text without a box, as math-verify finds it."""
    with _math_verify() as (library, patience):
        found = library.parse(text, parsing_timeout=patience)
    return next((part for part in found if isinstance(part, str)), None)


@contextmanager
def _math_verify() -> Iterator[tuple[Any, int | None]]:
    """The library, quiet about answers it cannot make sense of, and the seconds it may take over one.

    It keeps time with a signal, which the main thread alone can receive.
    """
    try:
        import math_verify
    except ModuleNotFoundError as error:
        raise InputError("answers in mathematics are compared by math-verify: pip install 'infogain[eval]'.") from error
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield math_verify, PATIENCE if threading.current_thread() is threading.main_thread() else None
