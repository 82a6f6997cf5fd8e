"""One-way multiplication: `W12*34=00000110011000`, any true equation, from nothing or from a digit of each number."""

from __future__ import annotations

import re
from random import Random

from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import Problem, Task

BITS = 14  # of 99 * 99
CANVAS = f"W{MASK * 2}*{MASK * 2}={MASK * BITS}"
NUMBERS = (range(1, 3), range(4, 6), range(7, 7 + BITS))  # columns: two factors, their product
FACTORS, PRODUCT = (*NUMBERS[0], *NUMBERS[1]), tuple(NUMBERS[2])


class OneWay(Task):
    """Sec. 3.1, case study 1: decimal factors from 10 to 99, their product in binary.

    Only the tag, `*` and `=` are given, so there is one problem, nothing to hold out, and the check is
    that the equation is true.
    """

    name = "oneway"
    about = "write a true equation: two decimal factors, a binary product"
    numbers = "factors from 10 to 99"
    tag = "W"
    width = len(CANVAS)
    unconditional = True
    many = True

    def draw(self, rng: Random) -> Problem:
        return Problem("any", CANVAS, equation(rng))

    def right(self, problem: Problem, text: str) -> bool:
        match = re.fullmatch(r"W([1-9][0-9])\*([1-9][0-9])=([01]+)", text)
        return match is not None and int(match[1]) * int(match[2]) == int(match[3], 2)

    def chat(self, problem: Problem) -> str:
        return (
            "Write one true equation a*b=c, where a and b are decimal numbers of two digits and c is their "
            f"product in binary with {BITS} digits. Answer with the equation only."
        )

    def answer_in(self, reply: str) -> str:
        found = re.findall(r"(?<![0-9])([1-9][0-9])\s*[*x×]\s*([1-9][0-9])\s*=\s*([01]+)(?![0-9])", reply)
        if not found:
            return ""
        a, b, c = found[-1]
        return written(int(a), int(b), int(c, 2))

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return self.check(problem, self.answer_in(reply))


class OneWayGiven(OneWay):
    """An equation of which one digit of each of its three numbers is given; some fifty right answers are left.

    A model learns it from the texts of `oneway`, all of whose digits may be masked. The identity is the canvas, so
    validation and test pose other ones.
    """

    name = "oneway-given"
    about = "write a true equation of which one digit of each number is given"
    unconditional = False
    taught_by = "oneway"

    def draw(self, rng: Random) -> Problem:
        solution = equation(rng)
        given = [rng.choice(columns) for columns in NUMBERS]
        canvas = "".join(solution[i] if i in given else mark for i, mark in enumerate(CANVAS))
        return Problem(canvas, canvas, solution)

    def chat(self, problem: Problem) -> str:
        pattern = problem.canvas[1:].replace(MASK, "?")
        return f"{super().chat(problem)} It must fit the pattern {pattern}, where ? is any one digit."


def equation(rng: Random) -> str:
    a, b = rng.randrange(10, 100), rng.randrange(10, 100)
    return written(a, b, a * b)


def written(a: int, b: int, c: int) -> str:
    """An equation, true or not, as a canvas holds it."""
    return f"W{a}*{b}={c:0{BITS}b}"
