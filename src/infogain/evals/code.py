"""Programs in answers: found among the words around them, and run in the sandbox."""

from __future__ import annotations

import ast
import re
import textwrap
from abc import abstractmethod
from collections.abc import Sequence

from infogain.evals.task import Item, Score, Task

FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
BEGINS = re.compile(r"^(?:def |async def |class |import |from |@)", re.MULTILINE)


def find_code(text: str, name: str | None = None) -> str:
    """The fenced block that defines `name`, the last of several, or the first block; without fences, what is code."""
    blocks: list[str] = FENCE.findall(text)
    if blocks:
        return next((block for block in reversed(blocks) if name and defines(block, name)), blocks[0])
    begin = None if parses(text) else BEGINS.search(text)
    return longest_code(text[begin.start() :] if begin else text)


def defines(code: str, name: str) -> bool:
    return re.search(rf"^\s*(?:async )?def {re.escape(name)}\b", code, re.MULTILINE) is not None


def longest_code(text: str, before: str = "") -> str:
    """The most lines that, after what stands before them, are a program: prose behind it is left out."""
    lines = text.split("\n")
    for end in range(len(lines), 0, -1):
        code = "\n".join(lines[:end])
        if parses(before + code):
            return code
    return text  # for the sandbox to find the mistake


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def as_body(code: str) -> str:
    """Indented as the body of a function, where it is not."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    return code if first.startswith((" ", "\t")) else textwrap.indent(code, "    ")


class CodeTask(Task):
    """A task whose answers are programs, run in the sandbox, or where somebody says so without its walls."""

    def __init__(self, unsafe: bool = False) -> None:
        self.unsafe = unsafe

    @abstractmethod
    def program(self, item: Item, text: str) -> str:
        """What the text comes to, as a program."""

    @abstractmethod
    def tests(self, item: Item) -> str:
        """What must run to its end for the program to be right."""

    def demand(self) -> None:
        from infogain.sandbox import has_walls

        has_walls(self.unsafe)

    def score(self, item: Item, text: str) -> Score:
        return self.scores([(item, text)])[0]

    def scores(self, given: Sequence[tuple[Item, str]]) -> list[Score]:
        """All at once, as many as there are cores."""
        from infogain.sandbox import run_many

        programs = [self.program(item, text) for item, text in given]
        tests = [self.tests(item) for item, _ in given]
        outcomes = run_many(list(zip(programs, tests, strict=True)), unsafe=self.unsafe)
        return [Score(o.ok, code, "" if o.ok else o.status) for o, code in zip(outcomes, programs, strict=True)]


def taken(name: str | None) -> str:
    """The line of tests that makes `name` the program's, even where Python or the problem has one."""
    return f"from program import {name}\n" if name else ""
