"""Table 5, its texts: open-ended writing, from AlpacaEval's prompts or the user's own. No text is right or wrong.

What are the names of some famous actors that started their careers on Broadway? → any text
"""

from __future__ import annotations

from collections.abc import Sequence

from infogain.evals.protocol import Protocol
from infogain.evals.source import Hub, Record
from infogain.evals.task import EvalTask, Item, ItemScore
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel

PAPER = 200  # prompts of AlpacaEval that the paper selects, without naming them
FIELDS = ("instruction", "prompt")  # AlpacaEval's name of a prompt, and that of `infogain generate --file`
JUDGED = (
    "No text is right or wrong here. `infogain judge RUN RUN` asks a judge whose texts are better; "
    "`infogain results RUN --model-outputs FILE` writes them as AlpacaEval does."
)


class Writing(EvalTask):
    """Texts to be judged. A judge is asked about each text, so that prompts are decoded once unless more is asked."""

    name = "writing"
    about = "open-ended texts, which a judge compares (infogain judge)"
    files = ("alpaca_eval.json", "prompts.jsonl", "prompts.json", "prompts.txt")
    hub = Hub("tatsu-lab/alpaca_eval", split="eval", file="alpaca_eval.json")
    length = 1024
    seeds = 1
    limit = PAPER

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [Item(str(i), prompt_of(record)) for i, record in enumerate(records)]

    def lead(self, question: str) -> str:
        return f"{question}\n\n"

    def score(self, item: Item, text: str) -> ItemScore:
        return ItemScore(None, None)

    def remarks(self, protocol: Protocol, items: int) -> list[str]:
        if protocol.limit is None or protocol.limit >= items:
            return [JUDGED]
        said = f"{self.name}: the first {protocol.limit} of {items} prompts; --limit asks for more or fewer."
        silent = f" The paper has {PAPER} of AlpacaEval's and does not name them."
        return [said + (silent if protocol.limit == PAPER else ""), JUDGED]

    def unsupported(self, model: TextModel) -> str | None:
        return "it knows the zoo's problems and no words." if isinstance(model.tokenizer, Alphabet) else None


def prompt_of(record: Record) -> str:
    """The prompt of an entry, which is AlpacaEval's or the user's own."""
    name = next((name for name in FIELDS if name in record.values), FIELDS[-1])
    prompt = record.text(name)
    if not prompt.strip():
        raise record.wrong(name, "a text that is not blank")
    return prompt
