"""Binary judgement: `J23*7+18*2+40*5=0398?18*2=036 23*7=161 40*5=200 0397 answer:N`: reasoning, then the verdict."""

from __future__ import annotations

import re
from random import Random

from infogain.zoo.characters import MASK
from infogain.zoo.tasks.problem import Problem, Task

PRODUCTS = 3
OFF = [error for error in range(-10, 11) if error]
STEP, TOTAL = len("23*7=161 "), len("0397")  # columns
REASONING = PRODUCTS * STEP + TOTAL
LEAD = " answer:"  # the paper's "The answer is (Yes/No):", given before the last mask


class Judgement(Task):
    """Sec. 3.1, case study 2: the verdict has two values, the reasoning has many, and has to come first.

    The canvas is the paper's: masks for the reasoning, a given lead, one mask for the verdict. About half the claims
    are true; a false one is off by 1 to 10. The products may be worked out in any order. The identity leaves the
    claim out: a sum held out is held out with every claim about it, in every order.
    """

    name = "judgement"
    about = "judge a sum of three products after working it out in any order"
    numbers = "factors from 10 to 99 and from 2 to 9, claims off by at most 10"
    tag = "J"
    width = len("J23*7+18*2+40*5=0398?") + REASONING + len(LEAD) + 1

    def draw(self, rng: Random) -> Problem:
        pairs = [(rng.randrange(10, 100), rng.randrange(2, 10)) for _ in range(PRODUCTS)]
        total = sum(a * b for a, b in pairs)
        holds = rng.random() < 0.5
        claim = total if holds else total + rng.choice(OFF)
        question = "+".join(f"{a}*{b}" for a, b in pairs)
        steps = [f"{a}*{b}={a * b:03} " for a, b in pairs]
        rng.shuffle(steps)
        given = f"J{question}={claim:04}?"
        solution = f"{given}{''.join(steps)}{total:04}{LEAD}{'Y' if holds else 'N'}"
        return Problem(" ".join(sorted(steps)), f"{given}{MASK * REASONING}{LEAD}{MASK}", solution)

    def right(self, problem: Problem, text: str) -> bool:
        return text[-1] == ("Y" if is_true(problem) else "N")

    def sound(self, problem: Problem, text: str) -> bool:
        """The verdict is right, and so are all products and their sum."""
        products = question(problem)[0]
        *steps, total = problem.answer(text)[:REASONING].split(" ")
        worked = sorted(f"{a}*{b}={a * b:03}" for a, b in products)
        summed = f"{sum(a * b for a, b in products):04}"
        return self.check(problem, text) and sorted(steps) == worked and total == summed

    def chat(self, problem: Problem) -> str:
        products, claim = question(problem)
        terms = " + ".join(f"{a}*{b}" for a, b in products)
        return f"Is {terms} = {claim}? Work out each product first. End with: The answer is (Yes/No): Yes or No."

    def check_chat(self, problem: Problem, reply: str) -> bool:
        found = re.findall(r"answer is\s*+(?:\(yes/no\))?+\W*\b(yes|no)\b", reply.lower())
        return bool(found) and found[-1] == ("yes" if is_true(problem) else "no")


def question(problem: Problem) -> tuple[list[tuple[int, int]], int]:
    """The products and the claim."""
    numbers = [int(number) for number in re.findall(r"[0-9]+", problem.prompt)]
    return list(zip(numbers[:-1:2], numbers[1:-1:2], strict=True)), numbers[-1]


def is_true(problem: Problem) -> bool:
    products, claim = question(problem)
    return sum(a * b for a, b in products) == claim
