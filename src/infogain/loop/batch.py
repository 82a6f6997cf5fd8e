"""THE LOOP: lanes in flight over one model, for as long as one likes. Fig. 2 is `Batch.step`.

Every sampler runs in it: greedy ones propose one candidate, whose evaluation is simply the next step's forward;
look-ahead ones propose several. What fails, fails alone: a row whose logits are not finite, a lane whose sampler
raises. Only an error of the model itself comes out of `step`; who calls `step` again goes on as if there had been none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

import torch

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas, whole_numbers
from infogain.algorithm.marginals import Marginals, exclude_by_lane
from infogain.algorithm.state import CandidateFacts
from infogain.device import current, together
from infogain.errors import InputError
from infogain.kernels import MaskedColumns
from infogain.loop.lane import Lane, Request
from infogain.loop.live import LiveLane, open_blocks
from infogain.loop.result import Result, RowResult, View, collect, traced, views
from infogain.loop.step import Proposal, Step, StepEvent, propose, read_back, score, settle, survivors
from infogain.models.context_rows import ContextRows
from infogain.models.denoiser import Denoiser, adapt
from infogain.provenance import provenance as provenance_of
from infogain.recipe import Recipe
from infogain.text.text_model import TextModel

Output = TypeVar("Output")
Observer = Callable[[StepEvent], None]


class Batch:
    """`open` lanes, `step` while anything is `live`, take what has finished by `leave`; rows come and go meanwhile."""

    def __init__(self, model: Denoiser | TextModel, *, trace: bool = False) -> None:
        self.tokenizer = model.tokenizer if isinstance(model, TextModel) else None
        self.model = adapt(model.denoiser if isinstance(model, TextModel) else model)
        self.provenance = model.provenance if isinstance(model, TextModel) else provenance_of(self.model)
        self.trace = trace
        self.lanes: dict[int, LiveLane] = {}  # by number
        self.opened = 0  # lanes, over all time
        self.steps = 0
        self.contexts = ContextRows(self.model)
        self._device = current(self.model.device)

    @property
    def live(self) -> bool:
        """Whether there is anything left to decode."""
        return any(lane.scheduler.unfinished for lane in self.lanes.values())

    def open(self, lane: Lane) -> int:
        """Take in a lane, whose rows are numbered from 0; returns its number. What can be refused is refused here."""
        lane = self._fitted(lane)
        for number, other in self.lanes.items():
            if self.model.attention_block and other.recipe.block != lane.recipe.block:
                raise InputError(
                    "lanes of a block-causal model must share one block width, for it is the model's attention block; "
                    f"lane {number} has {other.recipe.block}, this one {lane.recipe.block}. Close that lane first."
                )
        self.lanes[self.opened] = LiveLane(lane, self.opened, self.model)
        self.opened += 1
        return self.opened - 1

    def _fitted(self, lane: Lane) -> Lane:
        if not isinstance(lane, Lane):
            raise InputError(f"decoding takes lanes of a Canvas and a Recipe, Lane(canvas, recipe); got {lane!r:.80}.")
        return lane.fitted(self.model, self.tokenizer)

    def share(self, lane: Lane) -> tuple[int, range]:
        """Give rows to the open lane that decodes alike, or open this one; returns the lane's number and the rows'.

        Rows with equal recipes propose and are scored together. Their seeds may differ, for each row has its own.
        """
        lane = self._fitted(lane)
        for number, other in self.lanes.items():
            if not other.closed and other.lane.decodes_like(lane):
                return number, other.admit(lane)
        return self.open(lane), range(lane.rows)

    def admit(self, lane: int, canvas: Canvas, seeds: Sequence[int] | None = None) -> range:
        """More rows for a lane; returns their numbers. They wait where it has as many in flight as it may.

        `seeds` unset: those they would have had if the lane had been opened with them.
        """
        live = self._lane(lane)
        if live.closed:
            raise InputError(f"lane {lane} is closed and takes no more rows; open another.")
        more = self._fitted(replace(live.lane, canvas=canvas, seeds=seeds))
        if seeds is None:
            more = replace(more, seeds=noise.row_seeds(more.recipe.seed, more.rows, live.scheduler.admitted))
        return live.admit(more)

    @torch.inference_mode()
    def cancel(self, lane: int, rows: Iterable[int]) -> None:
        """These rows are broken off and give no result; rows that wait begin in the next step.

        Rows that have left, and lanes that are gone, are no error: who cancels may be late.
        """
        if lane not in self.lanes and 0 <= lane < self.opened:
            return
        live, numbers = self._lane(lane), set(whole_numbers(rows, "rows must be a list of their numbers"))
        if unknown := numbers.difference(range(live.scheduler.admitted)):
            most = live.scheduler.admitted - 1
            raise InputError(f"rows of lane {lane} are 0 to {most}; {min(unknown)} is none of them.")
        live.abort(dict.fromkeys(numbers & live.scheduler.in_flight.keys()), self.contexts)
        live.scheduler.forget(numbers)
        self._forget()

    def close(self, lane: int) -> None:
        """The lane takes no more rows, and is forgotten when the last of those it has has left."""
        self._lane(lane).closed = True
        self._forget()

    def _lane(self, number: int) -> LiveLane:
        if number not in self.lanes:
            raise InputError(f"a lane must be open; {number} is not. Open are {sorted(self.lanes) or 'none'}.")
        return self.lanes[number]

    def _forget(self) -> None:
        """Closed lanes whose rows have all left go, and so does what the model has read, where nothing is live."""
        for number, lane in list(self.lanes.items()):
            if lane.closed and not (lane.scheduler.unfinished or lane.scheduler.finished):
                del self.lanes[number]
        if not self.live:
            self.contexts.clear()

    @torch.inference_mode()
    def step(self, observe: Observer | None = None) -> list[StepEvent]:
        """Fig. 2, one step of every row in flight: sample candidate actions → evaluate them → move to the best.

        Returns what happened in each lane; `observe` is called with each of it.
        """
        with self._device:
            self.open_blocks()
            live = [lane for lane in self.lanes.values() if lane.z is not None]
            proposals = self._each(live, self._propose)  # 1 sampling
            facts = read_back(proposals)  #   the step's one read-back
            steps = self._each(proposals, lambda lane: self._settle(lane, proposals[lane], facts[lane]))
            p = self.evaluate(steps)  # 2 evaluation: one forward for all candidates of all lanes
            events = self._each(steps, lambda lane: self._transition(lane, steps[lane], p.get(lane)))  # 3 transition
            self.steps += 1
        if observe:
            for event in events.values():
                observe(event)
        return list(events.values())

    def _each(self, lanes: Iterable[LiveLane], verb: Callable[[LiveLane], Output | None]) -> dict[LiveLane, Output]:
        """What a verb gives for each lane. Where it raises, the rows the lane has in flight end with that error."""
        outputs: dict[LiveLane, Output] = {}
        for lane in lanes:
            try:
                output = verb(lane)
            except Exception as error:
                lane.abort(dict.fromkeys(lane.scheduler.in_flight, error), self.contexts)
            else:
                outputs |= {} if output is None else {lane: output}
        return outputs

    def open_blocks(self) -> None:
        """Rows at a block's start: the model reads what lies outside it."""
        lanes = list(self.lanes.values())
        if any(lane.rows_changed for lane in lanes):
            open_blocks(lanes, self.contexts)

    def _propose(self, lane: LiveLane) -> Proposal:
        assert lane.z is not None
        recipe = lane.recipe
        return propose(lane.z, recipe.sampler, recipe.schedule, self.model.mask_id, lane.eos_ids, lane.traits.erases)

    def _settle(self, lane: LiveLane, proposal: Proposal, facts: Sequence[CandidateFacts]) -> Step | None:
        """None where rows fail, whose logits are no distribution: the others propose the same again without them."""
        if failed := lane.scheduler.check(facts, self.model.vocab_size, f"lane {lane.number}"):
            lane.abort(failed, self.contexts)
            return None
        return settle(proposal, facts, lane.scheduler.live)

    def evaluate(self, steps: Mapping[LiveLane, Step]) -> dict[LiveLane, Marginals]:
        """What the model believes after each candidate, except after those that finish their block."""
        parts = {lane: step.unfinished for lane, step in steps.items() if step.unfinished}
        if not parts:
            return {}
        drafts = [part.draft for part in parts.values()]
        tokens, masked, row = (together([getattr(d, name) for d in drafts]) for name in ("tokens", "masked", "row"))
        max_per_row = max([max(part.per_attempt.values()) for part in parts.values()])
        masks = [sum([candidate.left for candidate in part.facts]) for part in parts.values()]
        masked_columns = MaskedColumns(masked, sum(masks))
        logits = self.contexts.at_masks(tokens, masked_columns, row, max_per_row)
        vocabularies = [(lane.vocabulary, count) for lane, count in zip(parts, masks, strict=True)]
        p = Marginals.at(masked_columns, *exclude_by_lane(logits, vocabularies))
        counts = [len(part.facts) for part in parts.values()]
        return {lane: p[end - n : end] for lane, n, end in zip(parts, counts, accumulate(counts), strict=True)}

    def _transition(self, lane: LiveLane, step: Step, p: Marginals | None) -> StepEvent:
        """Keep the best candidates of each attempt; hypotheses that have finished their block are parked."""
        scheduler, rows = lane.scheduler, lane.scheduler.live
        worth = score(step, lane.recipe.sampler, p)
        z, live, kept = survivors(step, worth, p, lane.traits)
        ended = lane.finished_blocks(step.finishing, self.contexts) if step.finishing else None
        # What a sampler or a caller's function can break has been done: from here on the lane changes.
        if step.unfinished:
            scheduler.count([(a, a.columns[1] * count) for a, count in step.unfinished.per_attempt.items()])
        scheduler.advance(step.left, live)
        lane.z = lane.with_beam_seeds(z, live) if z and lane.traits.beam > 1 else z
        if ended:
            lane.end_blocks(*ended)
            lane.fill()
        event = StepEvent(
            lane=lane.number,
            step=self.steps,
            z=step.z,
            rows=[attempt.request.row for attempt in rows],
            copy=[attempt.copy for attempt in rows],
            a=step.a,
            score=worth,
            cost=step.draft.cost,
            kept=kept,
            done=scheduler.masks_done,
            total=scheduler.masks_admitted,
        )
        if self.trace:
            record = event.record()
            for request in dict.fromkeys([attempt.request for attempt in rows]):
                request.records.append(record)
        return event

    @torch.inference_mode()
    def leave(self) -> list[RowResult]:
        """The rows that have finished, or failed. They are forgotten here."""
        left = []
        for lane in self.lanes.values():
            finished, lane.scheduler.finished = lane.scheduler.finished, []
            for request in finished:
                result = self._result(lane, [request], request.recipe, request.row)
                left.append(RowResult(lane.number, request.row, result, request.error))
        self._forget()
        return left

    def _result(self, lane: LiveLane, rows: Sequence[Request], recipe: Recipe, row: int | None = None) -> Result:
        result = collect(rows, recipe, lane.device, self.contexts.calls, self.provenance)
        return traced(result, rows, row) if self.trace else result

    def break_off(self) -> None:
        """What is in flight counts as finished, as far as it got."""
        for lane in self.lanes.values():
            lane.abort(dict.fromkeys(lane.scheduler.in_flight), self.contexts)

    @torch.inference_mode()
    def results(self) -> list[Result]:
        """A Result of every lane, of all rows that have not left; those that wait are as they came. Decoding ends."""
        self.break_off()
        every = [(lane, [*lane.scheduler.finished, *lane.scheduler.waiting]) for lane in self.lanes.values()]
        return [self._result(lane, sorted(rows, key=lambda r: r.row), lane.recipe) for lane, rows in every]

    @property
    def errors(self) -> list[Exception]:
        """Why rows that have not left yet have failed."""
        return [r.error for lane in self.lanes.values() for r in lane.scheduler.finished if r.error is not None]

    @torch.inference_mode()
    def snapshot(self) -> list[View]:
        """Every row in flight as it stands. Reads back once, all rows together."""
        return views([(number, *one) for number, lane in self.lanes.items() for one in lane.hypotheses(self.contexts)])
