"""The zoo's own tasks: as canvases for its models, in their chat form for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from infogain.evals.source import Record
from infogain.evals.task import EvalTask, Item, ItemScore, Shot
from infogain.text.alphabet import Alphabet
from infogain.text.prompts import Prompt
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Tokenizer
from infogain.zoo.tasks import Problem
from infogain.zoo.tasks import Task as ZooKind
from infogain.zoo.tasks.problem import is_canvas

DRAWN = 500  # problems of the test split


class ZooTask(EvalTask):
    one_block = True
    styles = ("infill", "chat", "plain")

    def __init__(self, kind: ZooKind) -> None:
        self.kind = kind
        self.name = f"zoo:{kind.name}"
        self.about = kind.about

    def style_for(self, tokenizer: Tokenizer) -> str:
        return "infill" if isinstance(tokenizer, Alphabet) else "chat" if tokenizer.chats else "plain"

    def items(self, data: Path | None = None) -> tuple[str, list[Item]]:
        """The problems of the test split, which are drawn; `data` is for tasks that are read."""
        problems = self.kind.problems(DRAWN, "test")
        return "drawn by infogain, test split", [item_of(str(i), problem) for i, problem in enumerate(problems)]

    def read(self, records: Sequence[Record]) -> list[Item]:
        raise NotImplementedError("problems of the zoo are drawn")

    def build(self, item: Item, shots: Sequence[Shot], style: str) -> Prompt:
        if style == "infill":
            return item.question
        return super().build(replace(item, question=self.kind.chat(problem_of(item))), shots, style)

    def unsupported(self, model: TextModel) -> str | None:
        return None

    def lead(self, question: str) -> str:
        return f"{question}\n"

    def scores(self, given: Sequence[tuple[Item, str]], style: str = "chat") -> list[ItemScore]:
        """The scores of texts; one that was asked for as a canvas is read as one, whatever it looks like."""
        if style == "infill":
            return [self._score_canvas(problem_of(item), text) for item, text in given]
        return super().scores(given, style)

    def score(self, item: Item, text: str) -> ItemScore:
        """The score of a text: a canvas if it begins as one, whatever its givens, else a reply in chat."""
        problem = problem_of(item)
        if is_canvas(problem, text):
            return self._score_canvas(problem, text)
        return ItemScore(self.kind.check_chat(problem, text), text.strip() or None)

    def _score_canvas(self, problem: Problem, text: str) -> ItemScore:
        return ItemScore(self.kind.check(problem, text), problem.answer(text))


def item_of(name: str, problem: Problem) -> Item:
    return Item(name, problem.canvas, problem.answer(problem.solution), vars(problem))


def problem_of(item: Item) -> Problem:
    return Problem(**item.extra)
