"""Which rows of a lane wait, which are in flight, and what the host knows of those: no tensor is touched here.

The device holds a row of `z` for every live hypothesis. The host's copy of what it must know of them without asking
(whose they are, how many masks are left, which context row they stand on) is `live` and the attempts in it, and only
this file changes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby

from infogain.algorithm.state import PROMISES, STEPS_PER_MASK, CandidateFacts
from infogain.errors import ContractError, NumericsError
from infogain.loop.lane import Attempt, Request
from infogain.samplers.base import Traits


def distinct(facts: Sequence[CandidateFacts]) -> list[int]:
    """One candidate per canvas: of those of an attempt that lead to the same one, the first of least H̃.

    The last step of a block is not evaluated (all its candidates score alike), so there only the first candidate of
    each hypothesis counts.
    """
    best: dict[tuple[int, int], int] = {}
    parent = -1
    for m, candidate in enumerate(facts):
        first, parent = candidate.parent != parent, candidate.parent
        canvas = candidate.row, candidate.fingerprint
        if first or candidate.left:
            other = best.setdefault(canvas, m)
            if candidate.cost < facts[other].cost:
                best[canvas] = m
    return sorted(best.values())


class Scheduler:
    """Rows are admitted at any time, begin when fewer than `max_in_flight` are decoded, and leave when they are done.

    Its loops are over what is in flight: rows that wait or have left cost a step nothing.
    """

    def __init__(self, max_in_flight: int | None, traits: Traits, refresh: int | None) -> None:
        """`refresh`: blocks that are opened from one reading of a row; None: a block-causal model reads it once."""
        self.max_in_flight, self.traits, self.refresh = max_in_flight, traits, refresh
        self.waiting: deque[Request] = deque()
        self.in_flight: dict[int, Request] = {}  # by row
        self.finished: list[Request] = []  # and not yet left
        self.live: list[Attempt] = []  # the attempt that each row of z belongs to
        self.admitted = 0
        self.masks_admitted = 0  # in all attempts of all rows
        self.masks_done = 0  # of those, filled, or skipped after an EOS

    @property
    def unfinished(self) -> bool:
        """Whether there is anything left to decode."""
        return bool(self.in_flight or self.waiting)

    def admit(self, requests: list[Request]) -> range:
        """Rows join behind those that wait already; among themselves the longest first, for they need most memory."""
        rows = range(self.admitted, self.admitted + len(requests))
        if self.max_in_flight:
            requests = sorted(requests, key=lambda request: -request.length)
        self.waiting += requests
        self.admitted += len(requests)
        self.masks_admitted += sum(request.masks_left for request in requests)
        return rows

    def arrive(self) -> list[Request]:
        """Rows that wait and may begin now."""
        free = len(self.waiting) if self.max_in_flight is None else self.max_in_flight - len(self.in_flight)
        arriving = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
        self.in_flight |= {request.row: request for request in arriving}
        return arriving

    def waits_for_others(self, parked: Sequence[Attempt]) -> bool:
        """Whether rows between blocks are held back, to open theirs with rows that are about to end theirs.

        They wait two steps at most for each block that both will then open, as far as is known: rows of one lane
        that are in step mostly stay so, and every opening that is shared saves a forward, and more than its time.
        Copies of a row never wait, for whether they meet decides how many forwards their row counts.
        """
        if not self.live or self.traits.copies > 1:
            return False
        soonest = min(attempt.left for attempt in self.live)  # a step is one mask or more
        ours = max(1 + len(attempt.later_blocks) for attempt in parked)
        theirs = max(len(attempt.later_blocks) for attempt in self.live) + bool(self.waiting)  # after whom one begins
        return soonest <= 2 * min(ours, theirs)

    def append_group(self, attempt: Attempt) -> int | None:
        """Hypotheses of one group open their next block in one `append`. None: the row is read as a whole.

        Where columns see what comes after them, a group has equally wide blocks: beside a wide one, a narrow one would
        store over columns on its right.
        """
        if not attempt.context:
            return None  # it has just begun
        if self.refresh is None:
            return 0
        follows = attempt.block.start == attempt.previous_start + attempt.width
        return attempt.width if follows and attempt.opened <= self.refresh else None

    def enter(self, attempts: Sequence[Attempt], first_row: int) -> list[list[int]]:
        """Hypotheses on context rows from `first_row` on join the live ones. Returns their lines of a state's table."""
        for attempt, same in groupby(range(len(attempts)), key=attempts.__getitem__):
            attempt.context = [first_row + h for h in same]
        self.live = [*self.live, *attempts]
        lines = [
            (at, a.number, a.seed, b.start, b.steps_allotted, b.masks, a.seed, 0, a.steps_taken, a.left)
            for at, a, b in ((at, a, a.block) for at, a in enumerate(attempts, first_row))
        ]
        return [list(line) for line in zip(*lines, strict=True)]

    def renumber(self, moved: Mapping[int, int]) -> None:
        """The context's rows have other numbers now."""
        for attempt in set(self.live):
            attempt.context = [moved[row] for row in attempt.context]

    def check(self, facts: Sequence[CandidateFacts], vocab_size: int, where: str) -> dict[int, Exception]:
        """The rows whose logits are no distribution, each with its error; raises where a sampler breaks a promise."""
        parents = [candidate.parent for candidate in facts]
        if parents != sorted(parents) or set(parents) != set(range(len(self.live))):
            raise ContractError("every hypothesis must get candidates, in order; the sampler's parents are not so.")
        failed: dict[int, Exception] = {}
        left: dict[Attempt, int] = {}
        for candidate in facts:
            attempt = self.live[candidate.parent]
            broken = candidate.broken(attempt.left, vocab_size)
            if not broken and left.setdefault(attempt, candidate.left) != candidate.left:
                broken = "uneven"
            if not broken and attempt.steps_here >= STEPS_PER_MASK * attempt.block.masks:
                broken = "endless"
            if broken == "no_distribution":
                failed.setdefault(attempt.request.row, _error(NumericsError, broken, attempt, where))
            elif broken:
                raise _error(ContractError, broken, attempt, where)
        return failed

    def count(self, ran: Sequence[tuple[Attempt, int]]) -> None:
        """Note a forward: whose rows took part, and the columns they ran."""
        for attempt, columns in ran:
            attempt.request.token_forwards += columns
        for request in {attempt.request for attempt, _ in ran}:
            request.forwards += 1

    def advance(self, left: Mapping[Attempt, int], live: list[Attempt]) -> None:
        """A step is taken: so many masks are left in each block, and the rows of z belong to these attempts now."""
        for attempt, masks in left.items():
            self.masks_done += attempt.left - masks
            attempt.left = masks
            attempt.steps_here += 1
            attempt.steps_taken += 1
        self.live = live

    def end_blocks(self, attempts: Sequence[Attempt], stopped: Sequence[bool]) -> list[int]:
        """Which of these hypotheses, all at a block's end, have another block to open; the others are finished.

        A text that is `stopped` skips what lies right of it, once all its attempt's hypotheses agree.
        """
        for attempt, same in groupby(range(len(attempts)), key=attempts.__getitem__):
            if all(stopped[h] for h in same):
                self.masks_done += attempt.skip_later_blocks()
        more = [h for h, a in enumerate(attempts) if a.later_blocks and not (stopped[h] and self.traits.beam > 1)]
        continuing = dict.fromkeys(attempts[h] for h in more)
        for attempt in continuing:
            attempt.next_block()
        for attempt in sorted(set(attempts) - set(continuing), key=lambda attempt: attempt.number):
            attempt.request.attempts.remove(attempt)
            if not attempt.request.attempts:
                self.finished.append(self.in_flight.pop(attempt.request.row))
        return more

    def abort(self, errors: Mapping[int, Exception | None], live: list[Attempt]) -> None:
        """Rows in flight are finished before their time, each because of its error, if any; these are live still."""
        self.live = live
        for row, error in errors.items():
            request = self.in_flight.pop(row)
            self.masks_admitted -= request.masks_left
            request.error = error
            request.attempts.clear()
            self.finished.append(request)

    def forget(self, rows: Collection[int]) -> None:
        """These rows, which wait or have finished, give no result."""
        self.masks_admitted -= sum(request.masks_left for request in self.waiting if request.row in rows)
        self.waiting = deque(request for request in self.waiting if request.row not in rows)
        self.finished = [request for request in self.finished if request.row not in rows]


def _error(kind: Callable[[str], Exception], promise: str, attempt: Attempt, where: str) -> Exception:
    block = attempt.block
    return kind(
        f"{PROMISES[promise]} ({where}, row {attempt.request.row}, block at column {block.start}, "
        f"{block.masks - attempt.left} of its {block.masks} masks filled). "
        "What was decoded so far is in the error's `partial`, or in what `Batch.leave` returns."
    )
