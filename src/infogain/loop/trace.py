"""The story of a decode: every step's candidates and scores, as JSON lines that load back.

Recording keeps small tensors of the device and reads nothing back while decoding runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from infogain.errors import InputError
from infogain.options import Plain

VERSION = 1


@dataclass(frozen=True)
class Candidate:
    columns: list[int]
    tokens: list[int]
    score: float
    cost: float  # H̃ after it
    kept: bool


@dataclass(frozen=True)
class Row:
    """One hypothesis in one step."""

    prompt: int
    copy: int
    start: int  # of its block
    columns: list[int]  # still masked
    entropy: list[float]  # of those columns
    candidates: list[Candidate]


@dataclass(frozen=True)
class TraceStep:
    step: int
    rows: list[Row]


@dataclass(eq=False)
class StepRecord:
    """One step of a lane as traces keep it: small tensors on the device, which are read when first asked for."""

    step: int
    prompt: list[int]
    copy: list[int]
    tensors: Sequence[Tensor]

    @cached_property
    def read(self) -> TraceStep:
        start, masked, entropy, parent, chosen, tokens, score, cost, kept_index = (x.tolist() for x in self.tensors)
        self.tensors = ()
        kept = set(kept_index)
        by_row: list[list[Candidate]] = [[] for _ in self.prompt]
        for m, r in enumerate(parent):
            where = [w for w, is_chosen in enumerate(chosen[m]) if is_chosen]
            columns, words = [start[r] + w for w in where], [tokens[m][w] for w in where]
            by_row[r].append(Candidate(columns, words, score[m], cost[m], m in kept))
        rows = []
        for r, candidates in enumerate(by_row):
            where = [w for w, is_masked in enumerate(masked[r]) if is_masked]
            columns, uncertain = [start[r] + w for w in where], [entropy[r][w] for w in where]
            rows.append(Row(self.prompt[r], self.copy[r], start[r], columns, uncertain, candidates))
        return TraceStep(self.step, rows)


@dataclass(eq=False, repr=False)
class Trace:
    """`steps` in order, where survivors keep theirs: an attempt's rows are what its last step kept, one for one;
    `canvas` as decoding began, `rows` as it ended (empty until then); `words` the text of token ids, where known;
    `provenance` says which model it was, and how it ran (older files do not)."""

    recipe: Plain
    mask_id: int
    canvas: list[list[int]]
    rows: list[list[int]] = field(default_factory=list)
    words: dict[int, str] | None = None
    provenance: Plain | None = None
    records: list[StepRecord] = field(default_factory=list)  # not yet read
    row: int | None = None  # whose steps alone; unset: those of all rows
    _steps: list[TraceStep] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Trace({len(self.canvas)} rows, {len(self._steps) + len(self.records)} steps)"

    def __eq__(self, other: object) -> bool:
        """Whether the same happened, whichever model it was."""
        return isinstance(other, Trace) and list(self._lines()) == list(other._lines())

    __hash__ = None  # type: ignore[assignment]

    @property
    def steps(self) -> list[TraceStep]:
        """Every step, or where it is one row's trace, every step of that row as though it were the only one."""
        for record in self.records:
            step = record.read
            if self.row is not None:
                own = [dataclasses.replace(row, prompt=0) for row in step.rows if row.prompt == self.row]
                step = TraceStep(len(self._steps), own)
            self._steps.append(step)
        self.records = []
        return self._steps

    def save(self, path: str | Path) -> None:
        """JSON lines: a header, a line per step, and the final rows."""
        with Path(path).open("w") as file:
            for line in self._lines(self.provenance):
                file.write(json.dumps(line) + "\n")

    def _lines(self, provenance: Plain | None = None) -> Iterator[Plain]:
        yield {
            "kind": "header",
            "version": VERSION,
            "recipe": self.recipe,
            "mask_id": self.mask_id,
            "canvas": self.canvas,
            **({"words": self.words} if self.words is not None else {}),
            **({"provenance": provenance} if provenance is not None else {}),
        }
        for step in self.steps:
            yield {"kind": "step", **dataclasses.asdict(step)}
        yield {"kind": "end", "rows": self.rows}

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace back. One that was cut short loads up to its last whole step."""
        try:
            lines = [json.loads(line) for line in _whole_lines(Path(path))]
            header, *rest = lines
            if header["kind"] != "header" or header["version"] != VERSION:
                raise ValueError(f"the first line is no header of version {VERSION}")
            trace = cls(header["recipe"], header["mask_id"], header["canvas"], words=_words(header.get("words")))
            trace.provenance = _provenance(header.get("provenance"))
            for line in rest:
                if line["kind"] == "end":
                    trace.rows = line["rows"]
                else:
                    trace._steps.append(TraceStep(line["step"], [_row(row) for row in line["rows"]]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"a trace must be the JSON lines that Trace.save writes; {path} is not: {error}."
            ) from error
        return trace


def _whole_lines(path: Path) -> list[str]:
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def _words(words: dict[str, str] | None) -> dict[int, str] | None:
    """JSON knows strings as keys only."""
    return None if words is None else {int(token): str(text) for token, text in words.items()}


def _provenance(table: Any) -> Plain | None:
    if table is not None and not (isinstance(table, dict) and isinstance(table.get("versions", {}), dict)):
        raise TypeError("its provenance is no table")
    return table


def _row(row: Plain) -> Row:
    return Row(**{**row, "candidates": [Candidate(**candidate) for candidate in row["candidates"]]})
