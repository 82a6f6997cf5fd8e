"""A lane while it is decoded: the state of its live hypotheses, and those that are between two blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import torch

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals
from infogain.algorithm.state import LINES, Draft, State
from infogain.device import counting, upload
from infogain.loop.lane import Lane
from infogain.loop.request import Attempt, Parked, Request, make_requests
from infogain.loop.scheduler import Scheduler
from infogain.loop.step import Step
from infogain.models.denoiser import Denoiser


class LiveLane:
    """What a Lane asks for, on its way: `scheduler` is the host's side of it, `z` and `parked` are the device's."""

    def __init__(self, lane: Lane, number: int, model: Denoiser) -> None:
        self.recipe = recipe = lane.recipe
        self.lane, self.number, self.device = lane, number, model.device
        self.traits = recipe.sampler.traits
        self.aligned = model.attention_block is not None
        self.eos_ids = upload(recipe.eos_ids, self.device) if recipe.eos_ids else None
        self.vocabulary = model.vocabulary.allowing(recipe.eos_ids)
        self.scheduler = Scheduler(lane.at_once, self.traits.copies, None if self.aligned else model.refresh)
        self.closed = False
        self.rows_changed = True  # rows have come or gone since blocks were last opened
        self.z: State | None = None
        self.parked: list[Parked] = []
        self.admit(lane)

    @property
    def empty(self) -> bool:
        """Whether all its rows have left."""
        return not (self.scheduler.in_flight or self.scheduler.waiting or self.scheduler.finished)

    @property
    def waits_for_others(self) -> bool:
        """Whether rows between blocks are held back, to open theirs together with others."""
        return self.scheduler.waits_for_others(self._between_blocks())

    @property
    def widest(self) -> int:
        """Columns of the widest block, of live hypotheses and of those that are to open one."""
        return max((attempt.width for attempt in (*self.scheduler.live, *self._between_blocks())), default=0)

    def _between_blocks(self) -> list[Attempt]:
        return [attempt for parked in self.parked for attempt in parked.attempts]

    def admit(self, more: Lane) -> range:
        """Rows that have been checked and are decoded as this lane's are; returns their numbers."""
        canvas, first = more.canvas.to(torch.device("cpu")), self.scheduler.admitted
        rows = self.scheduler.admit(make_requests(more.recipe, canvas, more.row_seeds, first, self.aligned))
        self.fill()
        return rows

    def fill(self) -> None:
        """Rows that wait take the places that are free; one without masks leaves its own at once."""
        while arriving := self.scheduler.arrive():
            attempts = [attempt for request in arriving for attempt in request.attempts]
            rows = Canvas.join(*(attempt.request.canvas for attempt in attempts)).to(self.device)
            nothing = torch.zeros(len(attempts), dtype=torch.float64, device=self.device)
            self.end_blocks(Parked(rows, attempts, nothing), [False] * len(attempts))

    def end_blocks(self, parked: Parked, stopped: list[bool]) -> None:
        """Those with more to write wait to open their next block, the others are finished."""
        self.rows_changed = True
        more = self.scheduler.end_blocks(parked.attempts, stopped, self.traits.beam > 1)
        if done := sorted(set(range(len(parked.attempts))) - set(more)):
            parked.take(done).hand_over()
        if more:
            self.parked.append(parked.take(more))

    def openings(self) -> list[tuple[int | None, Parked]]:
        """What is parked, by the way its rows are read; None: as a whole."""
        parts = []
        for parked in self.parked:
            ways = [None if parked.row is None else self.scheduler.way_to_open(attempt) for attempt in parked.attempts]
            for way in dict.fromkeys(ways):
                part = parked.take([h for h, other in enumerate(ways) if other == way])
                parts.append((way, replace(part, row=None, context=None) if way is None else part))
        self.parked = [parked for _, parked in parts]
        return parts

    def open(self, parked: Parked, p: Marginals, first_row: int) -> None:
        """The model has read these rows: they join the live state, on context rows from `first_row` on."""
        attempts = parked.attempts
        lines = self.scheduler.enter(attempts, first_row)
        table = upload([*lines, [attempt.width for attempt in attempts]], self.device)
        table, width = table[: len(LINES)], table[len(LINES)]
        tokens, masked = parked.canvas.view(table[LINES.index("start")], p.entropy.shape[1])
        # another row's block may be wider; the columns past our own wait for our next block
        masked &= counting(tokens.shape[1], self.device) < width[:, None]
        draft = Draft(table, parked.cost, tokens, masked, torch.full_like(tokens, -1))
        z = self.with_places(draft.seen(p, before=(p,) * self.traits.memory), attempts)
        self.z = self.z.join(z) if self.z else z
        self.parked.remove(parked)

    def with_places(self, z: State, attempts: Sequence[Attempt]) -> State:
        """Every place of an attempt has a noise stream of its own; its first place has the attempt's."""
        if self.traits.beam == 1:
            return z
        place = [i for _, same in groupby(attempts) for i, _ in enumerate(same)]
        seed, at = upload([[attempt.seed for attempt in attempts], place], self.device)
        return z.with_line("seed", noise.fork(seed, noise.PLACE, at))

    def fit(self, canvas: Canvas | None, width: int) -> None:
        """Blocks of another width: a row with a wider one has come, or the widest has left."""
        if self.z is None or canvas is None or self.z.tokens.shape[1] == width:
            return
        tokens = self.z.tokens[:, :width]
        if tokens.shape[1] < width:
            wider, _ = canvas.take(self.z.row).view(self.z.start, width)
            tokens = torch.cat([tokens, wider[:, tokens.shape[1] :]], 1)
        self.z = self.z.fit(tokens)

    def renumber(self, moved: Mapping[int, int]) -> None:
        """The context's rows have other numbers now."""
        self.scheduler.renumber(moved)
        if self.z is not None:
            number = upload([moved.get(row, 0) for row in range(max(moved) + 1)], self.device)
            self.z = self.z.with_line("row", number[self.z.row])

    def finished_blocks(self, step: Step, canvas: Canvas | None, context: Any) -> tuple[Parked, list[bool]]:
        """The hypotheses that finish their block, and which of them end their text."""
        assert canvas is not None
        ends = step.draft.draft(step.finishing_index)
        rows = canvas.take(ends.row).write(ends.start, ends.tokens, ends.revealed)
        attempts = [step.attempts[m] for m in step.finishing]
        stopped = [step.verdicts[m].ends > 0 for m in step.finishing]
        if self.lane.stop:
            stopped = self._asked(rows, attempts, stopped)
        return Parked(rows, attempts, ends.cost, ends.row, context), stopped

    def _asked(self, canvas: Canvas, attempts: list[Attempt], stopped: list[bool]) -> list[bool]:
        """Which texts end, by an EOS or because the lane says that what was written ends it. Reads the rows back."""
        assert self.lane.stop is not None
        ends = []
        for was, attempt, row in zip(stopped, attempts, canvas.tokens.tolist(), strict=True):
            holes = attempt.request.canvas.masked[0].tolist()
            written = [token for token, new in zip(row, holes, strict=False) if new]
            end = written.index(canvas.mask_id) if canvas.mask_id in written else len(written)
            ends.append(was or self.lane.stop(attempt.request.row, written[:end]))
        return ends

    def in_flight(self, canvas: Canvas | None) -> list[Parked]:
        """Every hypothesis that is not finished, as it stands now."""
        if self.z is None or canvas is None:
            return self.parked
        now = canvas.take(self.z.row).write(self.z.start, self.z.tokens, self.z.revealed)
        return [Parked(now, self.scheduler.live, self.z.cost), *self.parked]

    def hypotheses(self, canvas: Canvas | None) -> list[tuple[Parked, list[Request]]]:
        """Every hypothesis of rows in flight and whose each is, those that have finished before the row has too."""
        found = [(parked, [attempt.request for attempt in parked.attempts]) for parked in self.in_flight(canvas)]
        return found + [(one, [r]) for r in self.scheduler.in_flight.values() for one in r.finished]

    def abort(self, errors: Mapping[int, Exception | None], canvas: Canvas | None) -> None:
        """These rows in flight are finished as far as they got, each because of its error, if there is one."""
        for parked in self.in_flight(canvas):
            parked.take(parked.of_rows(errors)).hand_over(complete=False)
        self._drop(errors)
        self.scheduler.abort(errors)

    def cancel(self, rows: Collection[int]) -> None:
        """These rows are forgotten."""
        self._drop(rows)
        self.scheduler.cancel(rows)

    def _drop(self, rows: Collection[int]) -> None:
        """The hypotheses of these rows are no longer decoded."""
        self.rows_changed = True
        live = self.scheduler.live
        stay = [r for r, attempt in enumerate(live) if attempt.request.row not in rows]
        if self.z is not None and len(stay) < len(live):
            self.z = self.z.take(upload(stay, self.device)) if stay else None
            self.scheduler.live = [live[r] for r in stay]
        parts = [parked.take(parked.of_rows(rows, False)) for parked in self.parked]
        self.parked = [parked for parked in parts if parked.attempts]


class View(NamedTuple):
    """A row in flight as it stands: of its hypotheses, that of least H̃."""

    lane: int
    row: int
    tokens: list[int]  # the mask id where nothing is written yet
    cost: float  # H̃ so far


def views(lanes: Iterable[LiveLane], canvas: Canvas | None) -> list[View]:
    """Every row in flight of these lanes, read back once, all together."""
    found = [(lane, *h) for lane in lanes for h in lane.hypotheses(canvas)]
    if not found:
        return []
    tokens = Canvas.join(*(parked.canvas for _, parked, _ in found)).tokens
    cost = torch.cat([parked.cost for _, parked, _ in found]).view(torch.int64)
    table = torch.cat([cost[:, None], tokens], 1).cpu()
    costs, rows = table[:, 0].contiguous().view(torch.float64).tolist(), table[:, 1:].tolist()
    best: dict[tuple[int, int], View] = {}
    owners = ((lane.number, request) for lane, _, requests in found for request in requests)
    for (number, request), least, row in zip(owners, costs, rows, strict=True):
        view = View(number, request.row, row[: request.length], least)
        best[view[:2]] = min(best.get(view[:2], view), view, key=lambda one: one.cost)
    return list(best.values())
