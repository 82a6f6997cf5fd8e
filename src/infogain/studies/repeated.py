"""Keeps the texts of a cell while they come in, and says how much those of one problem repeat each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from infogain.evals.intervals import mean_interval
from infogain.evals.repetition import Words, distinct, self_bleu, words_of
from infogain.options import Plain
from infogain.studies.cell import BENCHMARKS
from infogain.text.alphabet import EOS, MASK
from infogain.zoo.tasks import Problem, load_task

ORDERS = (1, 2, 3)  # n of distinct-n


def splitter(task: str) -> Callable[[str], Words]:
    """Splits a text before its end into words, or into tokens where a task's texts have no words."""
    if task in BENCHMARKS or load_task(task).alphabet.words:
        return lambda text: words_of(text.rstrip(EOS))
    return lambda text: load_task(task).alphabet.tokens_of(text.partition(EOS)[0])


class RepeatedTexts:
    """What was written for each problem. What is given of a canvas all its texts share, so it is left out."""

    def __init__(self, task: str) -> None:
        self.words = splitter(task)
        self.groups: dict[int, list[Words]] = defaultdict(list)

    def add(self, number: int, problem: Problem, text: str) -> None:
        written = text.removeprefix(problem.prompt.rstrip()) if MASK in problem.canvas else text
        self.groups[number].append(self.words(written))

    def numbers(self) -> Plain:
        """Distinct-n and self-BLEU of a problem's texts, means over the problems with intervals."""
        groups = list(self.groups.values())
        found = {f"distinct_{n}": mean_interval([distinct(group, n) for group in groups]) for n in ORDERS}
        found["self_bleu"] = mean_interval([self_bleu([group]) for group in groups])
        shown = {name: each.value for name, each in found.items()}
        return {**shown, **{f"{name}_95": each.plain() for name, each in found.items()}}
