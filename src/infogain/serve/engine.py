"""The thread that feeds the loop: one Batch for ever, into which requests come and from which answers leave.

Requests with equal recipes share a lane, others the batch. Only the engine's thread touches the model and the batch;
other threads hand in requests, and wait. With nothing to do it sleeps.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from infogain.errors import DeadlinePassed, Draining, InputError, QueueFull, RequestCancelled, ServeError
from infogain.generate import as_stops, read_text
from infogain.loop.result import Result
from infogain.serve.asked import Committed, Drafted, Ended, Listener, RowDone, TextAnswer, TextRequest, Ticket
from infogain.serve.engine_counts import EngineCounts
from infogain.serve.fair_queue import FairQueue
from infogain.serve.rows_in_flight import QueuedRow, RowOutcome, RowsInFlight, lane_of
from infogain.serve.watched import WatchedRow
from infogain.text.text_model import TextModel

Output = TypeVar("Output")


class Engine:
    """Decodes requests of one model: `submit` from any thread; `drain` or `close` to end."""

    def __init__(self, model: TextModel, *, max_in_flight: int = 16, max_waiting: int = 256) -> None:
        for name, value in (("max_in_flight", max_in_flight), ("max_waiting", max_waiting)):
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {value!r}.")
        self.model, self.max_in_flight, self.max_waiting = model, max_in_flight, max_waiting
        self.counts = EngineCounts()
        self.failure: Exception | None = None  # what ended the thread before its time
        self._tickets: set[Ticket] = set()  # taken and not answered
        self._queue: FairQueue[QueuedRow] = FairQueue()
        self._suspects: deque[QueuedRow] = deque()  # rows that were there when a forward failed: decoded alone
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._rows = RowsInFlight(model)
        self._draining = self._closed = False
        self._visitors = 0
        self._last_done = time.monotonic()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._live, name="infogain-engine", daemon=True)
        self._thread.start()

    # what other threads call

    def submit(self, asked: TextRequest, listener: Listener | None = None) -> Ticket:
        """Take a request, or say why not: InputError, QueueFull, Draining. Events go to the listener, if there is one.

        What a model, or memory, does not allow is refused here, before the request waits.
        """
        self._check(asked)
        ticket = Ticket(asked, listener)
        tokenizer, mask_id = self.model.tokenizer, self.model.denoiser.mask_id
        rows = range(len(asked.job.rows))
        watched = [WatchedRow(asked, i, tokenizer, mask_id) if asked.watched else None for i in rows]
        with self._changed:
            self._check_place(len(rows))
            self.counts.requests += 1
            self._tickets.add(ticket)
            self._queue.put(asked.client, [QueuedRow(ticket, i, watched[i]) for i in rows])
            self._changed.notify_all()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Give a request up: its rows are free at the next step. One that is answered stays so."""
        with self._changed:
            ticket.cancelled = True
            self._changed.notify_all()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Be one who is answered before the engine ends, for whoever asks by `call` and not by `submit`."""
        with self._changed:
            self._check_open()
            self._visitors += 1
        try:
            yield
        finally:
            with self._changed:
                self._visitors -= 1
                self._changed.notify_all()

    def call(self, function: Callable[[], Output]) -> Future[Output]:
        """Run a function in the engine's thread, between two steps: for whoever needs the model for itself."""
        future: Future[Output] = Future()
        future.set_running_or_notify_cancel()  # it cannot be cancelled from now on
        with self._changed:
            if self._closed or self.failure is not None:
                raise Draining("the server has ended. Ask another one.")
            if len(self._calls) >= self.max_waiting:
                raise QueueFull(f"as many wait as may, {self.max_waiting}. Ask again in 1 s.")
            self._calls.append((function, future))
            self._changed.notify_all()
        return future

    def drain(self, timeout: float | None = None) -> bool:
        """Take no more requests, and wait until those taken are answered; False where time is over before."""
        with self._changed:
            self._draining = True
            return self._changed.wait_for(lambda: not (self._tickets or self._calls or self._visitors), timeout)

    def close(self) -> None:
        """End now: what is not answered is cancelled."""
        with self._changed:
            self._draining = self._closed = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def draining(self) -> bool:
        return self._draining

    @property
    def waiting(self) -> int:
        """Rows that wait."""
        return len(self._queue) + len(self._suspects)

    @property
    def in_flight(self) -> int:
        """Rows that are being decoded."""
        return len(self._rows)

    def _check(self, asked: TextRequest) -> None:
        rows = asked.job.rows
        if not 1 <= len(rows) <= self.max_in_flight + self.max_waiting:
            most = self.max_in_flight + self.max_waiting
            raise InputError(f"a request must have 1 to {most} texts here; got {len(rows)}.")
        for row in rows:  # one by one, as memory must hold them
            lane_of(self.model, asked, [row], [0]).fitted(self.model.denoiser, self.model.tokenizer)
        own = self.model.denoiser.attention_block
        if own and asked.recipe.block not in (own, 0, None):
            raise InputError(
                f"requests to a block-causal model share one block width, {own} here; got {asked.recipe.block}. "
                "Leave it unset."
            )

    def _check_open(self) -> None:
        if self.failure is not None:
            raise ServeError(f"the engine has ended because of an error of its own: {type(self.failure).__name__}.")
        if self._draining:
            raise Draining("the server ends: it answers what it has taken, and takes no more. Ask another one.")

    def _check_place(self, rows: int) -> None:
        self._check_open()
        unanswered = len(self._queue) + len(self._suspects) + len(self._rows)
        if unanswered + rows > self.max_in_flight + self.max_waiting:
            self.counts.turned_away += 1
            wait = max(1, math.ceil(self.counts.seconds_per_row * (unanswered + rows - self.max_in_flight)))
            raise QueueFull(f"as many texts wait as may, {self.max_waiting}. Ask again in {wait} s.", wait)

    # the engine's thread

    def _live(self) -> None:
        try:
            while self._wait_for_work():
                self._give_up()
                self._run_calls()
                self._admit()
                self._step()
        except Exception as error:  # a mistake of ours: nobody must wait for ever
            self.failure = error
            self._end_all(error)
            raise
        self._end_all(RequestCancelled("the server has ended."))

    def _wait_for_work(self) -> bool:
        """Sleep until there is something to do; False: the engine is closed."""
        with self._changed:
            while not (self._closed or self._tickets or self._calls):
                self._changed.wait()
                self._last_done = time.monotonic()  # idle time is not the rows'
            return not self._closed

    def _run_calls(self) -> None:
        for _ in range(len(self._calls)):  # those that come meanwhile wait for a step
            function, future = self._calls.popleft()
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)
        with self._changed:
            self._changed.notify_all()

    def _give_up(self) -> None:
        """End requests that nobody waits for, and those whose time is over."""
        with self._changed:
            tickets = list(self._tickets)
        for ticket in tickets:
            if ticket.cancelled:
                self.counts.cancelled += 1
                self._end(ticket, RequestCancelled("the request was cancelled."))
            elif ticket.late:
                self.counts.late += 1
                limit = f"{ticket.asked.seconds:g} s"
                self._end(
                    ticket, DeadlinePassed(f"a request may take {limit} here; this one takes more. Ask for less.")
                )

    def _admit(self) -> None:
        """Rows that wait join the batch, as many as may; a suspect runs alone."""
        with self._changed:
            if self._suspects:
                rows = [] if len(self._rows) else [self._suspects.popleft()]
            else:
                free = min(self.max_in_flight - len(self._rows), len(self._queue))
                rows = [self._queue.take() for _ in range(free)]
        self._take_out(self._rows.admit(rows))

    def _step(self) -> None:
        if len(self._rows):
            self.counts.steps += 1
            self._take_out(self._rows.step())

    def _take_out(self, outcomes: list[RowOutcome]) -> None:
        for outcome in outcomes:
            if outcome.result is not None:
                self._done(outcome.rows[0], outcome.result)
            elif outcome.error is not None:
                self._isolate(outcome.rows, outcome.error)

    def _done(self, row: QueuedRow, result: Result) -> None:
        ticket, watched = row.ticket, row.watched
        job, counts = ticket.asked.job, self.counts
        text = read_text(self.model.tokenizer, job.prompts[row.number], job.whole, result, as_stops(ticket.asked.stop))
        counts.rows, counts.tokens = counts.rows + 1, counts.tokens + text.committed
        counts.token_forwards += text.token_forwards
        now, last = time.monotonic(), self._last_done
        counts.seconds_per_row, self._last_done = 0.8 * counts.seconds_per_row + 0.2 * (now - last), now
        answer = TextAnswer(text, watched.logprobs_of(text) if watched else None)
        if ticket.asked.drafts:
            ticket.tell(Drafted(row.number, text.text))
        elif ticket.asked.stream:
            rest = watched.rest_of(text.text) if watched else text.text
            if rest is None:
                self._fail(ticket, ServeError("the text was decoded again and came out otherwise. Ask again."))
                return
            if rest:
                ticket.tell(Committed(row.number, rest))
        ticket.tell(RowDone(row.number, answer))
        ticket.answers[row.number] = answer
        if len(ticket.answers) == len(job.rows):
            counts.answered += 1
            self._end(ticket)

    def _isolate(self, rows: list[QueuedRow], error: Exception) -> None:
        """One row has failed. Of several, each is decoded again by itself: what fails, fails alone."""
        if len(rows) == 1:
            self._fail(rows[0].ticket, error)
            return
        for row in rows:
            if row.watched:
                row.watched.begin()
        with self._changed:
            self._suspects.extend(rows)

    def _fail(self, ticket: Ticket, error: Exception) -> None:
        self.counts.failed += 1
        self._end(ticket, error)

    def _end(self, ticket: Ticket, error: Exception | None = None) -> None:
        """A request is over: its rows are let go, and whoever asked is told."""
        with self._changed:
            if ticket not in self._tickets:
                return
            self._tickets.discard(ticket)
            self._queue.drop(lambda row: row.ticket is ticket)
            self._suspects = deque(row for row in self._suspects if row.ticket is not ticket)
        self._rows.drop(ticket)
        if error is None:
            ticket.future.set_result([ticket.answers[i] for i in range(len(ticket.answers))])
        else:
            ticket.future.set_exception(error)
        ticket.tell(Ended(error))
        with self._changed:
            self._changed.notify_all()

    def _end_all(self, error: Exception) -> None:
        with self._changed:
            self._draining = True
            tickets, calls = list(self._tickets), list(self._calls)
            self._calls.clear()
        for ticket in tickets:
            self._end(ticket, error)
        for _, future in calls:
            future.set_exception(error)
