"""A file of JSON lines, one per text, that can be continued, even where its writer was killed in mid-line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from infogain.cli.output_files import would_be_lost
from infogain.evals.lock import lock
from infogain.evals.run_comparison import flat
from infogain.options import Plain

BEGINNING = b'{"number": '  # every line begins so
CHANGED = {  # what to say of a change in these, which are hashes
    "input": "length, the chat template or the system message is another now",
    "made_by": "model's weights or tokenizer, or pc's table, are others now",
}
ABOUT = ("number", "id", "prompt", "input", "seed", "stop", "recipe", "provenance", "made_by")  # decide the rest
SPELLING = ("model", "revision", "frequencies")  # names of what `made_by` knows by content


class ResumableFile:
    """JSON lines on disk, one per text; what is there already is kept if it is what would be written again."""

    def __init__(self, path: Path, overwrite: bool) -> None:
        self.path, self.overwrite = path, overwrite

    def lines(self) -> dict[int, Plain]:
        """The complete lines by their texts' numbers; none if they are to be replaced. Other files are refused."""
        if self.overwrite or not self.path.is_file():  # a pipe has nothing that could be lost
            return {}
        *whole, rest = self.path.read_bytes().split(b"\n")
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            raise would_be_lost(self.path, f"line {len(whole) + 1} is no text of ours")
        parsed = [self._parse(line, at) for at, line in enumerate(whole, 1)]
        return {line["number"]: line for line in parsed}

    def _parse(self, raw: bytes, at: int) -> Plain:
        try:
            line = json.loads(raw)
            if not raw.startswith(BEGINNING) or not isinstance(line["number"], int):
                raise ValueError
        except (ValueError, KeyError) as error:
            raise would_be_lost(self.path, f"line {at} is no text of ours") from error
        return dict(line)

    @contextmanager
    def resume(self, about: Sequence[Plain]) -> Iterator[tuple[set[int], Callable[[Plain], None]]]:
        """Gives the numbers of the texts there are, and a function that adds a line; `about` must agree with them."""
        with self.path.open("ab") as file:
            lock(file, self.path)
            held = self.lines()
            for number, line in held.items():
                self._compare(number, line, about)
            if self.path.is_file():
                file.truncate(0 if self.overwrite else self.path.read_bytes().rfind(b"\n") + 1)

            def add(line: Plain) -> None:
                file.write(json_line(line).encode())
                file.flush()  # at once: what is done stays, whatever comes next

            yield set(held), add

    def _compare(self, number: int, line: Plain, about: Sequence[Plain]) -> None:
        if not 0 <= number < len(about):
            raise would_be_lost(self.path, f"it holds a text {number}, and prompts now end before that")
        there, now = (_said(x) for x in (line, about[number]))
        for name in {**there, **now}:
            if there.get(name) != now.get(name):
                was, wanted = there.get(name, "unset"), now.get(name, "unset")
                words = CHANGED.get(name) if name in there else None
                changed = words or f"{name} was {was!r:.60} and is {wanted!r:.60} now"
                raise would_be_lost(self.path, f"of text {number} the {changed}")


def _said(line: Plain) -> Plain:
    """The settings that decided a line's text, by whole names, less the names of what `made_by` knows by content."""
    said = flat(json.loads(json.dumps({key: line[key] for key in ABOUT if key in line})))
    return {name: value for name, value in said.items() if name.rpartition(".")[2] not in SPELLING}


def json_line(value: Plain, encoding: str | None = None) -> str:
    """The value as a line of JSON that loads back as it was: escaped where the encoding cannot write it as it is.

    Also where it holds signs such as U+2028, at which some readers would break the line.
    """
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value) + "\n"
    return (line if len(line.splitlines()) == 1 else json.dumps(value)) + "\n"
