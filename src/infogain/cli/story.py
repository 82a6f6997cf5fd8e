"""What became of each hypothesis: follows a trace's steps, from a live decode or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from infogain.trace import Candidate, Row, Step, StepEvent, Trace


@dataclass(frozen=True)
class Hypothesis:
    """One canvas on its way, with all that was paid for it."""

    tokens: list[int]
    cost: float = 0.0  # H̃ so far
    entropy: dict[int, float] = field(
        default_factory=dict
    )  # of a written column when it was written, else as last seen
    fresh: frozenset[int] = frozenset()  # columns the last step wrote
    path: tuple[tuple[int, float], ...] = ((0, 0.0),)  # tokens written and H̃, after each step
    stopped: bool = False  # its block ended with an EOS

    def after(self, row: Row, candidate: Candidate, eos_ids: Sequence[int]) -> Hypothesis:
        tokens = list(self.tokens)
        for column, token in zip(candidate.columns, candidate.tokens, strict=True):
            tokens[column] = token
        ends_block = set(candidate.columns) == set(row.columns)
        return Hypothesis(
            tokens=tokens,
            cost=candidate.cost,
            entropy={**self.entropy, **dict(zip(row.columns, row.entropy, strict=True))},
            fresh=frozenset(candidate.columns),
            path=(*self.path, (self.path[-1][0] + len(candidate.columns), candidate.cost)),
            stopped=self.stopped or (ends_block and not set(eos_ids).isdisjoint(tokens[row.start :])),
        )


class Story:
    def __init__(self, trace: Trace) -> None:
        """`trace` says where decoding begins; `follow` and `observe` tell what happens next."""
        self.mask_id = trace.mask_id
        self.prompts = trace.canvas
        self.step = 0  # steps followed
        self._eos_ids: Sequence[int] = trace.recipe.get("eos_ids", ())
        self._live = Trace(trace.recipe, trace.mask_id, trace.canvas)  # reads the events of a decode
        self._groups: dict[tuple[int, int], list[Hypothesis]] = {}  # by prompt and independent copy
        self._winner: dict[int, int] = {}  # the copy each prompt's answer comes from, where the end is known

    def observe(self, event: StepEvent) -> None:
        self._live.record(event)
        self.follow(self._live.steps[-1])

    def follow(self, step: Step) -> None:
        for (prompt, copy), rows in groupby(step.rows, key=lambda row: (row.prompt, row.copy)):
            self._groups[prompt, copy] = self._advance(prompt, copy, list(rows))
        self.step += 1

    def foretell(self, end: Story) -> None:
        """Show the copies that win in the end, so that a replay does not jump between them."""
        for prompt in range(len(self.prompts)):
            best = end.best(prompt)
            self._winner[prompt] = next((c for (p, c), hs in end._groups.items() if p == prompt and best in hs), 0)

    def best(self, prompt: int) -> Hypothesis:
        """The hypothesis of least H̃, which is how the decode picks its answer."""
        copy = self._winner.get(prompt)
        known = [h for (p, c), hs in self._groups.items() if p == prompt and copy in (None, c) for h in hs]
        return min(known, key=lambda h: h.cost, default=Hypothesis(self.prompts[prompt]))

    def _advance(self, prompt: int, copy: int, rows: list[Row]) -> list[Hypothesis]:
        """Survivors keep their order, so a step's rows are the last step's kept candidates, one for one."""
        before = self._groups.get((prompt, copy), [Hypothesis(self.prompts[prompt])])
        stopped = [h for h in before if h.stopped] if len(before) != len(rows) else []
        going = [h for h in before if h not in stopped]
        after = [
            parent.after(row, candidate, self._eos_ids)
            for parent, row in zip(going, rows, strict=True)
            for candidate in row.candidates
            if candidate.kept
        ]
        return stopped + after


def mean_path(stories: Iterable[Hypothesis]) -> list[tuple[int, float]]:
    """Mean H̃ of hypotheses that move in step, against the tokens written."""
    totals: dict[int, list[float]] = {}
    for hypothesis in stories:
        for written, cost in hypothesis.path:
            totals.setdefault(written, []).append(cost)
    return [(written, sum(costs) / len(costs)) for written, costs in sorted(totals.items())]
