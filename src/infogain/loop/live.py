"""What is being decoded: the tensors of each lane, and how the blocks of all lanes are opened together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, groupby, takewhile

import torch

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals, exclude_by_lane
from infogain.algorithm.state import LINES, Draft, State
from infogain.device import counting, upload
from infogain.loop.lane import Attempt, Lane, Parked, Request, make_requests
from infogain.loop.scheduler import Scheduler
from infogain.loop.step import Part
from infogain.models.context_rows import ContextRows
from infogain.models.denoiser import Denoiser, Past


class LiveLane:
    """What a Lane asks for, on its way: `scheduler` is the host's side of it, `z` and `parked` are the device's."""

    def __init__(self, lane: Lane, number: int, model: Denoiser) -> None:
        self.recipe = recipe = lane.recipe
        self.lane, self.number, self.model, self.device = lane, number, model, model.device
        self.traits = recipe.sampler.traits
        self.aligned = model.attention_block is not None
        self.eos_ids = upload(recipe.eos_ids, self.device) if recipe.eos_ids else None
        self.vocabulary = model.vocabulary.allowing(recipe.eos_ids)
        self.scheduler = Scheduler(lane.max_in_flight, self.traits, None if self.aligned else model.refresh)
        self.closed = False
        self.rows_changed = True  # rows have come or gone since blocks were last opened
        self.z: State | None = None
        self.parked: list[Parked] = []
        self.admit(lane)

    @property
    def parked_attempts(self) -> list[Attempt]:
        """The attempt of each hypothesis that is between two blocks."""
        return [attempt for parked in self.parked for attempt in parked.attempts]

    def admit(self, more: Lane) -> range:
        """Rows that have been checked and are decoded as this lane's are; returns their numbers."""
        canvas, first = more.canvas.to(torch.device("cpu")), self.scheduler.admitted
        rows = self.scheduler.admit(make_requests(more.recipe, canvas, more.row_seeds, first, self.aligned))
        self.fill()
        return rows

    def fill(self) -> None:
        """Rows that wait begin, as many as may; one without masks has finished at once."""
        while arriving := self.scheduler.arrive():
            attempts = [attempt for request in arriving for attempt in request.attempts]
            rows = Canvas.join(*(attempt.request.canvas for attempt in attempts)).to(self.device)
            nothing = torch.zeros(len(attempts), dtype=torch.float64, device=self.device)
            self.end_blocks(Parked(rows, attempts, nothing), [False] * len(attempts))

    def end_blocks(self, parked: Parked, stopped: list[bool]) -> None:
        """Hypotheses with more to write wait to open their next block; the others are finished."""
        self.rows_changed = True
        groups = defaultdict[int | None, list[int]](list)
        for h in self.scheduler.end_blocks(parked.attempts, stopped):
            groups[self.scheduler.append_group(parked.attempts[h])].append(h)
        if done := sorted(set(range(len(parked.attempts))).difference(*groups.values())):
            parked.take(done).hand_over()
        for group, members in groups.items():
            part = replace(parked.take(members), group=group)
            self.parked.append(replace(part, row=None, context=None) if group is None else part)

    def open(self, parked: Parked, p: Marginals, first_row: int) -> None:
        """The model has read these rows: they join the live state, on context rows from `first_row` on."""
        attempts, appends = parked.attempts, parked.group is not None
        for attempt in attempts:
            before = attempt.previous_start if appends else None
            attempt.columns = self.model.columns(attempt.request.length, attempt.block.start, attempt.width, before)
            attempt.opened = attempt.opened if appends else 1
        self.scheduler.count([(attempt, attempt.columns[0]) for attempt in attempts])
        lines = self.scheduler.enter(attempts, first_row)
        table = upload([*lines, [attempt.width for attempt in attempts]], self.device)
        table, width = table[: len(LINES)], table[len(LINES)]
        tokens, masked = parked.canvas.view(table[LINES.index("start")], p.entropy.shape[1])
        # another row's block may be wider; the columns past our own wait for our next block
        masked &= counting(tokens.shape[1], self.device) < width[:, None]
        draft = Draft(table, parked.cost, tokens, masked, torch.full_like(tokens, -1))
        z = draft.with_marginals(p, before=(p,) * self.traits.memory)
        z = self.with_beam_seeds(z, attempts) if self.traits.beam > 1 else z
        self.z = self.z.join(z) if self.z else z
        self.parked.remove(parked)

    def with_beam_seeds(self, z: State, attempts: Sequence[Attempt]) -> State:
        """Every hypothesis of a beam draws noise of its own; the first of them draws the attempt's."""
        number = [i for _, same in groupby(attempts) for i, _ in enumerate(same)]
        seed, branch = upload([[attempt.seed for attempt in attempts], number], self.device)
        return z.with_line("seed", noise.fork(seed, noise.HYPOTHESIS, branch))

    def fit(self, canvas: Canvas | None, width: int) -> None:
        """Blocks of another width: a row with a wider one has come, or the widest has left."""
        if self.z is None or canvas is None or self.z.tokens.shape[1] == width:
            return
        shown, _ = canvas.take(self.z.row).view(self.z.start, width)
        self.z = self.z.fit(torch.cat([self.z.tokens[:, :width], shown[:, self.z.tokens.shape[1] :]], 1))

    def renumber(self, moved: Mapping[int, int]) -> None:
        """The context's rows have other numbers now."""
        self.scheduler.renumber(moved)
        if self.z is not None:
            number = upload([moved.get(row, 0) for row in range(max(moved) + 1)], self.device)
            self.z = self.z.with_line("row", number[self.z.row])

    def finished_blocks(self, part: Part, contexts: ContextRows) -> tuple[Parked, list[bool]]:
        """The hypotheses that finish their block, and which of them end their text.

        An EOS ends it, or the lane's `stop`: where there is one, the rows are read back for it.
        """
        draft, stopped = part.draft, [candidate.eos > 0 for candidate in part.facts]
        parked = Parked(contexts.written(draft), part.attempts, draft.cost, draft.row, contexts.context)
        if self.lane.stop:
            for h, row in enumerate(parked.canvas.tokens.tolist()):
                request = part.attempts[h].request
                written = takewhile(request.canvas.mask_id.__ne__, compress(row, request.canvas.masked[0].tolist()))
                stopped[h] = stopped[h] or self.lane.stop(request.row, list(written))
        return parked, stopped

    def unfinished(self, contexts: ContextRows) -> list[Parked]:
        """Every hypothesis that is not finished, as it stands now."""
        live = [Parked(contexts.written(self.z), self.scheduler.live, self.z.cost)] if self.z else []
        return live + self.parked

    def hypotheses(self, contexts: ContextRows) -> list[tuple[list[Request], Parked]]:
        """Every hypothesis of rows in flight, with its row; also those that have finished before their row has."""
        found = [([attempt.request for attempt in parked.attempts], parked) for parked in self.unfinished(contexts)]
        return found + [([request], one) for request in self.scheduler.in_flight.values() for one in request.finished]

    def abort(self, errors: Mapping[int, Exception | None], contexts: ContextRows) -> None:
        """These rows in flight are finished as far as they got, each because of its error, if there is one."""
        for parked in self.unfinished(contexts):
            parked.take(parked.of_rows(errors)).hand_over(complete=False)
        self.rows_changed = True
        live = self.scheduler.live
        stay = [r for r, attempt in enumerate(live) if attempt.request.row not in errors]
        if self.z is not None and len(stay) < len(live):
            self.z = self.z.take(upload(stay, self.device)) if stay else None
        parts = [parked.take(parked.of_rows(errors, False)) for parked in self.parked]
        self.parked = [parked for parked in parts if parked.attempts]
        self.scheduler.abort(errors, [live[r] for r in stay])


