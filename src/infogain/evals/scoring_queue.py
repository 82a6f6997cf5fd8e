"""A queue of decoded texts: they are scored together once a step is over, and written down at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from infogain.evals.runs import TRACES, Run
from infogain.evals.task import EvalTask, Item, ItemScore
from infogain.generate import Generation
from infogain.options import Plain


class Completion(NamedTuple):
    """A text that the model has finished, and what it is an answer to."""

    seed: int  # number of the seed
    item: int  # number of the item
    text: Generation
    measured: Plain  # its time, and how often the bypass decided a step


@dataclass
class ScoringQueue:
    """Texts wait here until the step that finished them is over; then they are scored together."""

    task: EvalTask
    items: list[Item]
    style: str  # how the items are posed
    recipe_hash: str
    run: Run
    add: Callable[[Plain], Plain]  # appends a line to the run, and returns it
    waiting: list[Completion] = field(default_factory=list)
    written: list[Plain] = field(default_factory=list)

    def score_waiting(self) -> None:
        """Score the texts that wait, and write a line for each."""
        if not self.waiting:
            return
        given = [(self.items[done.item], done.text.text) for done in self.waiting]
        scores = self.task.scores(given, self.style)
        for done, score in zip(self.waiting, scores, strict=True):
            self.written.append(self.add(self._line(done, score)))
        self.waiting.clear()

    def take_written(self) -> Iterator[Plain]:
        """The lines that were written since the last call."""
        lines, self.written = self.written, []
        yield from lines

    def _line(self, done: Completion, score: ItemScore) -> Plain:
        """The line of items.jsonl, as `infogain.evals.runs` describes it."""
        item, text = self.items[done.item], done.text
        return {
            "key": {"task": self.task.name, "item": item.id, "seed": done.seed, "recipe": self.recipe_hash},
            "score": None if score.right is None else int(score.right),
            "prompt": text.prompt,
            "text": text.text,
            "answer": score.answer,
            "gold": None if score.right is None else item.gold,
            **({"note": score.note} if score.note else {}),
            "cumulative_entropy": text.cumulative_entropy,
            "forwards": text.forwards,
            "token_forwards": text.token_forwards,
            "committed": text.committed,
            **done.measured,
            "seed": text.seed,
            "finish": text.finish,
            **({} if text.trace is None else {"trace": self._save_trace(done)}),
        }

    def _save_trace(self, done: Completion) -> str:
        """Save the trace of a text, before the line that names it is written; returns its path within the run."""
        (self.run.folder / TRACES).mkdir(exist_ok=True)
        path = self.run.folder / TRACES / f"{done.item:05}-{done.seed}.jsonl"
        assert done.text.trace is not None
        done.text.trace.save(path)
        return str(path.relative_to(self.run.folder))
