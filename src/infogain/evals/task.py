"""The contract of a task: items, a way to pose them, and a score where an answer can be right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from infogain.errors import InputError, UnknownName
from infogain.evals.protocol import Protocol
from infogain.evals.source import Hub, Record, find_file, read_file, read_hub
from infogain.options import Plain
from infogain.text.alphabet import Alphabet
from infogain.text.prompts import Prompt
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Item:
    id: str
    question: str
    gold: str = ""  # a right answer, as the benchmark has it; empty for a task that has none
    extra: Plain = field(default_factory=dict)  # what else the scorer needs


@dataclass(frozen=True)
class Shot:
    """A worked example. None is ever taken from a benchmark."""

    question: str
    answer: str


@dataclass(frozen=True)
class ItemScore:
    right: bool | None  # None: no answer of this task is right or wrong
    answer: str | None  # what was read from the text; None: nothing
    note: str = ""  # why it is wrong, where that can be said


class EvalTask(ABC):
    """A benchmark. Unless its class says otherwise: no examples, 256 tokens, in chat where there is a template."""

    name: str
    about: str
    files: tuple[str, ...] = ()  # names its file may have in a data folder; none: it is not read from one
    hub: ClassVar[Hub | None] = None
    styles: ClassVar[tuple[str, ...]] = ("chat", "plain")
    shots: ClassVar[int] = 0
    length: ClassVar[int] = 256
    seeds: ClassVar[int] = 5  # times each item is decoded
    limit: ClassVar[int | None] = None  # items that are asked, from the first on; None: all
    one_block: ClassVar[bool] = False  # decoded globally, as the paper decodes planning
    stops: ClassVar[tuple[str, ...]] = ()  # strings that end a plain text: where it goes on to the next problem

    @abstractmethod
    def read(self, records: Sequence[Record]) -> list[Item]:
        """The items of the benchmark's test split."""

    @abstractmethod
    def score(self, item: Item, text: str) -> ItemScore: ...

    def scores(self, given: Sequence[tuple[Item, str]], style: str = "chat") -> list[ItemScore]:
        """The scores of several texts that were asked for in this style."""
        return [self.score(item, text) for item, text in given]

    def chat(self, question: str) -> str:
        """The message of the user that poses a question."""
        return question

    def reply(self, shot: Shot) -> str:
        """The message of the assistant that answers an example."""
        return shot.answer

    def lead(self, question: str) -> str:
        """A plain text up to where the answer begins."""
        return f"Question: {question}\nAnswer: "

    def examples(self) -> list[Shot]:
        """Worked examples to choose from."""
        return []

    def gives_away(self, shot: Shot, item: Item) -> bool:
        """Does the example give away this item's answer?"""
        return False

    def items(self, data: Path | None = None) -> tuple[str, list[Item]]:
        """All items with the name of their source: a folder or file, or else the hub."""
        if data is None:
            assert self.hub is not None
            source, records = f"{self.hub.path} ({self.hub.split})", read_hub(self.hub)
        else:
            path = find_file(data, self.files, self.name)
            source, records = path.name, read_file(path)
        items = self.read(records)
        if not items:
            raise InputError(f"{source} must hold test items of {self.name}; it has none.")
        if twice := [name for name, count in Counter(item.id for item in items).items() if count > 1]:
            raise InputError(f"{source}: the items of {self.name} must have different names; two are {twice[0]!r}.")
        return source, items

    def style_for(self, tokenizer: Tokenizer) -> str:
        """The first of its styles that the checkpoint can take."""
        return next(style for style in self.styles if style != "chat" or tokenizer.chats)

    def demand(self) -> None:  # noqa: B027  # most need nothing
        """Raise an error that names what this machine lacks for the task; most tasks need nothing."""

    def remarks(self, protocol: Protocol, items: int) -> list[str]:
        """Sentences to print below the numbers of a run, of a task with so many items; most tasks need none."""
        return []

    def unsupported(self, model: TextModel) -> str | None:
        """Why this model cannot be asked here; None where it can."""
        if not isinstance(model.tokenizer, Alphabet):
            return None
        shown = [self.lead(shot.question) for shot in self.examples()]
        strange = model.tokenizer.strange("".join(shown))
        return f"it does not know the characters {strange}." if strange else None

    def protocol(self, tokenizer: Tokenizer, **given: str | int | None) -> Protocol:
        """The protocol of the task: the settings that are given, and for the rest the task's own."""
        wanted = {name: value for name, value in given.items() if value is not None}
        style = str(wanted.get("style", self.style_for(tokenizer)))
        if style not in self.styles:
            raise UnknownName(f"style of {self.name}:", style, self.styles)
        length = {} if style == "infill" else {"length": self.length}
        own: Plain = {"shots": self.shots, "seeds": self.seeds, "limit": self.limit}
        settings: Plain = {**own, **length, **wanted, "style": style}
        return Protocol(**settings)

    def free_examples(self, items: Sequence[Item]) -> list[Shot]:
        """The worked examples whose question is not that of an item."""
        posed = {_squeezed(item.question) for item in items}
        return [shot for shot in self.examples() if _squeezed(shot.question) not in posed]

    def shots_for(self, item: Item, free: Sequence[Shot], count: int) -> list[Shot]:
        """The first examples that do not give this item's answer away."""
        fair = [shot for shot in free if not self.gives_away(shot, item)]
        if count > len(fair):
            raise InputError(f"{self.name} has {len(fair)} examples to show before item {item.id}; got shots={count}.")
        return fair[:count]

    def build(self, item: Item, shots: Sequence[Shot], style: str) -> Prompt:
        """The prompt of an item: a conversation in chat, else a text."""
        if style == "chat":
            turns = [(self.chat(shot.question), self.reply(shot)) for shot in shots]
            before = [m for asked, said in turns for m in (_says("user", asked), _says("assistant", said))]
            return [*before, _says("user", self.chat(item.question))]
        return "\n\n".join([*(self.lead(s.question) + s.answer for s in shots), self.lead(item.question)])


def _says(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _squeezed(text: str) -> str:
    return " ".join(text.split())
