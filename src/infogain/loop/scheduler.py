"""Which rows of a lane wait, which are in flight, and what the host knows of those: no tensor is touched here.

The device holds a row of `z` for every live hypothesis. The host's copy of what it must know of them without asking
(whose they are, how many masks are left, which context row they stand on) is `live` and the attempts in it, and it
is kept true in this file alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from infogain.errors import ContractError, NumericsError
from infogain.loop.request import Attempt, Request

STEPS_PER_MASK = 8  # a block that takes more is refused: a sampler that erases could go on for ever

PROMISES = {
    "no_distribution": "logits of masked columns must be finite numbers that form a distribution over the ids that "
    "may be written; the model returned NaN or infinite ones, or left all probability to the mask and to ids that are "
    "excluded. Load it in float32 or bfloat16, look for an overflow in its weights, or exclude fewer ids",
    "outside": "a candidate may choose masked columns of its block only; the sampler chose another",
    "no_token": "a candidate must write tokens of the vocabulary, never the mask, except that a sampler which erases "
    "may mask columns again that were written in this block; the sampler wrote something else",
    "no_score": "score must be a number; the sampler gave NaN for the candidate it led to here",
    "empty": "a candidate must commit at least one token; the sampler chose none",
    "uneven": "candidates that compete must commit equally many tokens, less those they erase",
    "endless": f"a block must be filled in {STEPS_PER_MASK} steps for each of its masks; the sampler erases too much",
}


class Verdict(NamedTuple):
    """All that the host learns of a candidate."""

    cost: float  # H̃ after it; NaN too where the score that led to its parent was
    remaining: float  # Σ H over what was masked
    parent: int
    commits: int  # columns that it writes
    erases: int  # columns that it masks again
    masks: int  # that it writes as tokens, where it may not
    lowest: int  # token of its block; those that were given have been checked before
    highest: int
    left: int  # masks; none: it finishes its block
    ends: int  # EOS tokens that were written in its block
    row: int  # of the context
    canvas: int  # a fingerprint of its block; 64 bits leave no room for accidents

    def broken(self, before: int, words: int) -> str | None:
        """The first promise that it breaks, given the masks its block had before and the size of the vocabulary."""
        if not math.isfinite(self.remaining):
            return "no_distribution"
        if self.commits - self.erases != before - self.left:
            return "outside"
        if self.masks or self.lowest < 0 or self.highest >= words:
            return "no_token"
        if math.isnan(self.cost):
            return "no_score"
        return None if self.commits or self.erases else "empty"


def distinct(verdicts: Sequence[Verdict]) -> list[int]:
    """One candidate per canvas: of those of an attempt that lead to the same one, the first of least H̃.

    The last step of a block is not evaluated (all its candidates score alike), so there each
    hypothesis keeps its first candidate only.
    """
    best: dict[tuple[int, int], int] = {}
    parent = -1
    for m, verdict in enumerate(verdicts):
        first, parent = verdict.parent != parent, verdict.parent
        shown = verdict.row, verdict.canvas
        if first or verdict.left:
            other = best.setdefault(shown, m)
            if verdict.cost < verdicts[other].cost:
                best[shown] = m
    return sorted(best.values())


class Scheduler:
    """Rows are admitted at any time, arrive when there is a place for them, and leave when they are done.

    Its loops are over what is in flight: rows that wait or have left cost a step nothing.
    """

    def __init__(self, max_in_flight: int | None, copies: int, refresh: int | None) -> None:
        """`refresh`: blocks that are opened from one reading of a row; None: a block-causal model reads it once."""
        self.max_in_flight, self.copies, self.refresh = max_in_flight, copies, refresh
        self.waiting: deque[Request] = deque()
        self.in_flight: dict[int, Request] = {}  # by row
        self.finished: list[Request] = []  # and not yet left
        self.live: list[Attempt] = []  # whose each row of z is
        self.admitted = 0
        self.masks = 0  # of all that were admitted, in all their attempts
        self.done = 0  # of those, filled, or skipped after an EOS

    @property
    def live_attempts(self) -> list[Attempt]:
        """The attempts that are live, each once."""
        return list(dict.fromkeys(self.live))

    def admit(self, requests: list[Request]) -> range:
        """Rows join behind those that wait already; among themselves the longest first, for they need most memory."""
        rows = range(self.admitted, self.admitted + len(requests))
        if self.max_in_flight:
            requests = sorted(requests, key=lambda request: -request.length)
        self.waiting += requests
        self.admitted += len(requests)
        self.masks += sum(request.masks for request in requests)
        return rows

    def arrive(self) -> list[Request]:
        """Rows that wait take the places that are free."""
        free = len(self.waiting) if self.max_in_flight is None else self.max_in_flight - len(self.in_flight)
        arriving = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
        self.in_flight |= {request.row: request for request in arriving}
        return arriving

    def waits_for_others(self, parked: Sequence[Attempt]) -> bool:
        """Whether rows between blocks are held back, to open theirs with rows that are about to end theirs.

        They wait two steps at most for each block that both will then open, as far as is known: rows of one lane
        that are in step mostly stay so, and every opening that is shared saves a forward, and more than its time.
        Copies of a prompt never wait, for whether they meet decides how many forwards their row counts.
        """
        if not self.live or self.copies > 1:
            return False
        soonest = min(attempt.left for attempt in self.live)  # a step is one mask or more
        ours = max(1 + len(attempt.blocks) for attempt in parked)
        theirs = max(len(attempt.blocks) for attempt in self.live) + bool(self.waiting)  # whose next row takes a place
        return soonest <= 2 * min(ours, theirs)

    def way_to_open(self, attempt: Attempt) -> int | None:
        """How a row that has finished a block opens the next one. None: it is read as a whole.

        Rows of one number open theirs together from what the model keeps. Where columns see what comes after them,
        these are rows of equally wide blocks: beside a wide one, a narrow one would store over columns on its right.
        """
        if self.refresh is None:
            return 0
        follows = attempt.now.start == attempt.previous_start + attempt.width
        return attempt.width if follows and attempt.opened <= self.refresh else None

    def enter(self, attempts: Sequence[Attempt], first_row: int) -> list[list[int]]:
        """Hypotheses on context rows from `first_row` on join the live ones. Returns their lines of a state's table."""
        for attempt, same in groupby(range(len(attempts)), key=attempts.__getitem__):
            attempt.context = [first_row + h for h in same]
        self.live = [*self.live, *attempts]
        lines = [
            (at, a.number, a.now.start, a.now.steps, a.now.masks, a.seed, 0, a.steps_taken, a.left)
            for at, a in enumerate(attempts, first_row)
        ]
        return [list(line) for line in zip(*lines, strict=True)]

    def renumber(self, moved: Mapping[int, int]) -> None:
        """The context's rows have other numbers now."""
        for attempt in self.live_attempts:
            attempt.context = [moved[row] for row in attempt.context]

    def judge(self, verdicts: Sequence[Verdict], words: int, where: str) -> dict[int, Exception]:
        """The rows whose logits are no distribution, each with its error; raises where a sampler breaks a promise."""
        parents = [verdict.parent for verdict in verdicts]
        if parents != sorted(parents) or set(parents) != set(range(len(self.live))):
            raise ContractError("every hypothesis must get candidates, in order; the sampler's parents are not so.")
        failed: dict[int, Exception] = {}
        pace: dict[Attempt, int] = {}
        for verdict in verdicts:
            attempt = self.live[verdict.parent]
            broken = verdict.broken(attempt.left, words)
            if not broken and pace.setdefault(attempt, verdict.left) != verdict.left:
                broken = "uneven"
            if not broken and attempt.steps_here >= STEPS_PER_MASK * attempt.now.masks:
                broken = "endless"
            if broken == "no_distribution":
                failed.setdefault(attempt.request.row, _error(NumericsError, broken, attempt, where))
            elif broken:
                raise _error(ContractError, broken, attempt, where)
        return failed

    def count(self, ran: Iterable[tuple[Attempt, int]]) -> None:
        """Note a forward: whose rows took part, and the columns they ran."""
        requests = dict[Request, None]()
        for attempt, columns in ran:
            attempt.request.token_forwards += columns
            requests[attempt.request] = None
        for request in requests:
            request.forwards += 1

    def advance(self, left: Mapping[Attempt, int], live: list[Attempt]) -> None:
        """A step is taken: so many masks are left in each block, and these are whose the rows of z are now."""
        for attempt, masks in left.items():
            self.done += attempt.left - masks
            attempt.left = masks
            attempt.steps_here += 1
            attempt.steps_taken += 1
        self.live = live

    def end_blocks(self, attempts: Sequence[Attempt], stopped: Sequence[bool], beam: bool) -> list[int]:
        """Which of these hypotheses, all at a block's end, have another block to open; the others are finished.

        A text that is `stopped` skips what lies right of it, once all its attempt's hypotheses agree.
        """
        for attempt, same in groupby(range(len(attempts)), key=attempts.__getitem__):
            if all(stopped[h] for h in same):
                self.done += attempt.stop()
        more = [h for h, a in enumerate(attempts) if a.blocks and not (stopped[h] and beam)]
        going = dict.fromkeys(attempts[h] for h in more)
        for attempt in going:
            attempt.next_block()
        for attempt in sorted(set(attempts) - set(going), key=lambda attempt: attempt.number):
            attempt.request.attempts.remove(attempt)
            if not attempt.request.attempts:
                self.finished.append(self.in_flight.pop(attempt.request.row))
        return more

    def abort(self, errors: Mapping[int, Exception | None]) -> None:
        """Rows in flight are finished before their time, each because of its error, if there is one."""
        for row, error in errors.items():
            request = self.in_flight.pop(row)
            self.masks -= request.masks
            request.error = error
            request.attempts.clear()
            self.finished.append(request)

    def cancel(self, rows: Collection[int]) -> None:
        """These rows are forgotten, whether they wait, are in flight or have finished."""
        self.masks -= sum(r.masks for r in (*self.in_flight.values(), *self.waiting) if r.row in rows)
        self.in_flight = {row: request for row, request in self.in_flight.items() if row not in rows}
        self.waiting = deque(request for request in self.waiting if request.row not in rows)
        self.finished = [request for request in self.finished if request.row not in rows]


def _error(kind: Callable[[str], Exception], promise: str, attempt: Attempt, where: str) -> Exception:
    now = attempt.now
    return kind(
        f"{PROMISES[promise]} ({where}, prompt {attempt.request.row}, block at column {now.start}, "
        f"{now.masks - attempt.left} of its {now.masks} masks filled). "
        "What was decoded so far is in the error's `partial`, or in what `Batch.leave` returns."
    )
