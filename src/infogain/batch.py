"""Lanes in flight over one model: what the loop carries from step to step.

Each row of the context stands on the canvas row of the same number: what lies outside a block, as
the model has read it. Rows come and go at block ends only: a lane's next row takes the place of one that is done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from infogain.canvas import Canvas
from infogain.device import upload
from infogain.errors import ContractError
from infogain.lane import Group, Lane
from infogain.marginals import Deferred, Logits, Marginals, exclude_by_lane
from infogain.models.denoiser import Denoiser, Past, check_logits
from infogain.move import FLOATS, Move, Verdict
from infogain.options import Plain
from infogain.provenance import provenance as provenance_of
from infogain.result import Result
from infogain.run import Opening, Run
from infogain.statistics import Spots
from infogain.trace import StepEvent
from infogain.vocabulary import Vocabulary

Openings = list[tuple[Run, Opening]]


def read_back(unread: Sequence[Tensor]) -> list[Verdict]:
    """The step's one read-back to the host: a few numbers per candidate of every lane."""
    table = together(unread).cpu().T
    floats, whole = table[:FLOATS].view(torch.float64).tolist(), table[FLOATS:].tolist()
    return [Verdict(*numbers) for numbers in zip(*floats, *whole, strict=True)]


def together(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


class Batch:
    def __init__(self, model: Denoiser, lanes: Sequence[Lane], trace: bool, provenance: Plain | None = None) -> None:
        self.model, self.provenance = model, provenance or provenance_of(model)
        aligned = model.attention_block is not None
        self.width = 0  # of the widest block that opened since the batch was last empty
        self.runs = [Run(lane, i, aligned, model.device, trace) for i, lane in enumerate(lanes)]
        self.vocabularies = [model.vocabulary.allowing(lane.recipe.eos_ids) for lane in lanes]
        self.canvas: Canvas | None = None  # [C, L]
        self.context: Any = None  # of C rows
        self.calls = 0
        self.step = 0

    @property
    def live(self) -> bool:
        return any(run.live for run in self.runs)

    def admit(self, lane: int, canvas: Canvas, seeds: Sequence[int]) -> None:
        """More rows for a lane, numbered after those it has. They wait where there is no place for them."""
        run = self.runs[lane]
        more = replace(run.lane, canvas=canvas, seeds=seeds)
        more.check(self.model.vocabulary, self.model.attention_block is not None)
        run.admit(canvas, more.row_seeds)

    def open_blocks(self) -> None:
        """One prefill for all rows that are read as a whole, after those that go on from what is kept.

        Either all rows between blocks open theirs or, where every lane holds them back, none.
        """
        if all(run.holds for run in self.runs if run.openings):
            return
        ways = defaultdict[int | None, Openings](list)
        for run in self.runs:
            for way, rows in run.part_openings(self._way):
                ways[way].append((run, rows))
        if ways:
            self._widen(max(run.groups[g].width for each in ways.values() for run, rows in each for g in rows.members))
        whole = ways.pop(None, None)
        pasts = [self._past(going) for going in ways.values()]  # before any row of the context goes
        for going in ways.values():
            self._open(going, pasts.pop(0))  # and what it holds is let go
        if whole:
            self._open(whole, None)

    def _way(self, group: Group) -> int | None:
        """How a row that has finished a block opens the next one. None: it is read as a whole.

        Rows of one number go on together from what is kept. Where columns see what comes after them, these are rows
        of equally wide blocks: beside a wide one, a narrow one would store over columns on its right.
        """
        if self.model.attention_block is not None:
            return 0
        follows = group.now.start == group.kept + group.width
        return group.width if follows and group.opened <= self.model.refresh else None

    def _past(self, going: Openings) -> Past:
        groups = [run.groups[g] for run, rows in going for g in rows.members]
        row = [rows.row for _, rows in going if rows.row is not None]
        known = all(run.traits.beam == 1 for run, _ in going)  # a group is one row of the context
        places = [group.context[0] for group in groups] if known else None
        return Past(self.context, torch.cat(row), [group.kept for group in groups], places)

    def _open(self, opening: Openings, past: Past | None) -> None:
        groups = [run.groups[g] for run, rows in opening for g in rows.members]
        canvas = Canvas.join(*(rows.canvas for _, rows in opening)).fit(max(group.length for group in groups))
        start = [group.now.start for group in groups]
        if past:
            context, logits = self.model.append(canvas, start, self.width, past)
            first_row = self._make_room()
        else:
            first_row = self._make_room()  # what nobody stands on any more goes before there is more
            context, logits = self.model.prefill(canvas, start, self.width, [g.now.start + g.width for g in groups])
        if lacking := [name for name in ("take", "join") if not hasattr(context, name)]:
            raise ContractError(f"a model's context needs take and join; {type(context).__name__} lacks {lacking[0]}.")
        self._check(logits, [len(groups), self.width])
        p = Marginals.of(*self._excluded(logits, [(run, len(rows.members)) for run, rows in opening]))
        if first_row:
            assert self.canvas is not None
            self.context, self.canvas = self.context.join(context), self.canvas.join(canvas)
        else:
            self.context, self.canvas = context, canvas
        for group in groups:
            kept = group.kept if past else None
            group.columns = self.model.columns(group.length, group.now.start, group.width, kept)
            if not past:
                group.opened = 1
        seen = 0
        for run, rows in opening:
            count = len(rows.members)
            own = groups[seen : seen + count]
            run.count((g.number, g.columns[0]) for g in own)
            run.open_blocks(rows, p[seen : seen + count], first_row + seen)
            seen += count

    def propose(self) -> list[tuple[Run, Move]]:
        """Every lane's candidates, distinct ones only; ends with the step's one read-back."""
        moves = [(run, run.propose()) for run in self.runs if run.z is not None]
        verdicts = read_back([move.unread for _, move in moves])
        for run, move in moves:
            count = len(move.unread)
            run.settle(move, verdicts[:count])
            verdicts = verdicts[count:]
        return moves

    def evaluate(self, moves: Sequence[tuple[Run, Move]]) -> None:
        """One forward for all candidates of all lanes, except those that finish their block."""
        going = [(run, move) for run, move in moves if move.going]
        if not going:
            return
        tokens, masked, row = (
            together([getattr(move.ahead, name) for _, move in going]) for name in ("tokens", "masked", "row")
        )
        most = max(max(move.rivals.values()) for _, move in going)
        masks = [(run, sum(run.groups[g].left * n for g, n in move.rivals.items())) for run, move in going]
        spots = Spots(masked, sum(count for _, count in masks))
        logits = self.model.at_masks(tokens, spots, self.context, row, most)
        self._check(logits, [spots.count])
        p = Marginals.at(spots, *self._excluded(logits, masks))
        seen = 0
        for run, move in going:
            run.count((g, run.groups[g].columns[1] * rivals) for g, rivals in move.rivals.items())
            move.p = p[seen : seen + len(move.going)]
            seen += len(move.going)

    def transition(self, moves: Sequence[tuple[Run, Move]]) -> list[StepEvent]:
        """Every lane moves to the best of its candidates."""
        assert self.canvas is not None
        self.step += 1
        return [run.transition(move, self.canvas, self.step - 1) for run, move in moves]

    def leave(self) -> Iterator[tuple[int, int, Result]]:
        """The rows that have finished: lane, number there, and its Result. They are forgotten here."""
        for run in self.runs:
            for prompt, result in run.queue.leave(self.calls):
                yield run.index, prompt, self._signed(result)

    def park(self) -> None:
        """Decoding has broken off: what is in flight counts as finished, as far as it got."""
        for run in self.runs:
            run.park(self.canvas)

    def results(self) -> list[Result]:
        """Of every lane all rows that have not left."""
        self.park()
        return [self._signed(run.queue.result(self.calls)) for run in self.runs]

    def _signed(self, result: Result) -> Result:
        """A result that says which model it comes from, and so does its trace."""
        if result.trace:
            result.trace.provenance = self.provenance
        return replace(result, provenance=self.provenance)

    def _excluded(self, logits: Logits, lanes: Sequence[tuple[Run, int]]) -> tuple[Logits, Vocabulary]:
        """Logits of these lanes, so many rows each, and the vocabulary to read them with."""
        return exclude_by_lane(logits, [(self.vocabularies[run.index], rows) for run, rows in lanes])

    def _check(self, logits: Tensor | Deferred, shape: list[int]) -> None:
        """Counts the call, and makes sure of what came back."""
        self.calls += 1
        check_logits(logits, [*shape, self.model.vocabulary.count])

    def _widen(self, widest: int) -> None:
        """Make room for the widest block that opens; a batch that is empty takes just its width."""
        live = [run for run in self.runs if run.z is not None]
        if live and widest > self.width:
            assert self.canvas is not None
            for run in live:
                run.widen(self.canvas, widest)
        self.width = max(widest, self.width) if live else widest

    def _make_room(self) -> int:
        """Drop context rows that no live group stands on; returns how many stay."""
        groups = [run.groups[g] for run in self.runs for g in dict.fromkeys(run.members)]
        stay = sorted(row for group in groups for row in group.context)
        if not stay:
            self.context = None
            return 0
        assert self.canvas is not None
        if len(stay) < len(self.canvas.length):
            self.context = self.context.take(stay)
            self.canvas = self.canvas.take(upload(stay, self.model.device))
            moved = {old: new for new, old in enumerate(stay)}
            renumber = upload([moved.get(old, 0) for old in range(stay[-1] + 1)], self.model.device)
            for group in groups:
                group.context = [moved[row] for row in group.context]
            for run in self.runs:
                if run.z is not None:
                    run.z = replace(run.z, row=renumber[run.z.row])
        return len(stay)
