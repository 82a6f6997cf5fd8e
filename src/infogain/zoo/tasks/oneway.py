"""One-way multiplication: `W12*34=00000110011000`, any true equation.

Only the tag, `*` and `=` are given, so there is one problem, nothing to hold out, and the check is
that the equation is true.
"""

from __future__ import annotations

import re
from random import Random

from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import Problem, Task

BITS = 14  # of 99 * 99
CANVAS = f"W{MASK * 2}*{MASK * 2}={MASK * BITS}"
FACTORS = (1, 2, 4, 5)  # columns
PRODUCT = tuple(range(7, 7 + BITS))


class OneWay(Task):
    """Sec. 3.1, case study 1: decimal factors from 10 to 99, their product in binary."""

    name = "oneway"
    about = "write a true equation: two decimal factors, a binary product"
    numbers = "factors from 10 to 99"
    tag = "W"
    width = len(CANVAS)
    unconditional = True

    def draw(self, rng: Random) -> Problem:
        a, b = rng.randrange(10, 100), rng.randrange(10, 100)
        return Problem("any", CANVAS, f"W{a}*{b}={a * b:0{BITS}b}")

    def right(self, problem: Problem, text: str) -> bool:
        match = re.fullmatch(r"W([1-9][0-9])\*([1-9][0-9])=([01]+)", text)
        return match is not None and int(match[1]) * int(match[2]) == int(match[3], 2)

    def chat(self, problem: Problem) -> str:
        return (
            "Write one true equation a*b=c, where a and b are decimal numbers of two digits and c is their "
            f"product in binary with {BITS} digits. Answer with the equation only."
        )

    def check_chat(self, problem: Problem, reply: str) -> bool:
        found = re.findall(r"(?<![0-9])([1-9][0-9])\s*[*x×]\s*([1-9][0-9])\s*=\s*([01]+)(?![0-9])", reply)
        return bool(found) and int(found[-1][0]) * int(found[-1][1]) == int(found[-1][2], 2)


def first_written(columns: list[int]) -> str:
    """Which part was begun first: "factors" or "product", from the columns in the order they were written."""
    return "factors" if columns[0] in FACTORS else "product"


def finished_first(columns: list[int]) -> str:
    """Which part was complete first."""
    last = {column: turn for turn, column in enumerate(columns)}
    return "factors" if max(last[c] for c in FACTORS) < max(last[c] for c in PRODUCT) else "product"
