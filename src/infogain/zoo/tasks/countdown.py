"""Countdown: `C3,71,14=29:3*14=42,71-42=29~~~~`, worked steps that use each of three or four numbers once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, permutations
from random import Random

from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks.problem import Problem, Task

LARGEST = 99  # number
SUBTOTALS, TARGETS = range(1, 1000), range(10, 100)
FEW = 20  # answers to look at: equal ones, of equal numbers, are fewer
WORDS = {2: "two", 3: "three", 4: "four"}
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
    """Each step combines any two numbers that are there, until the target is left.

    The identity is the numbers, whatever their order, and the target.
    """

    tag = "C"
    many = True

    def __init__(self, name: str, count: int, width: int) -> None:
        self.name, self.count, self.width = name, count, width
        self.about = f"reach a target from {WORDS[count]} numbers"
        results = f"results below {SUBTOTALS.stop}, targets from {TARGETS[0]} to {TARGETS[-1]}"
        self.numbers = f"{WORDS[count]} from 1 to {LARGEST}, {results}"

    def draw(self, rng: Random) -> Problem:
        while True:
            numbers = [rng.randint(1, LARGEST) for _ in range(self.count)]
            steps, results = solve(rng, numbers)
            if results[-1] in TARGETS and all(result in SUBTOTALS for result in results):
                break
        given = f"C{','.join(map(str, numbers))}={results[-1]}:"
        identity = f"{sorted(numbers)} {results[-1]}"
        solution = f"{given}{','.join(steps)}".ljust(self.width, EOS)
        return Problem(identity, given.ljust(self.width, MASK), solution)

    def right(self, problem: Problem, text: str) -> bool:
        steps = [re.fullmatch(STEP, step) for step in problem.answer(text).split(",")]
        found = [step.groups() for step in steps if step]
        return len(found) == len(steps) == self.count - 1 and reaches(*question(problem), found)

    def several(self, problem: Problem) -> bool:
        return len(set(islice(answers(*question(problem)), FEW))) > 1

    def chat(self, problem: Problem) -> str:
        numbers, target = question(problem)
        example = ",".join(["1+2=3", "3*4=12", "12-5=7"][: self.count - 1])
        return (
            f"Use each of the numbers {', '.join(map(str, numbers))} exactly once, with +, -, * and /, "
            f"to make {target}. End with the {WORDS[self.count - 1]} steps on one line, such as: {example}"
        )

    def answer_in(self, reply: str) -> str:
        return ",".join("{}{}{}={}".format(*step) for step in last_steps(reply, self.count - 1))

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return reaches(*question(problem), last_steps(reply, self.count - 1))


def solve(rng: Random, numbers: list[int]) -> tuple[list[str], list[int]]:
    """Steps that combine two numbers at a time, any two that are there, until one is left; and their results."""
    there, steps, results = list(numbers), [], []
    while len(there) > 1:
        rng.shuffle(there)
        step, value = combine(rng, there.pop(), there.pop())
        there.append(value)
        steps.append(step)
        results.append(value)
    return steps, results


def answers(numbers: list[int], target: int) -> Iterator[str]:
    """Every way to reach the target, some more than once: all pairs of numbers that are there, by all operations."""
    if numbers == [target]:
        yield ""
    for i, j in permutations(range(len(numbers)), 2):
        a, b, rest = numbers[i], numbers[j], [number for k, number in enumerate(numbers) if k not in (i, j)]
        results = {"+": a + b, "*": a * b, "-": a - b, "/": a // b if b and a % b == 0 else -1}
        for sign, value in ((sign, value) for sign, value in results.items() if value >= 0):
            yield from (f"{a}{sign}{b}={value},{more}" for more in answers([*rest, value], target))


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
