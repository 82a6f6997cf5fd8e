"""What became of each hypothesis: follows a trace's steps, from a live decode or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from infogain.errors import InputError
from infogain.loop.step import StepEvent
from infogain.loop.trace import Candidate, Row, Trace, TraceStep


@dataclass(frozen=True)
class Hypothesis:
    """One canvas on its way, with the moves that led to it."""

    tokens: list[int]
    moves: tuple[tuple[Row, Candidate], ...] = ()  # as it stood before each step, and what was written
    entropy: dict[int, float] = field(
        default_factory=dict
    )  # of a written column when it was written, else as last seen
    stopped: bool = False  # its block ended with an EOS

    @property
    def cost(self) -> float:
        """H̃ so far."""
        return self.moves[-1][1].cost if self.moves else 0.0

    @property
    def fresh(self) -> frozenset[int]:
        """Columns the last step wrote."""
        return frozenset(self.moves[-1][1].columns if self.moves else ())

    def after(self, row: Row, candidate: Candidate, eos_ids: Sequence[int]) -> Hypothesis:
        tokens = list(self.tokens)
        for column, token in zip(candidate.columns, candidate.tokens, strict=True):
            tokens[column] = token
        ends_block, moves = set(candidate.columns) == set(row.columns), (*self.moves, (row, candidate))
        written = (column for there, its in moves if there.start == row.start for column in its.columns)
        return Hypothesis(
            tokens=tokens,
            moves=moves,
            entropy={**self.entropy, **dict(zip(row.columns, row.entropy, strict=True))},
            stopped=self.stopped or (ends_block and any(tokens[column] in eos_ids for column in written)),
        )


class Story:
    def __init__(self, trace: Trace) -> None:
        """`trace` says where decoding begins; `follow` and `observe` tell what happens next."""
        self.mask_id = trace.mask_id
        self.prompts = trace.canvas
        self.step = 0  # steps followed
        self._eos_ids: Sequence[int] = trace.recipe.get("eos_ids", ())
        self._groups: dict[tuple[int, int], list[Hypothesis]] = {}  # by prompt and independent copy
        self._winner: dict[int, int] = {}  # the copy each prompt's answer comes from, where the end is known

    def observe(self, event: StepEvent) -> None:
        self.follow(event.record().read)

    def follow(self, step: TraceStep) -> None:
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
        """Survivors keep their order, so an attempt's rows are the candidates kept in its last step, one for one."""
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


def tell(trace: Trace, name: str) -> Story:
    """The whole story of a saved trace; `name` tells the reader of an error which trace it is about."""
    story = Story(trace)
    for step in trace.steps:
        try:
            story.follow(step)
        except (IndexError, ValueError) as error:
            raise InputError(
                f"the steps of a trace must follow from each other; step {step.step} of {name} does not. "
                "Was the file edited? Decode again with --trace."
            ) from error
    return story
