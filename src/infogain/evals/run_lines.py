"""The lines of a run as they are read back: each is checked, and one that cannot be counted is named, not believed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from infogain.options import Plain
from infogain.text.prompts import is_message

Key = tuple[str, int]  # an item and the number of a seed
Rule = tuple[str, Callable[[Any], bool]]  # what must hold, in words and as a test


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_prompt(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(map(is_message, value)))


def or_null(rule: Rule) -> Rule:
    words, holds = rule
    return f"{words} or null", lambda value: value is None or holds(value)


TEXT: Rule = ("a text", lambda value: isinstance(value, str))
WHOLE: Rule = ("a whole number", _is_whole)
NUMBER: Rule = ("a finite number", _is_number)
TABLE: Rule = ("a table", lambda value: isinstance(value, dict))
FIELDS: dict[str, Rule] = {
    "key": TABLE,
    "key.item": TEXT,
    "key.seed": WHOLE,
    "score": or_null(("0 or 1", lambda value: _is_whole(value) and value in (0, 1))),
    "prompt": ("a text or messages", _is_prompt),
    "text": TEXT,
    "answer": or_null(TEXT),
    "gold": or_null(TEXT),
    "cumulative_entropy": NUMBER,
    "forwards": WHOLE,
    "token_forwards": WHOLE,
    "committed": WHOLE,
    "choices": or_null(WHOLE),
    "bypassed": or_null(WHOLE),
    "seconds": NUMBER,
    "seed": WHOLE,
    "finish": TEXT,
    "note?": TEXT,
    "trace?": TEXT,
    "provenance?": TABLE,
}


class BadLine(NamedTuple):
    number: int  # the first is 1
    raw: bytes
    why: str


class RunLines(NamedTuple):
    good: list[Plain]  # each item and seed once: the first of several counts
    bad: list[BadLine]
    repeated: int  # whole lines that tell of an item and seed again


def key_of(line: Plain) -> Key:
    return line["key"]["item"], line["key"]["seed"]


def read_lines(path: Path) -> RunLines:
    """All whole lines of a file. The last one is left out where a writer that was killed has cut it short."""
    found, bad, repeated = dict[Key, Plain](), list[BadLine](), 0
    for number, raw in enumerate(_whole(path), 1):
        try:
            line = _parse(raw)
        except (ValueError, RecursionError) as error:
            bad.append(BadLine(number, raw, str(error)))
            continue
        repeated += key_of(line) in found
        found.setdefault(key_of(line), line)
    return RunLines(list(found.values()), bad, repeated)


def set_aside(path: Path, bad: list[BadLine], aside: Path) -> None:
    """Move these lines to a file of their own. Killed in between, nothing is lost: they may stand in both."""
    with aside.open("ab") as file:
        file.writelines(line.raw + b"\n" for line in bad)
        file.flush()
        os.fsync(file.fileno())
    numbers = {line.number for line in bad}
    draft = path.with_suffix(".new")
    draft.write_bytes(b"".join(raw + b"\n" for i, raw in enumerate(_whole(path), 1) if i not in numbers))
    os.replace(draft, path)


def check(table: Any, rules: dict[str, Rule]) -> None:
    """Raise what is wrong with a table. `key.item` is the item in its key; what ends in ? may be missing."""
    if not isinstance(table, dict):
        raise ValueError(f"it must be a table; got {table!r:.60}")
    for name, (words, holds) in rules.items():
        path = name.removesuffix("?")
        outer, _, last = path.rpartition(".")
        inner = reduce(_part, outer.split("."), table) if outer else table
        if isinstance(inner, dict) and last in inner:
            if not holds(inner[last]):
                raise ValueError(f"{path} must be {words}; got {inner[last]!r:.60}")
        elif path == name:
            raise ValueError(f"{path} is missing")


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _whole(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def _parse(raw: bytes) -> Plain:
    line: Plain = json.loads(raw)
    check(line, FIELDS)
    return line
