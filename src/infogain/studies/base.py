"""What a study is: its cells, and what to make of their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from infogain.studies.cell import Point, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Grid:
    """A table: text is shown as it is, numbers are aligned."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    bold: list[tuple[int, int]] = field(default_factory=list)  # row and column of what stands out


class Check(NamedTuple):
    """A claim of the paper, and whether it holds here."""

    claim: str
    holds: bool
    evidence: str


class Study(ABC):
    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]  # where in the paper
    claim: ClassVar[str]  # what the paper shows there
    figure_size: ClassVar[tuple[float, float]] = (9.0, 4.2)  # inches

    @abstractmethod
    def points(self, size: str) -> list[Point]:
        """The cells, the most important first."""

    def follow(self, size: str, rows: list[Row]) -> list[Point]:
        """Cells that depend on the numbers of the first ones."""
        return []

    @abstractmethod
    def tables(self, rows: list[Row]) -> list[Grid]: ...

    @abstractmethod
    def draw(self, figure: Figure, rows: list[Row]) -> None: ...

    def checks(self, rows: list[Row]) -> list[Check]:
        """The paper's claims held against the numbers."""
        return []

    @abstractmethod
    def summary(self, rows: list[Row]) -> list[str]:
        """What came out, a sentence each."""


def percent(x: float) -> str:
    return f"{100 * x:.1f}"


def accuracy(row: Row) -> str:
    """With half of its 95 % interval."""
    low, high = row["accuracy_95"]
    return f"{percent(row['accuracy'])} ± {percent((high - low) / 2)}"


def entropy(row: Row) -> str:
    return f"{row['entropy']:.2f} ± {row['entropy_95']:.2f}"


SHOWN: dict[str, Any] = {
    "accuracy %": accuracy,
    "sound %": lambda row: percent(row["sound"]),
    "H̃": entropy,
    "forwards": lambda row: f"{row['forwards']:.1f}",
    "token-forwards": lambda row: f"{row['token_forwards']:,.0f}",
    "bypassed %": lambda row: percent(row["bypassed"]) if "bypassed" in row.numbers else "–",
    "seconds": lambda row: f"{row['seconds']:.1f}",
}


def listing(title: str, rows: list[Row], numbers: list[str], labels: list[str] | None = None) -> Grid:
    """One line per row: its labels, then these numbers."""
    names = labels or (list(rows[0].labels) if rows else [])
    lines = [
        [str(row.labels.get(name, "")) for name in names] + [SHOWN[number](row) for number in numbers] for row in rows
    ]
    return Grid(title, [*names, *numbers], lines)
