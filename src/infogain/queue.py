"""The rows of one lane: those that wait, those in flight and those that have finished."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import torch

from infogain.canvas import Canvas
from infogain.lane import Group, Lane
from infogain.request import Request, make_requests, read
from infogain.result import Result
from infogain.trace import Step, StepEvent, Trace


class Queue:
    """Rows are admitted at any time, arrive when there is a place for them, and leave when they are done."""

    def __init__(self, lane: Lane, aligned: bool, device: torch.device, trace: bool) -> None:
        self.recipe, self.at_once, self.mask_id = lane.recipe, lane.at_once, lane.canvas.mask_id
        self.aligned, self.device = aligned, device
        self.admitted = 0
        self.masks = 0  # of all that were admitted, in all their copies
        self.waiting: deque[Request] = deque()
        self.flying: dict[int, Request] = {}  # by prompt
        self.groups: dict[int, Group] = {}  # theirs, by number
        self.finished: list[Request] = []
        self.trace = self._new_trace([], []) if trace else None
        self.admit(lane.canvas, lane.row_seeds)

    def admit(self, canvas: Canvas, seeds: Sequence[int]) -> None:
        """More rows, behind those that wait already; the longest first, for they need most memory."""
        canvas = canvas.to(torch.device("cpu"))
        new = make_requests(self.recipe, canvas, seeds, self.admitted, self.aligned)
        if self.at_once:
            new.sort(key=lambda request: -request.length)
        self.waiting += new
        self.admitted += len(new)
        self.masks += sum(request.masks for request in new)
        if self.trace:
            self.trace.canvas += canvas.rows()

    def arrive(self) -> list[Request]:
        """Rows that wait take the places that are free."""
        free = len(self.waiting) if self.at_once is None else self.at_once - len(self.flying)
        arriving = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
        for request in arriving:
            self.flying[request.prompt] = request
            self.groups |= {group.number: group for group in request.groups}
        return arriving

    def of(self, g: int) -> Request:
        """The row that a group in flight decodes."""
        return self.flying[self.groups[g].prompt]

    def release(self, groups: Sequence[int]) -> None:
        """These are done; a row is when the last of its copies is."""
        for g in groups:
            request = self.of(g)
            del self.groups[g]
            request.going -= 1
            if not request.going:
                self.finished.append(self.flying.pop(request.prompt))

    def record(self, event: StepEvent) -> None:
        if self.trace:
            self.trace.record(event)

    def result(self, calls: int) -> Result:
        """Of all rows that have not left, in order; those that wait are as they came."""
        rows = sorted([*self.finished, *self.waiting], key=lambda request: request.prompt)
        return read(rows, self.recipe, self.device, calls, self.trace)

    def leave(self, calls: int) -> Iterator[tuple[int, Result]]:
        """The rows that have finished, each with a Result and a trace of its own; they are forgotten here."""
        finished, self.finished = self.finished, []
        if self.trace and finished:
            here = self.flying | {request.prompt: request for request in finished}
            for prompt, rows in self.trace.hand_out():
                here[prompt].steps.append(Step(len(here[prompt].steps), rows))
        for request in finished:
            trace = self._new_trace(request.canvas.rows(), request.steps) if self.trace else None
            yield request.prompt, read([request], self.recipe, self.device, calls, trace)

    def _new_trace(self, canvas: list[list[int]], steps: list[Step]) -> Trace:
        return Trace(self.recipe.plain(), self.mask_id, canvas, _steps=steps)
