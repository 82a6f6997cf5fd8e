"""Pictures in a labelled grid: a name above each picture or each column, a name beside each row, a line below all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infogain.images.pixels import check_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

LETTER, LINE = 14, 18  # pixels: the size of the letters, and from one line to the next
GAP = 8  # between pictures, and around them all
BESIDE = 150  # at most so wide are the names of rows
MOST_LINES = 4  # of a name; a longer one is cut, and ends with three dots
PAPER, INK, EMPTY = "#FFFFFF", "#222222", "#E4E4E4"
MISSING = "not decoded"


@dataclass(frozen=True)
class GridCell:
    """A picture and its name; None where there is no picture."""

    picture: Image | None
    label: str = ""


def labelled_grid(cells: Sequence[Sequence[GridCell]], rows: Sequence[str] = (), below: Image | None = None) -> Image:
    """Pictures of one size in rows, with names of `rows` beside them and something `below` that explains them."""
    check_pillow()
    from PIL import Image

    pen = _Pen([cell.picture for line in cells for cell in line if cell.picture])
    labels = [[pen.lines(cell.label, pen.width) for cell in line] for line in cells]
    beside = [pen.lines(label, BESIDE) for label in rows]
    left = GAP + max((GAP + pen.measure(lines) for lines in beside if lines), default=0)
    heads = [LINE * max(map(len, line)) for line in labels]
    width = left + max(map(len, cells)) * (pen.width + GAP)
    height = GAP + sum(head + pen.height + GAP for head in heads)
    size = (max(width, below.width + 2 * GAP), height + below.height + GAP) if below else (width, height)
    paper = Image.new("RGB", size, PAPER)
    top = GAP
    for i, line in enumerate(cells):
        pen.draw_row(paper, line, labels[i], (left, top, heads[i]))
        if i < len(beside):
            pen.write(paper, beside[i], GAP, top + heads[i] + (pen.height - LINE * len(beside[i])) // 2)
        top += heads[i] + pen.height + GAP
    if below:
        paper.paste(below, (left if left + below.width <= width else GAP, top))
    return paper


class _Pen:
    """Draws cells of one size, and names in Pillow's own font."""

    def __init__(self, pictures: Sequence[Image]) -> None:
        from PIL import ImageFont

        self.font: Any = ImageFont.load_default(LETTER)
        self.width, self.height = max(one.width for one in pictures), max(one.height for one in pictures)

    def measure(self, lines: Sequence[str]) -> int:
        return math.ceil(max(map(self.font.getlength, lines), default=0))

    def lines(self, text: str, width: int) -> list[str]:
        """A text in lines of at most so many pixels, broken between words where it can be."""
        found: list[str] = []
        for word in " ".join(text.split()).split(" ") if text.strip() else []:
            if found and self.font.getlength(f"{found[-1]} {word}") <= width:
                found[-1] += f" {word}"
            else:
                found += self._broken(word, width)
        return found if len(found) <= MOST_LINES else [*found[: MOST_LINES - 1], "..."]

    def _broken(self, word: str, width: int) -> list[str]:
        parts = [""]
        for sign in word:
            fits = self.font.getlength(parts[-1] + sign) <= width
            parts = [*parts[:-1], parts[-1] + sign] if fits or not parts[-1] else [*parts, sign]
        return parts

    def draw_row(
        self, paper: Image, cells: Sequence[GridCell], labels: Sequence[list[str]], at: tuple[int, int, int]
    ) -> None:
        """Draw a row of cells from (left, top), below names that are so many pixels high."""
        left, top, head = at
        for cell, label in zip(cells, labels, strict=True):
            self.write(paper, label, left, top + head - LINE * len(label))
            paper.paste(cell.picture or EMPTY, (left, top + head, *self._end(cell.picture, left, top + head)))
            if cell.picture is None:
                self.write(paper, self.lines(MISSING, self.width), left + 2, top + head + 2)
            left += self.width + GAP

    def _end(self, picture: Image | None, left: int, top: int) -> tuple[int, int]:
        width, height = picture.size if picture else (self.width, self.height)
        return left + width, top + height

    def write(self, paper: Image, lines: Sequence[str], left: int, top: int) -> None:
        from PIL import ImageDraw

        for i, line in enumerate(lines):
            ImageDraw.Draw(paper).text((left, top + i * LINE), line, INK, font=self.font)


def in_rows(cells: Sequence[GridCell]) -> list[list[GridCell]]:
    """Cells of one kind in rows, about as many as each has cells; few of them in one."""
    columns = columns_of(len(cells))
    return [list(cells[i : i + columns]) for i in range(0, len(cells), columns)]


def columns_of(count: int) -> int:
    """How many of so many pictures stand in a row: all of a few, or so many that the last row is full, where it can."""
    if count <= 5:
        return count
    square = math.ceil(math.sqrt(count))
    return next((c for c in range(square, math.ceil(1.5 * square) + 1) if count % c == 0), square)
