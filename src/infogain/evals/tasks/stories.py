"""Table 7, its texts: short stories, letters and poems that must not fall apart, however few steps they are written in.

Write a story about a cat. → Once upon a time, there was a small grey cat who lived above a bakery …

The paper has 50 prompts and publishes neither them nor how a text is judged. Ours stand in stories.txt, and
`infogain.evals.coherence` is the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infogain.evals.coherence import faults
from infogain.evals.source import Record
from infogain.evals.task import EvalTask, Item, ItemScore
from infogain.evals.tasks.writing import prompt_of
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel

PROMPTS = Path(__file__).with_name("stories.txt")
SOUND = "no fault"


class Stories(EvalTask):
    """Right where the rule finds neither severe repetition nor broken grammar. What a text is about does not count."""

    name = "stories"
    about = "short texts that must not repeat themselves or fall apart"
    files = ("prompts.jsonl", "prompts.json", "prompts.txt")
    length = 80

    def items(self, data: Path | None = None) -> tuple[str, list[Item]]:
        """The user's own prompts, or else those that come with the package."""
        return super().items(PROMPTS if data is None else data)

    def read(self, records: Sequence[Record]) -> list[Item]:
        return [Item(str(i), prompt_of(record), SOUND) for i, record in enumerate(records)]

    def lead(self, question: str) -> str:
        return f"{question}\n\n"

    def score(self, item: Item, text: str) -> ItemScore:
        found = faults(text)
        answer = f"{len(found)} fault{'' if len(found) == 1 else 's'}" if found else SOUND
        return ItemScore(not found, answer, "; ".join(found))

    def unsupported(self, model: TextModel) -> str | None:
        return "it knows the zoo's problems and no words." if isinstance(model.tokenizer, Alphabet) else None
