"""Sudoku as infilling: `S7__2__9____7___`, cells row by row, some of them given; 4×4 and 6×6."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import chain
from random import Random

from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import Problem, Task

DIGITS = "123456789"
BOX_ROWS = 2


class Sudoku(Task):
    """Any complete grid that keeps the givens is right. The split is by the grid that a puzzle was cut from.

    `givens` says how few and how many cells are given, any of them; few givens leave many solutions, some of which are
    grids of other splits. Unset, a puzzle has one solution, and none of its givens can be spared. A model learns from
    complete grids, any of whose cells may be masked.
    """

    tag = "S"

    def __init__(self, name: str, side: int, digits: str, givens: tuple[int, int] | None = None) -> None:
        self.name, self.side, self.digits, self.givens = name, side, digits, givens
        self.width = 1 + side * side
        self.many = givens is not None
        free = "" if len(digits) == side else f", in any {side} of the digits 1 to {len(digits)}"
        some = f"{givens[0]} to {givens[1]} givens of {side * side}" if givens else "givens of which none can be spared"
        self.about = f"fill a {side}×{side} Sudoku{free}"
        self.numbers = f"{some}{free}"

    def draw(self, rng: Random) -> Problem:
        grid = random_grid(rng, self.side, self.digits)
        return Problem(grid, "S" + MASK * len(grid), "S" + grid)

    def pose(self, problem: Problem, rng: Random) -> Problem:
        grid = problem.solution[1:]
        if self.givens is None:
            return replace(problem, canvas="S" + least_givens(rng, grid, self.side))
        given = rng.sample(range(len(grid)), rng.randint(*self.givens))
        canvas = "".join(digit if cell in given else MASK for cell, digit in enumerate(grid))
        return replace(problem, canvas="S" + canvas)

    def several(self, problem: Problem) -> bool:
        names = sorted(set(problem.solution[1:]))
        given = set(problem.canvas[1:]) - {MASK}
        if len(self.digits) > self.side > len(given):  # a digit that is not given may be any other
            return True
        cells = [None if mark == MASK else names.index(mark) for mark in problem.canvas[1:]]
        return solutions(cells, self.side, most=2) > 1

    def answer_in(self, reply: str) -> str:
        return "".join(chain(*self._rows(reply)))

    def right(self, problem: Problem, text: str) -> bool:
        return set(text[1:]) <= set(self.digits) and is_grid(text[1:], self.side)

    def chat(self, problem: Problem) -> str:
        side = self.side
        rows = "\n".join(problem.canvas[1 + side * i : 1 + side * (i + 1)] for i in range(side))
        wanted = f"the digits 1 to {side}" if len(self.digits) == side else f"the same {side} different digits"
        return (
            f"Solve this {side}x{side} Sudoku: each row, each column and each box of {BOX_ROWS} rows and "
            f"{side // BOX_ROWS} columns holds {wanted}, each once. {MASK} is an empty cell.\n{rows}\n"
            f"End with the {side} rows, one per line."
        )

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return self.check(problem, "S" + self.answer_in(reply))

    def _rows(self, reply: str) -> list[tuple[str, ...]]:
        """The digits of the last rows that a reply writes."""
        cells = r"[ |,]*".join(rf"([1-{self.digits[-1]}])" for _ in range(self.side))
        return re.findall(rf"^[\W]*{cells}\W*$", reply, flags=re.MULTILINE)[-self.side :]


@cache
def units_of(side: int) -> list[tuple[int, int, int]]:
    """The row, column and box of each cell, numbered together; a box has two rows."""
    wide = side // BOX_ROWS
    return [
        (row, side + column, 2 * side + row // BOX_ROWS * BOX_ROWS + column // wide)
        for row in range(side)
        for column in range(side)
    ]


@cache
def units(side: int) -> list[list[int]]:
    """The cells of each row, column and box."""
    return [[cell for cell, mine in enumerate(units_of(side)) if unit in mine] for unit in range(3 * side)]


@cache
def before(side: int) -> list[list[int]]:
    """For each cell, those before it that share a row, column or box with it."""
    all_units = units_of(side)
    return [[i for i in range(cell) if not set(mine).isdisjoint(all_units[i])] for cell, mine in enumerate(all_units)]


def is_grid(cells: str, side: int = 4) -> bool:
    """Is this a complete grid: one set of digits, each once in every row, column and box?"""
    digits = set(cells)
    whole = len(cells) == side * side and len(digits) == side
    return whole and all({cells[i] for i in unit} == digits for unit in units(side))


def random_grid(rng: Random, side: int, digits: str) -> str:
    """A complete grid in some of the digits, any one."""
    names = rng.sample(digits, side)
    cells: list[int] = []
    complete(rng, side, cells)
    return "".join(names[digit] for digit in cells)


def complete(rng: Random, side: int, cells: list[int]) -> bool:
    """Fill what is left of a grid cell by cell, digits in random order. False: no grid begins with these cells."""
    if len(cells) == side * side:
        return True
    seen = {cells[i] for i in before(side)[len(cells)]}
    for digit in rng.sample(range(side), side):
        if digit not in seen:
            cells.append(digit)
            if complete(rng, side, cells):
                return True
            cells.pop()
    return False


def least_givens(rng: Random, grid: str, side: int) -> str:
    """A puzzle that this grid alone solves, and many grids without any one of its givens: cells are taken in turn."""
    names = sorted(set(grid))
    cells: list[int | None] = [names.index(digit) for digit in grid]
    for cell in rng.sample(range(len(cells)), len(cells)):
        digit, cells[cell] = cells[cell], None
        if solutions(cells, side, most=2) > 1:
            cells[cell] = digit
    return "".join(MASK if digit is None else names[digit] for digit in cells)


def solutions(cells: list[int | None], side: int, most: int) -> int:
    """How many grids fit a puzzle, counted up to `most`: the cell with the fewest digits left is tried first."""
    taken = [0] * (3 * side)  # the digits of each row, column and box, as bits
    for mine, digit in zip(units_of(side), cells, strict=True):
        for unit in mine if digit is not None else ():
            taken[unit] |= 1 << digit  # type: ignore[operator]  # it is a digit
    return _count([mine for mine, digit in zip(units_of(side), cells, strict=True) if digit is None], taken, side, most)


def _count(empty: list[tuple[int, int, int]], taken: list[int], side: int, most: int) -> int:
    """Fillings of empty cells, each told by its row, column and box; `taken` and `empty` are as before in the end."""
    if not empty:
        return 1
    at, digits, fewest = 0, 0, side + 1
    for i, (row, column, box) in enumerate(empty):
        left = ~(taken[row] | taken[column] | taken[box]) & ((1 << side) - 1)
        if left.bit_count() < fewest:
            at, digits, fewest = i, left, left.bit_count()
            if fewest < 2:
                break
    mine, found = empty.pop(at), 0
    while digits and found < most:
        digit = digits & -digits
        digits ^= digit
        for unit in mine:
            taken[unit] ^= digit
        found += _count(empty, taken, side, most - found)
        for unit in mine:
            taken[unit] ^= digit
    empty.insert(at, mine)
    return found
