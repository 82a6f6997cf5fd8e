"""Programs in answers: found among the words around them, and run in the sandbox."""

from __future__ import annotations

import ast
import re
import textwrap

from infogain.evals.task import Score, Task
from infogain.text import TextModel

FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
BEGINS = re.compile(r"^(?:def |async def |class |import |from |@)", re.MULTILINE)


def find_code(text: str, name: str | None = None) -> str:
    """The fenced block that defines `name`, the last of several, or the first block; without fences, what is code."""
    blocks: list[str] = FENCE.findall(text)
    if blocks:
        return next((block for block in reversed(blocks) if name and defines(block, name)), blocks[0])
    begin = BEGINS.search(text)
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

    def unfit(self, model: TextModel) -> str | None:
        if (unknown := super().unfit(model)) or self.unsafe:
            return unknown
        from infogain.sandbox import ready

        reason = ready()
        return reason and (
            f"its programs are run in a sandbox, which cannot be used here: {reason}. On a machine that may be harmed, "
            "--allow-unsafe runs them all the same."
        )

    def run(self, code: str, name: str | None, tests: str) -> Score:
        """Right where the tests run to their end; the function `name` is the answer's even where Python has one."""
        from infogain.sandbox import run_code

        own = f"from program import {name}\n" if name else ""
        outcome = run_code(code, own + tests, unsafe=self.unsafe)
        return Score(outcome.ok, code, "" if outcome.ok else outcome.status)
