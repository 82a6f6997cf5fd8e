"""What happened in a decode: every step's candidates and scores, as JSON lines that load back, and its story retold.

Recording keeps small tensors on the device and reads nothing back while decoding runs.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from torch import Tensor

from infogain.errors import InputError
from infogain.options import Plain
from infogain.provenance import checked_provenance

VERSION = 1
PNG = re.compile("data:image/png;base64,[A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True)
class Candidate:
    columns: list[int]
    tokens: list[int]
    score: float
    cost: float  # H̃ after it
    kept: bool  # it survived its step


@dataclass(frozen=True)
class Row:
    """One hypothesis in one step."""

    prompt: int  # the row it belongs to, by its number in the lane
    copy: int  # the attempt it belongs to, by its number in the row
    start: int  # of its block
    columns: list[int]  # still masked
    entropy: list[float]  # of those columns
    candidates: list[Candidate]


@dataclass
class TraceStep:
    """One step of a lane, whose `rows` are read from the device when first asked for."""

    step: int
    _rows: list[Row] | Callable[[], list[Row]]

    @property
    def rows(self) -> list[Row]:
        if callable(self._rows):
            self._rows = self._rows()
        return self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceStep) and (self.step, self.rows) == (other.step, other.rows)

    def of_row(self, number: int, step: int) -> TraceStep:
        """This step as though that row were the only one."""
        return TraceStep(
            step, lambda: [dataclasses.replace(row, prompt=0) for row in self.rows if row.prompt == number]
        )


def read_rows(rows: Sequence[int], copies: Sequence[int], tensors: Sequence[Tensor]) -> list[Row]:
    """The hypotheses of a step, each with its candidates, from the tensors that `StepEvent.record` keeps."""
    start, masked, entropy, parent, chosen, tokens, score, cost, kept = (x.tolist() for x in tensors)
    found = [
        Row(row, copy, first, *_marked(first, *block), [])
        for row, copy, first, *block in zip(rows, copies, start, masked, entropy, strict=True)
    ]
    survivors = set(kept)
    for m, r in enumerate(parent):
        columns, written = _marked(start[r], chosen[m], tokens[m])
        found[r].candidates.append(Candidate(columns, written, score[m], cost[m], m in survivors))
    return found


def _marked(start: int, marks: list[bool], values: list[Any]) -> tuple[list[int], list[Any]]:
    """The columns that are marked in a block, and their values."""
    where = [w for w, is_marked in enumerate(marks) if is_marked]
    return [start + w for w in where], [values[w] for w in where]


@dataclass(frozen=True)
class TraceImage:
    """Where a canvas holds images: grids of codes, row by row, which stand for patches of a picture."""

    height: int  # of the grid of codes
    width: int
    starts: list[int]  # the column of the first code, in each row of the canvas
    pictures: list[str]  # the finished images as data URIs of PNG files, one for each row

    def __post_init__(self) -> None:
        """Refuse all pictures but PNG files in full: a page shows them, and must not fetch what a file names."""
        for number, picture in enumerate(self.pictures):
            if not (isinstance(picture, str) and PNG.fullmatch(picture)):
                raise InputError(
                    f"the pictures of a trace must be PNG files as data URIs, data:image/png;base64,…; that of row "
                    f"{number} is {picture!r:.60}. Was the file edited? Decode again with --trace."
                )

    def check(self, canvas: Sequence[Sequence[int]]) -> None:
        """Refuse a canvas whose rows do not hold such grids."""
        sizes = [self.height, self.width, *(start + 1 for start in self.starts)]
        if not all(type(size) is int and size > 0 for size in sizes):
            raise InputError(f"the grids of a trace must have at least one code; got {self.height}×{self.width}.")
        ends = [start + self.height * self.width for start in self.starts]
        if not len(ends) == len(self.pictures) == len(canvas):
            raise InputError(
                f"a trace must have a start and a picture for each of its {len(canvas)} rows; "
                f"it has {len(ends)} and {len(self.pictures)}."
            )
        for number, (end, row) in enumerate(zip(ends, canvas, strict=True)):
            if end > len(row):
                raise InputError(
                    f"a row of a trace must hold its {self.height}×{self.width} codes; they end at column {end} of "
                    f"row {number}, which has {len(row)}."
                )


@dataclass(repr=False)
class Trace:
    """`steps` in order, where survivors keep theirs: an attempt's rows are what its last step kept, one for one."""

    recipe: Plain
    mask_id: int
    canvas: list[list[int]]  # as decoding began
    rows: list[list[int]] = field(default_factory=list)  # as it ended; empty until then
    words: dict[int, str] | None = None  # the text of token ids, where known
    provenance: Plain | None = field(default=None, compare=False)  # which model it was, and how it ran
    steps: list[TraceStep] = field(default_factory=list)
    image: TraceImage | None = None  # where the rows hold images

    def __repr__(self) -> str:
        return f"Trace({len(self.canvas)} rows, {len(self.steps)} steps)"

    def save(self, path: str | Path) -> None:
        """JSON lines: a header, a line per step, and the final rows."""
        with Path(path).open("w") as file:
            file.writelines(json.dumps(line) + "\n" for line in self._lines())

    def _lines(self) -> Iterator[Plain]:
        header = {"recipe": self.recipe, "mask_id": self.mask_id, "canvas": self.canvas}
        image = self.image and dataclasses.asdict(self.image)
        known = {"words": self.words, "provenance": self.provenance, "image": image}
        known = {name: value for name, value in known.items() if value is not None}
        yield {"kind": "header", "version": VERSION, **header, **known}
        for step in self.steps:
            yield {"kind": "step", "step": step.step, "rows": [dataclasses.asdict(row) for row in step.rows]}
        yield {"kind": "end", "rows": self.rows}

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace back. One that was cut short loads up to its last whole step."""
        try:
            *whole, _ = Path(path).read_text().split("\n")  # what stands behind the last break was cut short
            header, *rest = map(json.loads, whole)
            if header["kind"] != "header" or header["version"] != VERSION:
                raise ValueError(f"the first line is no header of version {VERSION}")
            trace = cls(header["recipe"], header["mask_id"], header["canvas"])
            words = header.get("words")
            trace.words = words and {int(token): str(text) for token, text in words.items()}  # JSON's keys are texts
            trace.provenance = checked_provenance(header.get("provenance"))
            trace.image = _image(header["image"], trace.canvas) if "image" in header else None
            for line in rest:
                if line["kind"] == "end":
                    trace.rows = line["rows"]
                else:
                    trace.steps.append(TraceStep(line["step"], [_row(row) for row in line["rows"]]))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"a trace must be the JSON lines that Trace.save writes; {path} is not: {error}."
            ) from error
        return trace


def _image(table: Plain, canvas: Sequence[Sequence[int]]) -> TraceImage:
    image = TraceImage(**table)
    image.check(canvas)
    return image


def _row(row: Plain) -> Row:
    return Row(**{**row, "candidates": [Candidate(**candidate) for candidate in row["candidates"]]})


@dataclass(frozen=True)
class Hypothesis:
    """One canvas on its way, with the moves that led to it."""

    tokens: list[int]
    cost: float = 0.0  # H̃ so far
    fresh: Sequence[int] = ()  # columns that the last step wrote
    moves: tuple[tuple[Row, Candidate], ...] = ()  # as it stood before each step, and what was written
    entropy: dict[int, float] = field(default_factory=dict)  # of each column, as it was when last masked
    stopped: bool = False  # its block ended with an EOS

    def after(self, row: Row, candidate: Candidate, eos_ids: Sequence[int]) -> Hypothesis:
        tokens = list(self.tokens)
        for column, token in zip(candidate.columns, candidate.tokens, strict=True):
            tokens[column] = token
        ends_block, moves = set(candidate.columns) == set(row.columns), (*self.moves, (row, candidate))
        written = (column for there, its in moves if there.start == row.start for column in its.columns)
        return Hypothesis(
            tokens=tokens,
            cost=candidate.cost,
            fresh=candidate.columns,
            moves=moves,
            entropy={**self.entropy, **dict(zip(row.columns, row.entropy, strict=True))},
            stopped=self.stopped or (ends_block and any(tokens[column] in eos_ids for column in written)),
        )


class Story:
    def __init__(self, trace: Trace) -> None:
        """`trace` says where decoding begins; `follow` tells what happens next."""
        self.mask_id = trace.mask_id
        self.prompts = trace.canvas
        self.step = 0  # steps followed
        self._eos_ids: Sequence[int] = trace.recipe.get("eos_ids", ())
        self._groups: dict[tuple[int, int], list[Hypothesis]] = {}  # by prompt and independent copy
        self._winner: dict[int, int] = {}  # the copy each prompt's answer comes from, where the end is known

    def follow(self, step: TraceStep) -> None:
        for (prompt, copy), rows in groupby(step.rows, key=lambda row: (row.prompt, row.copy)):
            self._groups[prompt, copy] = self._advance(prompt, copy, list(rows))
        self.step += 1

    def foretell(self, end: Story) -> None:
        """Show the copies that win in the end, so that a replay does not jump between them."""
        last_moves = [end.best(prompt).moves[-1:] for prompt in range(len(self.prompts))]
        self._winner = {row.prompt: row.copy for moves in last_moves for row, _ in moves}

    def best(self, prompt: int) -> Hypothesis:
        """The hypothesis of least H̃, which is how the decode picks its answer."""
        copy = self._winner.get(prompt)
        known = [h for (p, c), hs in self._groups.items() if p == prompt and copy in (None, c) for h in hs]
        return min(known, key=lambda h: h.cost, default=Hypothesis(self.prompts[prompt]))

    def _advance(self, prompt: int, copy: int, rows: list[Row]) -> list[Hypothesis]:
        """Survivors keep their order, so an attempt's rows are the candidates kept in its last step, one for one."""
        before = self._groups.get((prompt, copy), [Hypothesis(self.prompts[prompt])])
        stopped = [h for h in before if h.stopped] if len(before) != len(rows) else []
        continuing = [h for h in before if h not in stopped]
        after = [
            parent.after(row, candidate, self._eos_ids)
            for parent, row in zip(continuing, rows, strict=True)
            for candidate in row.candidates
            if candidate.kept
        ]
        return stopped + after


def tell(trace: Trace, name: str) -> Story:
    """The whole story of a saved trace; `name` tells the reader of an error which trace it is about."""
    story = Story(trace)
    for step in trace.steps:
        try:
            story.follow(step)
        except (IndexError, ValueError) as error:
            raise InputError(
                f"the steps of a trace must follow from each other; step {step.step} of {name} does not. "
                "Was the file edited? Decode again with --trace."
            ) from error
    return story
