"""The contract of a study: its cells, and what to make of their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from infogain.evals.intervals import Interval
from infogain.load import find_checkpoint
from infogain.report.numbers import grouped, number, percent
from infogain.report.plots import Figure, error_bars
from infogain.report.tables import Table
from infogain.studies.cell import CellResult, Point
from infogain.studies.independent import interval, paired
from infogain.studies.subject import Subject
from infogain.text.alphabet import Alphabet

Columns = dict[str, Callable[[CellResult], str]]  # of a table: what each says of a row
MANY = 3  # names in a list; of more, how many


class Check(NamedTuple):
    """A claim of the paper, and whether it holds here; None where the interval of what was measured leaves it open."""

    claim: str
    holds: bool | None
    evidence: str


class Study(ABC):
    """A question that is answered by decoding cells."""

    name: str
    title: str
    source: ClassVar[str]  # where in the paper
    claim: ClassVar[str]  # what the paper shows there
    model: str = "zoo:tiny-reason"  # that knows its tasks; unset, it is asked
    figure_size: ClassVar[tuple[float, float]] = (9.0, 4.2)  # inches

    @abstractmethod
    def points(self, size: str) -> list[Point]:
        """The cells, the most important first."""

    def points_for(self, size: str, subject: Subject) -> list[Point]:
        """The cells for a model. Most studies ask all models the same."""
        return self.points(size)

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        """Further cells, which depend on the numbers of all that are finished; none where nothing is left to ask."""
        return []

    def suits(self, subject: Subject) -> bool:
        """Whether a model can be asked: any in chat, of the zoo one that is written in the same alphabet."""
        if subject.writes_images:
            return False
        return not subject.is_zoo or subject.alphabet == Alphabet.load(find_checkpoint(self.model))

    @abstractmethod
    def tables(self, rows: list[CellResult]) -> list[Table]: ...

    @abstractmethod
    def draw(self, figure: Figure, rows: list[CellResult]) -> None: ...

    def checks(self, rows: list[CellResult]) -> list[Check]:
        """The paper's claims, each held against the numbers."""
        return []

    @abstractmethod
    def summary(self, rows: list[CellResult]) -> list[str]:
        """Sentences that say what came out."""


def accuracy_bars(rows: Sequence[CellResult]) -> list[list[float]]:
    """Error bars of accuracies in per cent."""
    return error_bars([interval(row, "accuracy") for row in rows])


def accuracy(row: CellResult) -> str:
    return interval(row, "accuracy").show(scale=100)


def entropy(row: CellResult) -> str:
    return interval(row, "entropy").show(digits=2)


def said_of(row: CellResult) -> str:
    """How often it was right and at what cost, for a sentence: `97.0 % (H̃ 1.25)`."""
    return f"{percent(row['accuracy'])} % (H̃ {row['entropy']:.2f})"


def points(gap: Interval) -> str:
    """A difference between shares as text, in percentage points."""
    return gap.show(scale=100, signed=True)


def all_above_zero(gaps: Iterable[Interval]) -> bool | None:
    """Whether every difference is positive: no where one is negative, None where one is not decided."""
    found = {gap.above() for gap in gaps}
    return None if None in found and False not in found else False not in found


def beats(claim: str, one: CellResult, other: CellResult) -> Check:
    """Whether one was right more often than the other on the same problems."""
    gap = paired(one, other)
    shares = f"{percent(one['accuracy'])} against {percent(other['accuracy'])} %"
    return Check(claim, gap.above(), f"{shares}, {points(gap)}")


def leaders(rows: Sequence[CellResult], label: str) -> str:
    """Who is right most often, as it is shown, and who shares that: `Best: entropy and margin with 97.0 % each`."""
    top = percent(max(row["accuracy"] for row in rows))
    best = [row[label] for row in rows if percent(row["accuracy"]) == top]
    if len(best) == len(rows) > 1:
        return f"All have {top} %: the task does not tell them apart"
    if len(best) > MANY:
        return f"Best: {len(best)} of {len(rows)} share {top} %"
    names = [name if isinstance(name, str) else f"{label} = {name:g}" for name in best]
    return f"Best: {' and '.join(names)} with {top} %{' each' if len(names) > 1 else ''}"


SHOWN: Columns = {
    "accuracy %": accuracy,
    "sound %": lambda row: percent(row["sound"]),
    "H̃": entropy,
    "forwards": lambda row: number(row["forwards"]),
    "token-forwards": lambda row: grouped(row["token_forwards"]),
    "bypassed %": lambda row: percent(row.numbers.get("bypassed")),
    "seconds": lambda row: number(row["seconds"]),
}


def listing(title: str, rows: list[CellResult], numbers: Sequence[str], labels: Sequence[str] = ()) -> Table:
    """One line per row: its labels, these or all, then these numbers."""
    names = labels or list(rows[0].labels if rows else ())
    said: Columns = {name: lambda row, name=name: str(row.labels.get(name, "")) for name in names}  # type: ignore[misc]
    return tabulate(title, rows, {**said, **{name: SHOWN[name] for name in numbers}}, text_columns=len(names))


def tabulate(title: str, rows: Sequence[CellResult], columns: Columns, text_columns: int = 1) -> Table:
    """One line per row: what each column says of it."""
    return Table(list(columns), [[say(row) for say in columns.values()] for row in rows], text_columns, title)
