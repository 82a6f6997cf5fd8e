"""MBPP, sanitized: a Python function from one sentence and its tests.

Write a function to find the shared elements from the given two lists. → def similar_elements(…): …
"""

from __future__ import annotations

from collections.abc import Sequence

from infogain.evals.code import CodeTask, import_line
from infogain.evals.snippets import read_program
from infogain.evals.source import Hub, Record
from infogain.evals.task import Item, Shot

TEST = range(11, 511)  # ids of the test split; 1 to 10 are for prompts, those above for training
EXAMPLES = (
    (
        "Write a function to find the number of vowels in a word.\n"
        "Your code should pass these tests:\n\nassert vowels('tree') == 2\nassert vowels('sky') == 0",
        "def vowels(word):\n    return sum(letter in 'aeiou' for letter in word)\n",
    ),
    (
        "Write a function to reverse the order of the words in a sentence.\n"
        "Your code should pass these tests:\n\nassert turn('a b c') == 'c b a'",
        "def turn(sentence):\n    return ' '.join(reversed(sentence.split()))\n",
    ),
    (
        "Write a python function to find the largest gap between neighbours of a sorted list.\n"
        "Your code should pass these tests:\n\nassert gap([1, 2, 7]) == 5",
        "def gap(numbers):\n    return max(b - a for a, b in zip(numbers, numbers[1:]))\n",
    ),
)


class MBPP(CodeTask):
    """Right where all tests pass: the answer's code, then the imports and the asserts of the benchmark."""

    name = "mbpp"
    about = "write a Python function (sanitized, test split)"
    files = ("sanitized-mbpp.json",)
    hub = Hub("google-research-datasets/mbpp", "sanitized")
    stops = ("\n\nQuestion:",)

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [item_of(record) for record in records if record.whole("task_id") in TEST]

    def examples(self) -> list[Shot]:
        return [Shot(*pair) for pair in EXAMPLES]

    def chat(self, question: str) -> str:
        return f"{question}\n\nAnswer with the code, and nothing else, in one ```python block."

    def reply(self, shot: Shot) -> str:
        return f"```python\n{shot.answer}```"

    def lead(self, question: str) -> str:
        return f"Question: {question}\nAnswer:\n"

    def program(self, item: Item, text: str) -> str:
        return read_program(text, item.extra["name"])

    def tests(self, item: Item) -> str:
        return import_line(item.extra["name"]) + "\n".join([*item.extra["imports"], *item.extra["tests"], ""])


def item_of(record: Record) -> Item:
    tests, code = record.texts("test_list"), record.text("code")
    question = "\n".join([record.text("prompt"), "Your code should pass these tests:", "", *tests])
    extra = {"tests": tests, "imports": record.texts("test_imports"), "name": function_of(code, tests)}
    return Item(str(record.whole("task_id")), question, code, extra)


def function_of(code: str, tests: Sequence[str]) -> str | None:
    """The function of the solution that the tests call."""
    names = [line[4:].split("(")[0].strip() for line in code.splitlines() if line.startswith("def ")]
    return next((name for name in names if any(f"{name}(" in test for test in tests)), None)
