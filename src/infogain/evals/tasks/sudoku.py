"""Sudoku 4×4, posed as a grid with holes after worked examples.

3102 2000 0210 0320 (0 is a blank) → 3142 2431 4213 1324, or any other grid that keeps the rules and the givens
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from infogain.evals.source import Record
from infogain.evals.task import EvalTask, Item, ItemScore, Shot
from infogain.text.text_model import TextModel
from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import fits
from infogain.zoo.tasks.sudoku import Sudoku as Grids
from infogain.zoo.tasks.sudoku import is_grid

DIGITS = "1234"  # the benchmark's; those of the zoo's puzzles are any four
GRIDS = Grids("sudoku", 4, DIGITS, givens=(4, 8))
DRAWN = 500  # problems, where no file is given
EXAMPLES = 16
RULES = "In each Sudoku every row, every column and every 2x2 box holds 1, 2, 3 and 4 once. 0 is an empty cell."
LAST = "Solution:\n"


class Sudoku(EvalTask):
    """Right where rows, columns and boxes hold 1 to 4 and every given is kept; a puzzle may have several solutions."""

    name = "sudoku"
    about = "fill a 4×4 Sudoku, as infilling"
    files = ("sudoku.csv", "sudoku-sample.csv")
    styles = ("infill",)
    shots = 5

    def unsupported(self, model: TextModel) -> str | None:
        encode = model.tokenizer.encode
        joined = encode("31") != encode("3") + encode("1")
        return super().unsupported(model) or (
            "a cell must be one token, and its tokenizer joins digits." if joined else None
        )

    def items(self, data: Path | None = None) -> tuple[str, list[Item]]:
        if data is not None:
            return super().items(data)
        drawn = self._draw(DRAWN, "test")
        return "drawn by infogain", [Item(str(i), shot.question, shot.answer) for i, shot in enumerate(drawn)]

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [_item(str(i), record) for i, record in enumerate(records)]

    def examples(self) -> list[Shot]:
        return self._draw(EXAMPLES, "train")

    def _draw(self, count: int, split: str) -> list[Shot]:
        problems = GRIDS.problems(count, split)
        return [Shot(p.canvas[1:].replace(MASK, "0"), p.solution[1:]) for p in problems]

    def gives_away(self, shot: Shot, item: Item) -> bool:
        """Does the example solve the item? There are only 288 grids, so it may."""
        return fits(item.question.replace("0", MASK), shot.answer, MASK)

    def build(self, item: Item, shots: Sequence[Shot], style: str) -> str:
        solved = [f"Puzzle:\n{lines(shot.question)}\n{LAST}{lines(shot.answer)}" for shot in shots]
        holes = lines(item.question).replace("0", "[MASK]")
        return "\n\n".join([RULES, *solved, f"Puzzle:\n{lines(item.question)}\n{LAST}{holes}"])

    def score(self, item: Item, text: str) -> ItemScore:
        grid = "".join(text.rpartition(LAST)[2].split())
        return ItemScore(solves(item.question, grid), grid)


def lines(cells: str) -> str:
    return "\n".join(cells[i : i + 4] for i in range(0, 16, 4))


def solves(puzzle: str, grid: str) -> bool:
    return fits(puzzle.replace("0", MASK), grid, MASK) and set(grid) == set(DIGITS) and is_grid(grid)


def _item(name: str, record: Record) -> Item:
    puzzle, solution = record.text("Puzzle"), record.text("Solution")
    if not re.fullmatch("[0-4]{16}", puzzle) or "0" not in puzzle:
        raise record.wrong("Puzzle", "sixteen digits, 0 to 4, with a 0 for each blank")
    if not solves(puzzle, solution):
        raise record.wrong("Solution", "a grid that solves the puzzle")
    return Item(name, puzzle, solution)
