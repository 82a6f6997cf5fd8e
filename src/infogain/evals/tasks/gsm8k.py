"""GSM8K: word problems of school mathematics whose answer is a number.

Janet's ducks lay 16 eggs per day. She eats three for breakfast … How much does she make every day? → 18
"""

from __future__ import annotations

from collections.abc import Sequence

from infogain.evals.answers import boxed
from infogain.evals.math_process import compare
from infogain.evals.quantities import is_mixed, last_number, only_number, unit_asked, value
from infogain.evals.source import Hub, Record
from infogain.evals.task import EvalTask, Item, ItemScore, Shot

ASK = "Please reason step by step, and put your final answer within \\boxed{}."
EXAMPLES = (
    (
        "A baker fills 6 trays with 12 rolls each and sells 50 rolls. How many rolls are left?",
        "He bakes 6 * 12 = 72 rolls. After selling 50 there are 72 - 50 = 22 left. The answer is \\boxed{22}.",
    ),
    (
        "Nora reads 15 pages a day from Monday to Friday and 30 pages on Saturday. How many pages does she read?",
        "From Monday to Friday she reads 5 * 15 = 75 pages. With Saturday it is 75 + 30 = 105. "
        "The answer is \\boxed{105}.",
    ),
    (
        "A bus ticket costs $3. A family buys 4 tickets and pays with a $20 note. How much change do they get?",
        "The tickets cost 4 * 3 = 12 dollars. The change is 20 - 12 = 8 dollars. The answer is \\boxed{8}.",
    ),
    (
        "Half of the 48 chairs in a hall are red, and a third of the rest are blue. How many chairs are blue?",
        "48 / 2 = 24 chairs are red, so 24 are not. A third of them is 24 / 3 = 8. The answer is \\boxed{8}.",
    ),
)


class GSM8K(EvalTask):
    """Scored by the last box, or else what follows the last ####, or else the last number."""

    name = "gsm8k"
    about = "word problems of school mathematics"
    files = ("gsm8k.jsonl",)
    hub = Hub("openai/gsm8k", "main")
    stops = ("\n\nQuestion:",)

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [Item(str(i), record.text("question"), gold_of(record)) for i, record in enumerate(records)]

    def examples(self) -> list[Shot]:
        return [Shot(*pair) for pair in EXAMPLES]

    def chat(self, question: str) -> str:
        return f"{question}\n{ASK}"

    def lead(self, question: str) -> str:
        return f"Question: {question}\n{ASK}\nAnswer: "

    def score(self, item: Item, text: str) -> ItemScore:
        short = boxed(text) or after_mark(text)
        unit = unit_asked(item.question)
        number = last_number(text, unit) if short is None else only_number(short, unit)
        if number is not None:
            return ItemScore(value(number) == value(item.gold), number)
        return ItemScore(False, short) if short is None or is_mixed(short) else ItemScore(*compare(item.gold, short))


def after_mark(text: str) -> str | None:
    """The first line behind the last #### that is not blank."""
    _, marker, rest = text.rpartition("####")
    return next((line for line in rest.splitlines() if line.strip()), None) if marker else None


def gold_of(record: Record) -> str:
    _, marker, gold = record.text("answer").rpartition("####")
    number = last_number(gold) if marker else None
    if number is None:
        raise record.wrong("answer", "a solution that ends in #### and a number")
    return number
