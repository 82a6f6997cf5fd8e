"""Tasks whose answers are programs, run in the sandbox."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from infogain.evals.task import EvalTask, Item, ItemScore


class CodeTask(EvalTask):
    """A task whose answers are programs, run in the sandbox, or where somebody says so without its walls."""

    def __init__(self, unsafe: bool = False) -> None:
        self.unsafe = unsafe

    @abstractmethod
    def program(self, item: Item, text: str) -> str:
        """The program that a text holds."""

    @abstractmethod
    def tests(self, item: Item) -> str:
        """Python that runs to its end if the program is right."""

    def demand(self) -> None:
        from infogain.sandbox import has_walls

        has_walls(self.unsafe)

    def score(self, item: Item, text: str) -> ItemScore:
        return self.scores([(item, text)])[0]

    def scores(self, given: Sequence[tuple[Item, str]], style: str = "chat") -> list[ItemScore]:
        """All at once, as many as this process may use cores."""
        from infogain.sandbox import run_many

        programs = [self.program(item, text) for item, text in given]
        tests = [self.tests(item) for item, _ in given]
        outcomes = run_many(list(zip(programs, tests, strict=True)), unsafe=self.unsafe)
        return [ItemScore(o.ok, code, "" if o.ok else o.status) for o, code in zip(outcomes, programs, strict=True)]


def import_line(name: str | None) -> str:
    """The line of tests that makes `name` the program's, even where Python or the problem has one."""
    return f"from program import {name}\n" if name else ""
