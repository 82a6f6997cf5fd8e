"""Where finished texts are scored, and written down at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from infogain.evals.runs import TRACES, Run
from infogain.evals.task import Item, Score, Task
from infogain.generate import Generation
from infogain.options import Plain


class Came(NamedTuple):
    """A text as it came from the model."""

    seed: int  # number of the seed
    item: int  # number of the item
    text: Generation
    rest: Plain  # its time, and what the bypass did


@dataclass
class Desk:
    """Texts wait here until the step they came out at is over; then they are scored together."""

    task: Task
    items: list[Item]
    style: str  # in which they were asked
    recipe: str  # its hash
    run: Run
    add: Callable[[Plain], Plain]  # what is written
    waiting: list[Came] = field(default_factory=list)
    written: list[Plain] = field(default_factory=list)

    def settle(self) -> None:
        """Score and write what waits."""
        if not self.waiting:
            return
        given = [(self.items[came.item], came.text.text) for came in self.waiting]
        scores = self.task.scores(given, self.style)
        for came, score in zip(self.waiting, scores, strict=True):
            self.written.append(self.add(self._line(came, score)))
        self.waiting.clear()

    def collect(self) -> Iterator[Plain]:
        """What was written since the last time."""
        lines, self.written = self.written, []
        yield from lines

    def _line(self, came: Came, score: Score) -> Plain:
        """As `infogain.evals.runs` describes it."""
        item, text = self.items[came.item], came.text
        return {
            "key": {"task": self.task.name, "item": item.id, "seed": came.seed, "recipe": self.recipe},
            "score": int(score.right),
            "prompt": text.prompt,
            "text": text.text,
            "answer": score.answer,
            "gold": item.gold,
            **({"note": score.note} if score.note else {}),
            "cumulative_entropy": text.cumulative_entropy,
            "forwards": text.forwards,
            "token_forwards": text.token_forwards,
            "committed": text.committed,
            **came.rest,
            "seed": text.seed,
            "finish": text.finish,
            **({} if text.trace is None else {"trace": self._keep_trace(came)}),
        }

    def _keep_trace(self, came: Came) -> str:
        """Before the line that names it."""
        (self.run.folder / TRACES).mkdir(exist_ok=True)
        path = self.run.folder / TRACES / f"{came.item:05}-{came.seed}.jsonl"
        assert came.text.trace is not None
        came.text.trace.save(path)
        return str(path.relative_to(self.run.folder))