Openings = list[tuple[LiveLane, Parked]]


def open_blocks(lanes: Sequence[LiveLane], contexts: ContextRows) -> None:
    """One prefill for all rows that are read as a whole, after an `append` for each group of the others.

    Either all rows between blocks open theirs or, where every lane holds them back, none.
    """
    for lane in lanes:
        lane.fill()
    between = [lane for lane in lanes if lane.parked]
    if between and all(lane.scheduler.waits_for_others(lane.parked_attempts) for lane in between):
        return
    # blocks are as wide as the widest of them; where a wider one opens, or the widest has left, all others fit
    attempts = [attempt for lane in lanes for attempt in (*lane.scheduler.live, *lane.parked_attempts)]
    contexts.width = max((attempt.width for attempt in attempts), default=0)
    groups = defaultdict[int | None, Openings](list)
    for lane in lanes:
        lane.fit(contexts.canvas, contexts.width)
        for parked in lane.parked:
            groups[parked.group].append((lane, parked))
    for group in sorted(groups, key=lambda group: group is None):
        _open(groups.pop(group), lanes, contexts)  # and what the opening holds is let go
    for lane in lanes:
        lane.rows_changed = False


def _open(opening: Openings, lanes: Sequence[LiveLane], contexts: ContextRows) -> None:
    """One forward opens these blocks, all of one group."""
    attempts = [attempt for _, parked in opening for attempt in parked.attempts]
    canvas = Canvas.join(*(parked.canvas for _, parked in opening)).fit(max(a.request.length for a in attempts))
    start = [attempt.block.start for attempt in attempts]
    if opening[0][1].group is None:
        _drop_unused_rows(lanes, contexts)  # before there are more
        context, logits = contexts.prefill(canvas, start, [a.block.start + a.width for a in attempts])
    else:
        context, logits = contexts.append(canvas, start, _past(opening, attempts))
        _drop_unused_rows(lanes, contexts)
    p = Marginals.of(*exclude_by_lane(logits, [(lane.vocabulary, len(parked.attempts)) for lane, parked in opening]))
    first_row = contexts.join(canvas, context)
    for lane, parked in opening:
        count = len(parked.attempts)
        lane.open(parked, p[:count], first_row)
        p, first_row = p[count:], first_row + count


def _past(opening: Openings, attempts: Sequence[Attempt]) -> Past:
    row = torch.cat([parked.row for _, parked in opening if parked.row is not None])
    known = all(lane.traits.beam == 1 for lane, _ in opening)  # an attempt is one row of the context
    host_rows = [attempt.context[0] for attempt in attempts] if known else None
    return Past(opening[0][1].context, row, [attempt.previous_start for attempt in attempts], host_rows)


def _drop_unused_rows(lanes: Sequence[LiveLane], contexts: ContextRows) -> None:
    """Context rows that no live attempt stands on go."""
    stay = sorted({row for lane in lanes for attempt in lane.scheduler.live for row in attempt.context})
    if not stay:
        contexts.clear()
    elif len(stay) < len(contexts):
        contexts.keep(stay)
        for lane in lanes:
            lane.renumber({old: new for new, old in enumerate(stay)})
