"""Countdown: reach a target from three, four or five numbers, each used once.

15,44,79,50 (the last is the target) → 44-15=29,79-29=50
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

from infogain.evals.source import Record
from infogain.evals.task import EvalTask, Item, ItemScore, Shot
from infogain.zoo.tasks.countdown import last_steps, reaches, solve

DRAWN = 1000  # problems, where no file is given
EXAMPLES = 16
LARGEST, TARGETS = 100, range(10, 101)
RULE = "Use each of the first {count} numbers once, with + - * /, in steps that reach the last number."


class Countdown(EvalTask):
    """Right where each step is true and spends numbers that are there, and the target is all that is left."""

    shots = 3
    length = 48
    one_block = True
    stops = ("\n",)

    def __init__(self, count: int) -> None:
        self.count = count
        self.name = "countdown" if count == 3 else f"countdown{count}"
        self.about = f"reach a target from {count} numbers"
        self.files = (f"{self.name}.jsonl",)

    def items(self, data: Path | None = None) -> tuple[str, list[Item]]:
        if data is not None:
            return super().items(data)
        drawn = draw(self.count, DRAWN, "items")
        return "drawn by infogain", [Item(str(i), shot.question, shot.answer) for i, shot in enumerate(drawn)]

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [self._item(str(i), record) for i, record in enumerate(records)]

    def _item(self, name: str, record: Record) -> Item:
        question = record.text("input")
        if not re.fullmatch(rf"[0-9]+(,[0-9]+){{{self.count}}}", question):
            raise record.wrong("input", f"{self.count} numbers and the target, with commas between them")
        item = Item(name, question, record.text("output"))
        if not self.score(item, item.gold).right:
            raise record.wrong("output", "steps that reach the target")
        return item

    def examples(self) -> list[Shot]:
        return draw(self.count, EXAMPLES, "examples")

    def gives_away(self, shot: Shot, item: Item) -> bool:
        """Does the example give the item away? It does with the same numbers, in whatever order."""
        return sorted(shot.question.split(",")) == sorted(item.question.split(","))

    def chat(self, question: str) -> str:
        return f"{RULE.format(count=self.count)} Answer with the steps only.\nInput: {question}"

    def lead(self, question: str) -> str:
        return f"{RULE.format(count=self.count)}\nInput: {question}\nOutput: "

    def score(self, item: Item, text: str) -> ItemScore:
        *numbers, target = map(int, item.question.split(","))
        steps = last_steps(text, self.count - 1)
        answer = ",".join(f"{a}{sign}{b}={c}" for a, sign, b, c in steps)
        return ItemScore(reaches(numbers, target, steps), answer or None)


def draw(count: int, problems: int, purpose: str) -> list[Shot]:
    """So many different problems, the same on every machine."""
    rng, found = Random(f"countdown {count} {purpose}"), dict[str, Shot]()
    while len(found) < problems:
        shot = _attempt(rng, count)
        if shot is not None:
            found.setdefault(shot.question, shot)
    return list(found.values())


def _attempt(rng: Random, count: int) -> Shot | None:
    """Join two of the numbers at random until one is left; it must be a target."""
    numbers = [rng.randint(1, LARGEST) for _ in range(count)]
    steps, (*_, target) = solve(rng, numbers)
    return Shot(",".join(map(str, [*numbers, target])), ",".join(steps)) if target in TARGETS else None
