"""Arithmetic in words: `Atom has 34 pens, zac 3 times that, ida 50. total?`, worked steps, `answer 186`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks.problem import Problem, Task

PROMPT, ANSWER = 60, 64  # columns; the question is filled up with spaces
NAMES = ("tom", "ann", "sam", "eva", "leo", "mia", "max", "zoe")
THINGS = ("pens", "cups", "figs", "nuts", "caps", "pins", "keys", "eggs")
FINAL = r"answer ([0-9]+)"
STEP = r"([0-9]+)([-+*/])([0-9]+)=([0-9]+)"

Step = tuple[int, str, int]


@dataclass(frozen=True)
class Template:
    """Numbers are drawn from `ranges`; the first `free` steps may be worked in any order."""

    question: str
    ranges: tuple[tuple[int, int], ...]
    steps: Callable[..., list[Step]]
    free: int = 1


TEMPLATES = (
    Template(
        "{who} has {0} bags of {1} {what}, buys {2} of {3}, loses {4}. left?",
        ((10, 60), (2, 9), (10, 60), (2, 9), (10, 99)),
        lambda a, b, c, d, e: [(a, "*", b), (c, "*", d), (a * b, "+", c * d), (a * b + c * d, "-", e)],
        free=2,
    ),
    Template(
        "{who} has {0} {what}, buys {1}, gives {2}, finds {3}. has?",
        ((50, 400), (50, 400), (20, 300), (20, 300)),
        lambda a, b, c, d: [(a, "+", b), (a + b, "-", c), (a + b - c, "+", d)],
    ),
    Template(
        "{1} kids share {0} {what}. {who} gets {2} bags of {3} more. has?",
        ((40, 400), (2, 9), (10, 60), (2, 9)),
        lambda a, b, c, d: [(a, "/", b), (c, "*", d), (a // b, "+", c * d)],
        free=2,
    ),
    Template(
        "{who} buys {0} {what} at {1} and {2} at {3}. change from {4}?",
        ((10, 60), (2, 9), (10, 60), (2, 9), (200, 999)),
        lambda a, b, c, d, e: [(a, "*", b), (c, "*", d), (a * b, "+", c * d), (e, "-", a * b + c * d)],
        free=2,
    ),
    Template(
        "{who} has {0} {what}, zac {1} times that, ida {2}. total?",
        ((10, 99), (2, 9), (20, 300)),
        lambda a, b, c: [(a, "*", b), (a, "+", a * b), (a + a * b, "+", c)],
    ),
    Template(
        "{0} boxes of {1} {what}, {2} rot, {3} kids share. each?",
        ((10, 60), (2, 9), (10, 99), (2, 9)),
        lambda a, b, c, d: [(a, "*", b), (a * b, "-", c), (a * b - c, "/", d)],
    ),
)


class Arithmetic(Task):
    """The identity is the template and its numbers, whoever has whatever."""

    name = "arithmetic"
    about = "solve a word problem in three or four worked steps"
    numbers = "those of its six templates, from 2 to 999"
    tag = "A"
    width = PROMPT + ANSWER

    def draw(self, rng: Random) -> Problem:
        kind = rng.randrange(len(TEMPLATES))
        template = TEMPLATES[kind]
        numbers, steps = draw_numbers(rng, template)
        free = steps[: template.free]
        rng.shuffle(free)
        given = "A" + template.question.format(*numbers, who=rng.choice(NAMES), what=rng.choice(THINGS))
        answer = write(free + steps[template.free :], wordy=rng.random() < 0.5)
        given = given.ljust(PROMPT)
        return Problem(f"{kind} {numbers}", given + MASK * ANSWER, given + answer.ljust(ANSWER, EOS))

    def right(self, problem: Problem, text: str) -> bool:
        final = re.search(rf"(?:^| ){FINAL}\Z", problem.answer(text))
        return final is not None and EOS not in problem.answer(text) and final[1] == result(problem)

    def sound(self, problem: Problem, text: str) -> bool:
        """The answer is right, and so is every step."""
        steps = re.findall(STEP, problem.answer(text))
        return self.check(problem, text) and bool(steps) and all(work(*step[:3]) == step[3] for step in steps)

    def chat(self, problem: Problem) -> str:
        return f"{problem.prompt[1:].strip()} Work it out step by step. End with: answer, then the number."

    def check_chat(self, problem: Problem, reply: str) -> bool:
        found = re.findall(r"answer\W*(?:is)?\W*([0-9][0-9,]*)(?![0-9.]*[0-9])", reply.lower())
        return bool(found) and found[-1].replace(",", "") == result(problem)


def draw_numbers(rng: Random, template: Template) -> tuple[list[int], list[Step]]:
    """Numbers whose steps all give whole numbers above 0."""
    while True:
        numbers = [rng.randint(low, high) for low, high in template.ranges]
        steps = template.steps(*numbers)
        if all(work(*step) not in ("", "0") for step in steps):
            return numbers, steps


def work(a: int | str, sign: str, b: int | str) -> str:
    """The result of a step, or nothing where there is no whole number of at least 0."""
    x, y = int(a), int(b)
    if sign == "/":
        return str(x // y) if y and x % y == 0 else ""
    value = {"+": x + y, "-": x - y, "*": x * y}[sign]
    return str(value) if value >= 0 else ""


def write(steps: list[Step], wordy: bool) -> str:
    """The steps in order, in one of two manners, and the answer."""
    worked = [f"{a}{sign}{b}={work(a, sign, b)}" for a, sign, b in steps]
    line = f"{'; '.join(worked)}; so " if wordy else f"{', '.join(worked)}, "
    return f"{line}answer {work(*steps[-1])}"


def result(problem: Problem) -> str:
    final = re.search(FINAL, problem.solution)
    assert final is not None  # every solution ends in one
    return final[1]
