r"""MATH-500: competition mathematics whose answer is an expression.

Convert the point $(0,3)$ in rectangular coordinates to polar coordinates. → \left( 3, \frac{\pi}{2} \right)
"""

from __future__ import annotations

from collections.abc import Sequence

from infogain.evals.answers import last_boxes
from infogain.evals.math_process import compare
from infogain.evals.source import Hub, Record
from infogain.evals.task import EvalTask, Item, ItemScore, Shot
from infogain.evals.tasks.gsm8k import ASK

EXAMPLES = (
    ("What is the sum of the roots of $x^2 - 7x + 10 = 0$?", "By Vieta the sum is $7$. The answer is $\\boxed{7}$."),
    (
        "Write $\\frac{6}{8} - \\frac{1}{4}$ in lowest terms.",
        "$\\frac{6}{8} - \\frac{2}{8} = \\frac{4}{8} = \\frac{1}{2}$. The answer is $\\boxed{\\frac{1}{2}}$.",
    ),
    (
        "For which real $x$ is $x - 2 \\geq 0$ and $x < 5$? Answer as an interval.",
        "The first says $x \\geq 2$, the second $x < 5$. The answer is $\\boxed{[2,5)}$.",
    ),
    (
        "How many ways are there to arrange 4 different books on a shelf?",
        "There are $4! = 24$ ways. The answer is $\\boxed{24}$.",
    ),
)


class Math500(EvalTask):
    """Scored by the last box, and those right before it, or else the last expression."""

    name = "math500"
    about = "competition mathematics"
    files = ("math500.jsonl",)
    hub = Hub("HuggingFaceH4/MATH-500")
    length = 512
    stops = ("\n\nProblem:",)

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [Item(r.text("unique_id"), r.text("problem"), r.text("answer")) for r in records]

    def examples(self) -> list[Shot]:
        return [Shot(*pair) for pair in EXAMPLES]

    def chat(self, question: str) -> str:
        return f"{question}\n{ASK}"

    def lead(self, question: str) -> str:
        return f"Problem: {question}\n{ASK}\nSolution: "

    def score(self, item: Item, text: str) -> ItemScore:
        return ItemScore(*compare(item.gold, last_boxes(text) or None, text, item.question))
