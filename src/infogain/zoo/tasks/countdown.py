"""Countdown with three numbers: `C3,7,4=25:3*7=21,21+4=25~~~~~~`, two worked steps that use each number once."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from infogain.zoo.alphabet import EOS, MASK
from infogain.zoo.tasks.base import Problem, Task

LARGEST = 25  # number
TARGETS = range(10, 100)
STEP = r"(0|[1-9][0-9]*)([-+*/])(0|[1-9][0-9]*)=(0|[1-9][0-9]*)"


class Countdown(Task):
    """The identity is the numbers, whatever their order, and the target."""

    name = "countdown"
    about = "reach a target from three numbers"
    tag = "C"
    width = 30

    def draw(self, rng: Random) -> Problem:
        while True:
            numbers = [rng.randint(1, LARGEST) for _ in range(3)]
            first, subtotal = combine(rng, numbers[0], numbers[1])
            second, target = combine(rng, subtotal, numbers[2])
            if subtotal in range(1, 100) and target in TARGETS:
                break
        rng.shuffle(numbers)
        given = f"C{numbers[0]},{numbers[1]},{numbers[2]}={target}:"
        identity = f"{sorted(numbers)} {target}"
        return Problem(identity, given.ljust(self.width, MASK), f"{given}{first},{second}".ljust(self.width, EOS))

    def right(self, problem: Problem, text: str) -> bool:
        steps = re.fullmatch(f"{STEP},{STEP}", problem.answer(text))
        return steps is not None and reaches(*question(problem), [steps.groups()[:4], steps.groups()[4:]])

    def chat(self, problem: Problem) -> str:
        numbers, target = question(problem)
        return (
            f"Use each of the numbers {', '.join(map(str, numbers))} exactly once, with +, -, * and /, "
            f"to make {target}. End with the two steps on one line, such as: 1+2=3,3*4=12"
        )

    def check_chat(self, problem: Problem, reply: str) -> bool:
        found = re.findall(f"(?<![0-9]){STEP}[,;\n]+{STEP}(?![0-9])", re.sub(r"[ $]", "", reply).replace("×", "*"))
        return bool(found) and reaches(*question(problem), [found[-1][:4], found[-1][4:]])


def combine(rng: Random, a: int, b: int) -> tuple[str, int]:
    """A step from two numbers by any operation that gives a whole number above 0."""
    high, low = max(a, b), min(a, b)
    ways = [("+", a + b), ("*", a * b)]
    if high > low:
        ways.append(("-", high - low))
    if high % low == 0:
        ways.append(("/", high // low))
    sign, value = rng.choice(ways)
    x, y = (a, b) if sign in "+*" and rng.random() < 0.5 else (high, low)
    return f"{x}{sign}{y}={value}", value


def question(problem: Problem) -> tuple[list[int], int]:
    """The numbers and the target."""
    *numbers, target = (int(number) for number in re.findall(r"[0-9]+", problem.prompt))
    return numbers, target


def reaches(numbers: list[int], target: int, steps: list[tuple[str, ...]]) -> bool:
    """Every step is true and spends numbers that are there; the target is all that is left."""
    have = Counter(numbers)
    for a, sign, b, c in steps:
        have.subtract([int(a), int(b)])
        if min(have.values()) < 0 or not is_true(int(a), sign, int(b), int(c)):
            return False
        have[int(c)] += 1
    return +have == Counter([target])


def is_true(a: int, sign: str, b: int, c: int) -> bool:
    if sign == "/":
        return b != 0 and a == b * c
    return c == {"+": a + b, "-": a - b, "*": a * b}[sign]
