"""The rows that blocks stand on: what lies outside each block, as canvas and as the model has read it.

Row i of the context belongs to row i of the canvas. Rows come when blocks open, and go when no live hypothesis stands
on them any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals, exclude_by_lane
from infogain.device import upload
from infogain.errors import ContractError
from infogain.loop.live import LiveLane
from infogain.loop.request import Attempt, Parked
from infogain.models.denoiser import Denoiser, Past, check_logits

Openings = list[tuple[LiveLane, Parked]]


class Contexts:
    def __init__(self, model: Denoiser) -> None:
        self.model = model
        self.width = 0  # of the widest block, of those that are open
        self.canvas: Canvas | None = None  # [C, L]
        self.context: Any = None  # of C rows
        self.calls = 0  # of the model

    def clear(self) -> None:
        """Nothing is decoded at present: hold no memory for it."""
        self.canvas = self.context = None

    def open_blocks(self, lanes: Sequence[LiveLane]) -> None:
        """One prefill for all rows that are read as a whole, after those that go on from what the model keeps.

        Either all rows between blocks open theirs or, where every lane holds them back, none.
        """
        for lane in lanes:
            lane.fill()
        between = [lane for lane in lanes if lane.parked]
        if between and all(lane.waits_for_others for lane in between):
            return
        self._fit(lanes)
        ways = defaultdict[int | None, Openings](list)
        for lane in between:
            for way, parked in lane.openings():
                ways[way].append((lane, parked))
        whole = ways.pop(None, None)
        for way in list(ways):
            self._open(lanes, ways.pop(way), going_on=True)  # and what it holds is let go
        if whole:
            self._open(lanes, whole, going_on=False)
        for lane in lanes:
            lane.rows_changed = False

    def _fit(self, lanes: Sequence[LiveLane]) -> None:
        """Blocks are as wide as the widest of them; where a wider one opens, or the widest has left, all others fit."""
        self.width = max((lane.widest for lane in lanes), default=0)
        for lane in lanes:
            lane.fit(self.canvas, self.width)

    def _past(self, opening: Openings) -> Past:
        attempts = [attempt for _, parked in opening for attempt in parked.attempts]
        row = [parked.row for _, parked in opening if parked.row is not None]
        known = all(lane.traits.beam == 1 for lane, _ in opening)  # an attempt is one row of the context
        host_rows = [attempt.context[0] for attempt in attempts] if known else None
        return Past(opening[0][1].context, torch.cat(row), [attempt.previous_start for attempt in attempts], host_rows)

    def _open(self, lanes: Sequence[LiveLane], opening: Openings, going_on: bool) -> None:
        attempts = [attempt for _, parked in opening for attempt in parked.attempts]
        canvas = Canvas.join(*(parked.canvas for _, parked in opening)).fit(max(a.request.length for a in attempts))
        start = [attempt.now.start for attempt in attempts]
        if going_on:
            context, logits = self.model.append(canvas, start, self.width, self._past(opening))
            first_row = self._make_room(lanes)
        else:
            first_row = self._make_room(lanes)  # what nobody stands on any more goes before there is more
            end = [attempt.now.start + attempt.width for attempt in attempts]
            context, logits = self.model.prefill(canvas, start, self.width, end)
        if lacking := [name for name in ("take", "join") if not hasattr(context, name)]:
            raise ContractError(f"a model's context needs take and join; {type(context).__name__} lacks {lacking[0]}.")
        check_logits(logits, [len(attempts), self.width, self.model.vocabulary.count])
        self.calls += 1
        vocabularies = [(lane.vocabulary, len(parked.attempts)) for lane, parked in opening]
        p = Marginals.of(*exclude_by_lane(logits, vocabularies))
        if first_row:
            assert self.canvas is not None
            self.context, self.canvas = self.context.join(context), self.canvas.join(canvas)
        else:
            self.context, self.canvas = context, canvas
        for lane, parked in opening:
            count = len(parked.attempts)
            self._count(lane, parked.attempts, going_on)
            lane.open(parked, p[:count], first_row)
            p, first_row = p[count:], first_row + count

    def _count(self, lane: LiveLane, attempts: Sequence[Attempt], going_on: bool) -> None:
        """Note what each attempt's block takes to open, and then for each candidate."""
        for attempt in attempts:
            kept = attempt.previous_start if going_on else None
            attempt.columns = self.model.columns(attempt.request.length, attempt.now.start, attempt.width, kept)
            attempt.opened = attempt.opened if going_on else 1
        lane.scheduler.count((attempt, attempt.columns[0]) for attempt in attempts)

    def _make_room(self, lanes: Sequence[LiveLane]) -> int:
        """Drop context rows that no live attempt stands on; returns how many stay."""
        stay = sorted(row for lane in lanes for attempt in lane.scheduler.live_attempts for row in attempt.context)
        if not stay:
            self.context = None
            return 0
        assert self.canvas is not None
        if len(stay) < len(self.canvas.length):
            index = upload(stay, self.model.device)
            self.context, self.canvas = self.context.take(stay), self.canvas.take(index)
            for lane in lanes:
                lane.renumber({old: new for new, old in enumerate(stay)})
        return len(stay)
