"""One lane while it is decoded: its live state, what enters it at block starts and what leaves it at their ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

import torch
from torch import Tensor

from infogain import noise
from infogain.canvas import Canvas
from infogain.device import counting, upload
from infogain.errors import ContractError, NumericsError
from infogain.lane import Group, Lane
from infogain.marginals import Marginals
from infogain.move import PROMISES, Move, Verdict, distinct
from infogain.queue import Queue
from infogain.request import Finished
from infogain.state import ALL, Draft, Index, State
from infogain.trace import StepEvent


@dataclass(frozen=True, eq=False)
class Opening:
    """Hypotheses between two blocks."""

    canvas: Canvas  # [H]
    members: list[int]  # group of each
    cost: Tensor  # [H]
    row: Tensor | None = None  # [H] the context row of the block each has finished; None: none yet

    def take(self, hypotheses: list[int]) -> Opening:
        if len(hypotheses) == len(self.members):
            return self
        index = upload(hypotheses, self.cost.device)
        row = None if self.row is None else self.row[index]
        return Opening(self.canvas.take(index), [self.members[h] for h in hypotheses], self.cost[index], row)


class Run:
    """Its loops are over what is in flight: rows that wait or have left cost a step nothing."""

    def __init__(self, lane: Lane, index: int, aligned: bool, device: torch.device, trace: bool) -> None:
        self.lane, self.index, self.device = lane, index, device
        self.sampler, self.schedule = lane.recipe.sampler, lane.recipe.schedule
        self.traits = self.sampler.traits
        self.eos_ids = upload(lane.recipe.eos_ids, device) if lane.recipe.eos_ids else None
        self.queue = Queue(lane, aligned, device, trace)
        self.groups = self.queue.groups  # in flight, by number
        self.done = 0  # masks filled, or skipped after an EOS
        self.z: State | None = None
        self.members: list[int] = []  # group of each row of z: what z.group says, known to the host
        self.openings: list[Opening] = []
        self._fill()

    @property
    def live(self) -> bool:
        return self.z is not None or bool(self.openings)

    @property
    def holds(self) -> bool:
        """Whether rows between blocks are held back, to open theirs with rows that are about to end theirs.

        They wait two steps at most for each block that both will then open, as far as is known: rows of one lane
        that are in step mostly stay so, and every opening that is shared saves a forward, and more than its time.
        Copies of a prompt never wait, for whether they meet decides how many forwards their row counts.
        """
        if self.z is None or self.traits.copies > 1:
            return False
        members, groups = set(self.members), self.groups
        soonest = min(groups[g].left for g in members)  # a step is one mask or more
        ours = max(1 + len(groups[g].blocks) for opening in self.openings for g in opening.members)
        theirs = max(len(groups[g].blocks) for g in members) + bool(self.queue.waiting)  # whose next row takes a place
        return soonest <= 2 * min(ours, theirs)

    def admit(self, canvas: Canvas, seeds: Sequence[int]) -> None:
        """More rows, which `Batch.admit` has checked."""
        self.queue.admit(canvas, seeds)
        self._fill()

    def part_openings(self, way: Callable[[Group], int | None]) -> list[tuple[int | None, Opening]]:
        """Rows that are to open a block, by the way they do; None where there is no block before it."""
        parts = []
        for opening in self.openings:
            ways = [None if opening.row is None else way(self.groups[g]) for g in opening.members]
            for one in dict.fromkeys(ways):
                parts.append((one, opening.take([h for h, other in enumerate(ways) if other == one])))
        self.openings = [opening for _, opening in parts]
        return parts

    def count(self, ran: Iterable[tuple[int, int]]) -> None:
        """Note a forward: which groups' rows took part, and the columns they ran."""
        requests = {}
        for g, columns in ran:
            request = requests[self.groups[g].prompt] = self.queue.of(g)
            request.token_forwards += columns
        for request in requests.values():
            request.forwards += 1

    def open_blocks(self, opening: Opening, p: Marginals, first_row: int) -> None:
        """The model has read these rows: they join the live state, on context rows from `first_row` on."""
        members = opening.members
        table = []
        for at, g in enumerate(members, first_row):
            group = self.groups[g]
            table.append((at, g, *group.now, group.steps, group.width))
        for g, same in groupby(range(len(members)), key=members.__getitem__):
            self.groups[g].context = [first_row + h for h in same]
        row, number, start, masks, steps, taken, width = upload(table, self.device).T.contiguous()
        tokens, masked = opening.canvas.view(start, p.entropy.shape[1])
        # another row's block may be wider; the columns past our own wait for our next block
        masked &= torch.arange(tokens.shape[1], device=self.device) < width[:, None]
        z = Draft(
            row=row,
            group=number,
            start=start,
            step=torch.zeros_like(start),
            taken=taken,
            steps=steps,
            total=masks,
            cost=opening.cost,
            seed=self._place_seeds(members),
            tokens=tokens,
            masked=masked,
            revealed=torch.full_like(tokens, -1),
        ).seen(p, before=(p,) * self.traits.memory)
        self.z = self.z.join(z) if self.z else z
        self.members += members
        self.openings.remove(opening)

    def widen(self, canvas: Canvas, width: int) -> None:
        """A row with a wider block has come: show as much of the canvas beside ours."""
        if self.z is not None:
            wider, _ = canvas.take(self.z.row).view(self.z.start, width)
            tokens = torch.cat([self.z.tokens, wider[:, self.z.tokens.shape[1] :]], 1)
            self.z = self.z.widen(tokens)

    def propose(self) -> Move:
        """Fig. 2, step 1: sample candidate actions."""
        assert self.z is not None
        return Move.propose(self.z, self.sampler, self.schedule, self.lane.canvas.mask_id, self.eos_ids)

    def settle(self, move: Move, verdicts: list[Verdict]) -> None:
        """Take in what was read back of this lane's candidates, and keep the distinct ones."""
        parents = [verdict.parent for verdict in verdicts]
        if parents != sorted(parents) or len(set(parents)) != len(self.members):
            raise ContractError("every hypothesis must get candidates, in order; the sampler's parents are not so.")
        masks, words = [self.groups[g].left for g in self.members], move.z.p.vocabulary.size
        pace: dict[int, int] = {}
        for verdict in verdicts:
            if promise := verdict.broken(masks[verdict.parent], words):
                kind = NumericsError if promise == "no_distribution" else ContractError
                raise self._error(kind, PROMISES[promise], verdict)
            if pace.setdefault(self.members[verdict.parent], verdict.commits) != verdict.commits:
                raise self._error(ContractError, "candidates that compete must commit equally many tokens", verdict)
        for g, count in pace.items():
            self.groups[g].filled += count
            self.groups[g].steps += 1
            self.done += count
        kept = distinct(verdicts)
        move.verdicts = [verdicts[m] for m in kept]
        if len(kept) < len(verdicts):
            index = self._index(kept)
            move.a, move.draft = move.a[index], move.draft.draft(index)
        move.rivals = Counter(self.groups_of(move, move.going))

    def _index(self, kept: list[int]) -> Index:
        """Every so many are a view, as where all rows are bypassed; others are copied."""
        step = kept[1] - kept[0] if len(kept) > 1 else 1
        evenly = range(kept[0], kept[-1] + 1, step)
        return slice(kept[0], kept[-1] + 1, step) if kept == list(evenly) else upload(kept, self.device)

    def transition(self, move: Move, canvas: Canvas, step: int) -> StepEvent:
        """Fig. 2, step 3: keep the best candidates of each group; a finished block goes back to the canvas."""
        groups = [self.groups[g] for g in self.members]
        ending = self.groups_of(move, move.finishing)
        score = self._score(move)
        kept = self._advance(move, score)
        if move.finishing:
            kept.append(torch.arange(len(score), device=score.device)[move.finishing_index])
            ends = move.draft.draft(move.finishing_index)
            rows = canvas.take(ends.row).write(ends.start, ends.tokens, ends.revealed)
            stopped = [move.verdicts[m].ends > 0 for m in move.finishing]
            if self.lane.stop:
                stopped = self._asked(rows, ending, stopped)
            self._arrive(Opening(rows, ending, ends.cost, ends.row), stopped)
            self._fill()
        event = StepEvent(
            lane=self.index,
            step=step,
            z=move.z,
            prompt=[group.prompt for group in groups],
            copy=[group.copy for group in groups],
            a=move.a,
            score=score,
            cost=move.draft.cost,
            kept=kept[0] if len(kept) == 1 else torch.cat(kept),
            done=self.done,
            total=self.queue.masks,
        )
        self.queue.record(event)
        return event

    def park(self, canvas: Canvas | None) -> None:
        """Decoding has broken off: every hypothesis in flight is set aside as it is, and its row counts as finished."""
        if self.z is not None and canvas is not None:
            rows = canvas.take(self.z.row).write(self.z.start, self.z.tokens, self.z.revealed)
            self._finish(Opening(rows, self.members, self.z.cost), complete=False)
        for opening in self.openings:
            self._finish(opening, complete=False)
        self.z, self.members, self.openings = None, [], []
        self.queue.release(list(self.groups))

    def _fill(self) -> None:
        """Rows that wait take the places that are free; one without masks leaves its own at once."""
        while arriving := self.queue.arrive():
            members = [group.number for request in arriving for group in request.groups]
            rows = Canvas.join(*(request.canvas for request in arriving for _ in request.groups)).to(self.device)
            nothing = torch.zeros(len(members), dtype=torch.float64, device=self.device)
            self._arrive(Opening(rows, members, nothing), [False] * len(members))

    def _advance(self, move: Move, score: Tensor) -> list[Tensor]:
        """The survivors among candidates whose block goes on become the live state; returns which they are."""
        if move.p is None:
            self.z, self.members = None, []
            return []
        best, places = select(score[move.going_index], list(move.rivals.values()), self.traits.beam)
        kept = torch.arange(len(score), device=score.device)[move.going_index][best]
        index = ALL if len(kept) == len(score) else kept
        # a NaN score is passed on in the cost, for the next read-back to find
        z_next = move.draft.draft(index, torch.where(score.isnan(), score, move.draft.cost))
        self.members = [g for g, count in zip(move.rivals, places, strict=True) for _ in range(count)]
        if self.traits.beam > 1:
            z_next = replace(z_next, seed=self._place_seeds(self.members))
        past = (move.z.p, *move.z.before)[: self.traits.memory]
        self.z = z_next.seen(move.p[best], tuple(p[move.a.parent[kept]] for p in past))
        return [kept]

    def _score(self, move: Move) -> Tensor:
        """The sampler's score of every candidate. [M]

        Those that finish their block are not evaluated: nothing is masked there, so what was last said may stand in.
        """
        if move.p is not None and not move.finishing:
            return self._worth(move, ALL, move.ahead.seen(move.p))
        score = torch.zeros_like(move.draft.cost)
        if move.p is not None:
            score[move.going_index] = self._worth(move, move.going_index, move.ahead.seen(move.p))
        if move.finishing:
            index = move.finishing_index
            stand_in = move.z.p[move.a.parent[index]]
            score[index] = self._worth(move, index, move.draft.draft(index).seen(stand_in))
        return score

    def _worth(self, move: Move, index: Index, z_next: State) -> Tensor:
        worth = self.sampler.score(move.z, move.a[index], z_next)
        if worth.shape != z_next.row.shape:
            raise ContractError(
                f"score must give one number per candidate, shape {list(z_next.row.shape)}; "
                f"{self.sampler.name or type(self.sampler).__name__} gave {list(worth.shape)}."
            )
        return worth.double()

    def _arrive(self, arrived: Opening, stopped: list[bool]) -> None:
        """Those with more to write open the next block, the others are finished."""
        members = arrived.members
        for g, stops in groupby(range(len(members)), key=members.__getitem__):
            if all(stopped[h] for h in stops):
                self.done += self.groups[g].stop()
        more = [h for h, g in enumerate(members) if self.groups[g].blocks and not (stopped[h] and self.traits.beam > 1)]
        done = sorted(set(range(len(members))) - set(more))
        if done:
            self._finish(arrived.take(done), complete=True)
        if more:
            self.openings.append(arrived.take(more))
            for g in set(self.openings[-1].members):
                self.groups[g].next_block()
        self.queue.release(sorted(set(members) - {members[h] for h in more}))

    def _place_seeds(self, members: list[int]) -> Tensor:
        """Every place of a group has a noise stream of its own; its first place has the group's. [R]"""
        seeds = [self.groups[g].seed for g in members]
        if self.traits.beam == 1:
            return upload(seeds, self.device)
        place = [i for _, same in groupby(members) for i, _ in enumerate(same)]
        seed, at = upload([seeds, place], self.device)
        return noise.fork(seed, noise.PLACE, at)

    def _finish(self, done: Opening, complete: bool) -> None:
        for h, g in enumerate(done.members):
            finished = Finished(done.canvas.take(slice(h, h + 1)), done.cost[h], complete)
            self.queue.of(g).finished.append(finished)

    def _asked(self, canvas: Canvas, members: list[int], stopped: list[bool]) -> list[bool]:
        """The same, and where the lane says that what was written ends the text. Reads the rows back."""
        assert self.lane.stop is not None
        ends = []
        for was, g, row in zip(stopped, members, canvas.tokens.tolist(), strict=True):
            request = self.queue.of(g)
            holes = request.canvas.masked[0].tolist()
            written = [token for token, new in zip(row, holes, strict=False) if new]
            end = written.index(canvas.mask_id) if canvas.mask_id in written else len(written)
            ends.append(was or self.lane.stop(request.prompt, written[:end]))
        return ends

    def groups_of(self, move: Move, candidates: Sequence[int]) -> list[int]:
        """The group of each of these candidates."""
        return [self.members[move.verdicts[m].parent] for m in candidates]

    def _error(self, kind: type[ContractError | NumericsError], text: str, verdict: Verdict) -> Exception:
        group = self.groups[self.members[verdict.parent]]
        return kind(
            f"{text} (lane {self.index}, prompt {group.prompt}, block at column {group.now.start}, {group.filled} of "
            f"its {group.now.masks} masks filled). What was decoded so far is in the error's `partial`."
        )


