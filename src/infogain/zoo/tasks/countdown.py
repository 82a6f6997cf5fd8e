"""Countdown with three numbers: `C3,7,4=25:3*7=21,21+4=25~~~~~~`, two worked steps that use each number once."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks.problem import Problem, Task

LARGEST = 25  # number
SUBTOTALS, TARGETS = range(1, 100), range(10, 100)
NUMBER, SIGN = "(0|[1-9][0-9]*)", "([-+*/])"
STEP = f"{NUMBER}{SIGN}{NUMBER}={NUMBER}"

# Steps as people write them: with spaces and other signs; a comma, semicolon or line end between two.
WRITTEN = {
    **dict.fromkeys("−–", "-"),
    **dict.fromkeys(["×", "·", "⋅", "∗", r"\times", r"\cdot"], "*"),
    **dict.fromkeys(["÷", r"\div"], "/"),
    "$": " ",
}
SPACED = re.compile(r"[^\S\n]*".join([NUMBER, SIGN, NUMBER, "=", NUMBER]))
# 5 + 44-15=29 is another step; -44, 1,044, 50e3 and 50,000 are other numbers. But "- 44" begins a list, "**44" bold.
BEFORE = (
    r"(?<![0-9.-])(?<![0-9][-+*/=^eE])(?<![0-9]\*\*)(?<![0-9][-+*/=^] )(?<![0-9] [-+*/=^] )"
    r"(?!(?<=[0-9],)[0-9]{3}(?![0-9]))"
)
AFTER = r"(?![0-9]|\.[0-9]|,[0-9]{3}(?![0-9])|[eE][-+]?[0-9]| ?[-+*/=^]+ ?[0-9])"
RUN = re.compile(rf"{BEFORE}{SPACED.pattern}(?:[^\S\n]*[,;\n][,;\s]*{SPACED.pattern})*{AFTER}")

Step = tuple[str, ...]  # a number, a sign, a number, the result


class Countdown(Task):
    """The identity is the numbers, whatever their order, and the target."""

    name = "countdown"
    about = "reach a target from three numbers"
    numbers = f"three from 1 to {LARGEST}, the first result below {SUBTOTALS.stop}, targets from 10 to {TARGETS[-1]}"
    tag = "C"
    width = 30

    def draw(self, rng: Random) -> Problem:
        while True:
            numbers = [rng.randint(1, LARGEST) for _ in range(3)]
            first, subtotal = combine(rng, numbers[0], numbers[1])
            second, target = combine(rng, subtotal, numbers[2])
            if subtotal in SUBTOTALS and target in TARGETS:
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
        return reaches(*question(problem), last_steps(reply, 2))


def last_steps(text: str, count: int) -> list[Step]:
    """The steps written last, one after the other: those of the fewest lines that hold so many."""
    for written, sign in WRITTEN.items():
        text = text.replace(written, sign)
    found = [run[0] for run in RUN.finditer(text)]
    lines = found[-1].split("\n") if found else []
    steps: list[Step] = []
    while lines and len(steps) < count:
        steps = SPACED.findall(lines.pop()) + steps
    return steps


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


def reaches(numbers: list[int], target: int, steps: list[Step]) -> bool:
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
