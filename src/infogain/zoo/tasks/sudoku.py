"""Sudoku 4×4 as infilling: `S1__4__2__1____3_`, sixteen cells row by row, 4 to 8 of them given."""

from __future__ import annotations

import functools
import itertools
import re
from random import Random

from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import SPLITS, Problem, Task, split_of

FEWEST, MOST = 4, 8  # givens
NOWHERE = "none"
ROWS = [range(4 * i, 4 * i + 4) for i in range(4)]
COLUMNS = [range(i, 16, 4) for i in range(4)]
BOXES = [(i, i + 1, i + 4, i + 5) for i in (0, 2, 8, 10)]
UNITS = [tuple(unit) for unit in (*ROWS, *COLUMNS, *BOXES)]


class Sudoku(Task):
    """The split is by the complete grid, all 288 of them. A puzzle may have several solutions; any will do.

    A puzzle that also fits a grid of a later split belongs nowhere. So no training puzzle can be solved
    by a held-out grid, training never says that such a grid is wrong, and no canvas is in two splits.
    """

    name = "sudoku"
    about = "fill a 4×4 Sudoku"
    numbers = f"{FEWEST} to {MOST} givens of 16"
    tag = "S"
    width = 17

    def draw(self, rng: Random) -> Problem:
        grid = rng.choice(grids())
        given = rng.sample(range(16), rng.randint(FEWEST, MOST))
        canvas = "".join(digit if cell in given else MASK for cell, digit in enumerate(grid))
        return Problem(grid, "S" + canvas, "S" + grid)

    def split(self, problem: Problem) -> str:
        own = super().split(problem)
        return NOWHERE if solutions(problem.canvas[1:]) & grids_after(own) else own

    def right(self, problem: Problem, text: str) -> bool:
        return is_grid(text[1:])

    def chat(self, problem: Problem) -> str:
        rows = "\n".join(problem.canvas[1 + 4 * i : 5 + 4 * i] for i in range(4))
        return (
            "Solve this 4x4 Sudoku: each row, each column and each 2x2 box holds 1, 2, 3 and 4 once. "
            f"{MASK} is an empty cell.\n{rows}\nEnd with the four rows, one per line."
        )

    def check_chat(self, problem: Problem, reply: str) -> bool:
        rows = re.findall(r"^[\W]*([1-4])[ |,]*([1-4])[ |,]*([1-4])[ |,]*([1-4])\W*$", reply, flags=re.MULTILINE)
        return self.check(problem, "S" + "".join(itertools.chain(*rows[-4:])))


def is_grid(cells: str) -> bool:
    return len(cells) == 16 and all({cells[i] for i in unit} == set("1234") for unit in UNITS)


@functools.cache
def grids() -> list[str]:
    """The 288 complete grids there are."""
    rows = ["".join(row) for row in itertools.permutations("1234")]
    bands = [a + b for a, b in itertools.product(rows, repeat=2) if len({*a[:2], *b[:2]}) == len({*a[2:], *b[2:]}) == 4]
    return [top + bottom for top, bottom in itertools.product(bands, repeat=2) if is_grid(top + bottom)]


@functools.cache
def holders() -> dict[tuple[int, str], int]:
    """Which grids have a digit in a cell, as one bit per grid."""
    keys = itertools.product(range(16), "1234")
    return {(cell, digit): sum(1 << i for i, g in enumerate(grids()) if g[cell] == digit) for cell, digit in keys}


def solutions(cells: str) -> int:
    """The grids that fit a puzzle, as bits."""
    given = [(cell, digit) for cell, digit in enumerate(cells) if digit != MASK]
    return functools.reduce(lambda bits, key: bits & holders()[key], given, (1 << len(grids())) - 1)


@functools.cache
def grids_after(split: str) -> int:
    """The grids of later splits, as bits."""
    later = SPLITS[SPLITS.index(split) + 1 :]
    return sum(1 << i for i, grid in enumerate(grids()) if split_of(Sudoku.name, grid) in later)
