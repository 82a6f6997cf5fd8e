"""Problems and tasks: a task draws problems from a seed, in three splits that never share one, and checks answers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import TypeVar

from torch import Tensor

from infogain.errors import InputError, UnknownName
from infogain.zoo.characters import ALPHABET, EOS, MASK, Alphabet

T = TypeVar("T", str, int)  # a token of a text: a character, or an id
SPLITS = ("train", "validation", "test")
PATIENCE = 1000  # draws for each problem before a split counts as exhausted


@dataclass(frozen=True)
class Problem:
    identity: str  # what makes two problems the same one; decides the split
    canvas: str  # what is given, and masks where something is to be written
    solution: str  # the canvas filled in, one of the right ways

    @property
    def prompt(self) -> str:
        """The part of the canvas before the first mask."""
        return self.canvas[: self.canvas.index(MASK)]

    def answer(self, text: str) -> str:
        """The part of a filled text after the prompt, without the end marks that fill its tail."""
        return text[len(self.prompt) :].rstrip(EOS)


class Task(ABC):
    """A kind of problem that models of the zoo learn.

    All canvases of a task have the same width; the first column is its tag, which tasks of one kind share.
    """

    alphabet: Alphabet = ALPHABET  # the tokens that its texts are written in
    name: str
    about: str
    numbers: str = ""  # those that are drawn: a model trained on the task knows no others
    tag: str
    width: int
    unconditional: bool = False  # there is one canvas only, so nothing can be held out
    many: bool = False  # problems have many right answers, so that how different they are counts too
    version: int = 1  # of its canvases and its check: a change makes stale what studies have kept
    taught_by: str | None = None  # the task whose texts teach this one, which has none of its own

    @abstractmethod
    def draw(self, rng: Random) -> Problem:
        """A problem of any split."""

    @abstractmethod
    def right(self, problem: Problem, text: str) -> bool:
        """Is this filled canvas a right answer? Any right one counts."""

    @abstractmethod
    def chat(self, problem: Problem) -> str:
        """The problem as a message to an instruction-tuned model."""

    @abstractmethod
    def check_chat(self, problem: Problem, reply: str) -> bool:
        """Is the answer found in this free text right?"""

    def answer_in(self, reply: str) -> str:
        """The answer that a free reply holds, in one form, to tell different ones apart."""
        return reply.strip()

    def form(self, answer: str) -> str:
        """An answer in the one form in which all that mean the same are equal."""
        return answer

    def pose(self, problem: Problem, rng: Random) -> Problem:
        """A problem as it is asked: as it was drawn, or with more columns given. Training takes it as it was drawn."""
        return problem

    def several(self, problem: Problem) -> bool:
        """Has this problem more than one right answer?"""
        return self.many

    def missing(self) -> str | None:
        """How to install what `check` needs; None where all of it is there."""
        return None

    def sound(self, problem: Problem, text: str) -> bool:
        """Is the way to the answer right, too? Like `check` where the answer is all there is."""
        return self.check(problem, text)

    def check(self, problem: Problem, text: str) -> bool:
        """Nothing given was changed, no mask or strange character is left, and the answer is right."""
        try:
            canvas, written = map(self.alphabet.encode, (problem.canvas, text))
        except InputError:  # a token that its texts cannot have
            return False
        return fits(canvas, written, self.alphabet.mask_id) and self.right(problem, text)

    def sample(self, rng: Random, split: str, posed: bool = True) -> Problem:
        """A problem of this split, as it is asked, or as training takes it."""
        if split not in SPLITS:
            raise UnknownName("split", split, SPLITS)
        while True:
            problem = self.draw(rng)
            if self.unconditional or self.split(problem) == split:
                return self.pose(problem, rng) if posed else problem

    def split(self, problem: Problem) -> str:
        return split_of(self.name, problem.identity)

    def problems(self, count: int, split: str, seed: int = 0) -> list[Problem]:
        """`count` problems of a split, no canvas twice (an unconditional task has one canvas only)."""
        return list(_problems(self, count, split, seed))


class FileTask(Task):
    """A task whose training texts are not drawn but read from a file that somebody else has made."""

    source: str  # that file, in words

    @abstractmethod
    def texts(self, data: Path, split: str) -> Tensor:
        """All texts of a split, in tokens; any column of them may be masked. [texts, width]"""


@lru_cache(maxsize=64)
def _problems(task: Task, count: int, split: str, seed: int) -> tuple[Problem, ...]:
    """The problems of a split, remembered: every cell of a study asks for them, and some take seconds to draw."""
    rng = Random(f"{task.name} {split} {seed}")
    found: dict[str, Problem] = {}
    for _ in range(PATIENCE * count):
        problem = task.sample(rng, split)
        found[str(len(found)) if task.unconditional else problem.canvas] = problem
        if len(found) == count:
            return tuple(found.values())
    raise InputError(f"{task.name} has about {len(found)} {split} problems; got a call for {count}. Ask for fewer.")


def split_of(name: str, identity: str) -> str:
    """Eight of ten identities are for training, one for validation, one for the test."""
    digest = blake2b(f"{name} {identity}".encode(), digest_size=8).digest()
    return {8: "validation", 9: "test"}.get(int.from_bytes(digest, "big") % 10, "train")


def fits(canvas: Sequence[T], text: Sequence[T], mask: T) -> bool:
    """Is the text this canvas with every mask, and nothing else, written over?"""
    kept = len(canvas) == len(text) and all(old in (mask, new) for old, new in zip(canvas, text, strict=True))
    return kept and mask not in text


def is_canvas(problem: Problem, text: str) -> bool:
    """Is the text a canvas of this task, right or wrong?

    It is one line that begins as one, that kept half of what was given, or that is as wide and has a canvas's marks.
    """
    kept = [new == old for old, new in zip(problem.canvas, text, strict=False) if old != MASK]
    marked = len(text) == len(problem.canvas) and not {EOS, MASK}.isdisjoint(text)
    like = re.match(beginning(problem), text) is not None or 2 * sum(kept) >= max(1, len(kept)) or marked
    return like and "\n" not in text


def beginning(problem: Problem) -> str:
    """A pattern of what is given before the first mask, and of that column: any tag, number or word for each of its."""
    parts = re.findall("([0-9_]+)|([a-z]+)|(.)", problem.canvas[1 : len(problem.prompt) + 1])
    return "[A-Z]" + "".join(
        "[0-9_]+" if number else "[a-z]+" if word else re.escape(sign) for number, word, sign in parts
    )
