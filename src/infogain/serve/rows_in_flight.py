"""The rows that an engine is decoding: they join one Batch, are watched step by step, and leave.

Only the engine's thread may touch this. What fails, fails alone: where several rows were there when something failed,
each is decoded again by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from infogain.algorithm.canvas import Canvas
from infogain.errors import InfoGainError
from infogain.generate import as_stops, early_stop
from infogain.loop.batch import Batch
from infogain.loop.lane import Lane
from infogain.loop.result import Result
from infogain.loop.step import StepEvent
from infogain.serve.asked import TextRequest, Ticket
from infogain.serve.watched import WatchedRow, read_writings
from infogain.text.text_model import TextModel


@dataclass(eq=False)
class QueuedRow:
    """One row of a request, waiting or in flight."""

    ticket: Ticket
    number: int  # in its request
    watched: WatchedRow | None

    @property
    def tokens(self) -> list[int]:
        return self.ticket.asked.job.rows[self.number]

    @property
    def seed(self) -> int:
        return self.ticket.asked.row_seeds[self.number]


@dataclass(frozen=True)
class RowOutcome:
    """One row that is done; or rows that were there when something failed, of which any may be to blame."""

    rows: list[QueuedRow]
    result: Result | None = None
    error: Exception | None = None


def lane_of(model: TextModel, asked: TextRequest, rows: list[list[int]], seeds: list[int]) -> Lane:
    """Rows of a request as a lane; equal requests make lanes that decode alike."""
    stop = early_stop(model.tokenizer, as_stops(asked.stop), asked.recipe)
    return Lane(Canvas.infill(rows, model.denoiser.mask_id), asked.recipe, seeds, stop)


class RowsInFlight:
    """Rows in a batch, by lane and number."""

    def __init__(self, model: TextModel) -> None:
        self.model = model
        self.batch = Batch(model)
        self.rows: dict[tuple[int, int], QueuedRow] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def admit(self, rows: Iterable[QueuedRow]) -> list[RowOutcome]:
        """Rows join: those with equal recipes share a lane. Returns what is refused."""
        refused = []
        for ticket, same in groupby(rows, key=lambda row: row.ticket):
            joining = list(same)
            lane = lane_of(self.model, ticket.asked, [row.tokens for row in joining], [row.seed for row in joining])
            try:
                number, places = self.batch.share(lane)
            except InfoGainError as error:
                refused += [RowOutcome([row], error=error) for row in joining]
            else:
                self.rows |= {(number, place): row for place, row in zip(places, joining, strict=True)}
        return refused

    def step(self) -> list[RowOutcome]:
        """One step of the loop: those who watch are told of it. Returns the rows that have left."""
        try:
            events = self.batch.step()
        except Exception as error:  # of the model itself: any row may be to blame
            rows, self.rows, self.batch = list(self.rows.values()), {}, Batch(self.model)
            return [RowOutcome(rows, error=error)]
        for event in events:
            self._tell(event)
        return self._leave()

    def _tell(self, event: StepEvent) -> None:
        here = {row: queued for row in event.rows if (queued := self.rows.get((event.lane, row))) is not None}
        watched = {row: queued.watched for row, queued in here.items() if queued.watched}
        if not watched:
            return
        for row, writing in read_writings(event, {row: one.asked.logprobs for row, one in watched.items()}).items():
            for told in watched[row].follow(writing):
                here[row].ticket.tell(told)

    def _leave(self) -> list[RowOutcome]:
        left = self.batch.leave()
        outcomes = [RowOutcome([self.rows.pop(one[:2])], one.result) for one in left if one.error is None]
        failed: dict[int, list[QueuedRow]] = {}  # by their error: rows of a lane whose sampler raised share one
        errors = {id(one.error): one.error for one in left if one.error is not None}
        for one in left:
            if one.error is not None:
                failed.setdefault(id(one.error), []).append(self.rows.pop(one[:2]))
        outcomes += [RowOutcome(rows, error=errors[key]) for key, rows in failed.items()]
        self._close_idle_lanes()
        return outcomes

    def drop(self, ticket: Ticket) -> None:
        """A request's rows are broken off, and free from now on."""
        for lane, row in [place for place, queued in self.rows.items() if queued.ticket is ticket]:
            self.batch.cancel(lane, [row])
            del self.rows[lane, row]
        self._close_idle_lanes()

    def _close_idle_lanes(self) -> None:
        """Lanes without rows go, for there is no end of recipes."""
        busy = {lane for lane, _ in self.rows}
        for lane in set(self.batch.lanes) - busy:
            self.batch.close(lane)
