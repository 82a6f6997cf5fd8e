"""HumanEval: the body of a Python function, from its signature and docstring.

def truncate_number(number: float) -> float: … Return the decimal part of the number. → return number % 1.0
"""

from __future__ import annotations

from collections.abc import Sequence

from infogain.evals.code import CodeTask, import_line
from infogain.evals.snippets import read_program
from infogain.evals.source import Hub, Record
from infogain.evals.task import Item, Shot

EXAMPLES = (
    (
        'def double_all(numbers: list) -> list:\n    """ Return a list with each number doubled. """\n',
        "    return [2 * number for number in numbers]\n",
    ),
    (
        'def is_shouting(text: str) -> bool:\n    """ Is every letter of the text a capital, and is there one? """\n',
        "    return text.isupper()\n",
    ),
    (
        'def count_days(hours: int) -> int:\n    """ How many whole days are in this many hours? """\n',
        "    return hours // 24\n",
    ),
)


class HumanEval(CodeTask):
    """Right where the benchmark's own tests pass: prompt, completion, tests, check(entry_point)."""

    name = "humaneval"
    about = "complete a Python function"
    files = ("humaneval.jsonl", "HumanEval.jsonl")
    hub = Hub("openai/openai_humaneval")
    stops = ("\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\n#", "\n@", "\n```")

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [
            Item(
                record.text("task_id"),
                record.text("prompt"),
                record.text("canonical_solution"),
                {"test": record.text("test"), "entry_point": record.text("entry_point")},
            )
            for record in records
        ]

    def examples(self) -> list[Shot]:
        return [Shot(*pair) for pair in EXAMPLES]

    def chat(self, question: str) -> str:
        return (
            "Complete this Python function. Answer with the whole function, and nothing else, in one block.\n"
            f"```python\n{question.strip()}\n```"
        )

    def reply(self, shot: Shot) -> str:
        return f"```python\n{shot.question}{shot.answer}```"

    def lead(self, question: str) -> str:
        return question

    def program(self, item: Item, text: str) -> str:
        """The prompt with the answer in its place, be that a body or the function once more."""
        return read_program(text, item.extra["entry_point"], before=item.question)

    def tests(self, item: Item) -> str:
        """The tests, after the prompt, which defines its helpers again: a program could have changed them to please."""
        name = item.extra["entry_point"]
        return f"{item.question}\n    pass\n{import_line(name)}{item.extra['test']}\ncheck({name})\n"