def select(score: Tensor, sizes: Sequence[int], beam: int) -> tuple[Tensor | slice, list[int]]:
    """Sec. 3.2.2, transition: the best `beam` of each run of `sizes` scores, in their old order; ties to the first.

    Returns their indices and how many each run keeps.
    """
    places = [min(size, beam) for size in sizes]
    if list(sizes) == places:
        return ALL, places  # of them, and no copy
    widest, first = max(sizes), accumulate(sizes, initial=0)
    if len(score) == len(sizes) * widest:
        index = counting(len(score), score.device).view(len(sizes), widest)
    else:  # a short run is filled up with its first score: of equals the first is taken
        padded = [[at + j * (j < size) for j in range(widest)] for at, size in zip(first, sizes, strict=False)]
        index = upload(padded, score.device)
    table = score[index]
    if beam == 1:
        return index.gather(1, table.argmax(-1, keepdim=True)).flatten(), places
    table[:, 1:].masked_fill_(index[:, 1:] == index[:, :1], -torch.inf)  # and taken once
    best = table.argsort(dim=-1, descending=True, stable=True)[:, :beam].sort(-1).values
    best = index.gather(1, best).flatten()
    if min(places) == beam:
        return best, places
    return best[upload([i * beam + j for i, count in enumerate(places) for j in range(count)], score.device)], places
