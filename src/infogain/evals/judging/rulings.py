"""What judges have said, as lines of JSON on disk: nothing is asked twice, and a killed process loses nothing.

Each line has
    key      hash of what decides the ruling: the judge's model and options, the template, the instruction, and both
             texts in the order they were shown; it does not matter which run they are of
    ruling   first, second or tie; refused or malformed, which are counted and never guessed
    reply    what the judge said; null if it refused without a word
    judge    its model; host: where it was asked; template: the version of the question
    asked    the beginning of the instruction, for people
    usage    tokens, as the server counted them; left out where it did not say
    made     when (ISO 8601, UTC), and by which version of infogain
Of several lines with one key the last counts: refused and malformed ones may be asked again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.evals.judging.judge_prompt import RULINGS
from infogain.evals.lock import lock
from infogain.evals.run_lines import TEXT, Rule, check
from infogain.options import Plain

LOG = logging.getLogger("infogain")
BEGINNING = b'{"key": '  # every line begins so
FIELDS: dict[str, Rule] = {
    "key": TEXT,
    "ruling": (f"one of {', '.join(RULINGS)}", lambda value: value in RULINGS),
    "judge": TEXT,
    "host": TEXT,
}


class RulingsFile:
    """Rulings on disk, by their keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Plain]:
        """The last whole line of each key. A line that cannot be read is reported and left out, and asked again."""
        found: dict[str, Plain] = {}
        for number, raw in enumerate(self._whole(), 1):
            try:
                line: Any = json.loads(raw)
                check(line, FIELDS)
            except (ValueError, RecursionError) as error:
                LOG.warning("%s, line %d: must be a ruling; %s. It is left out.", self.path, number, error)
                continue
            found[line["key"]] = line
        return found

    def _whole(self) -> list[bytes]:
        """The lines that were written to their end; a file that was never ours is refused."""
        if not self.path.exists():
            return []
        *whole, rest = self.path.read_bytes().split(b"\n")
        first = whole[0] if whole else rest
        if not (first.startswith(BEGINNING) or BEGINNING.startswith(first)):
            raise InputError(
                f"{self.path} must hold rulings of a judge; its first line is none. Name another --rulings."
            )
        return whole

    @contextmanager
    def writing(self) -> Iterator[Callable[[Plain], None]]:
        """Gives a function that adds a line. What a killed process left half written is cut off first."""
        self._whole()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            lock(file, self.path)
            file.truncate(self.path.read_bytes().rfind(b"\n") + 1)

            def add(line: Plain) -> None:
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()  # at once: what was asked stays, whatever comes next

            yield add
