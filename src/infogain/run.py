"""One lane while it is decoded: its groups, its live state, and what it has finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
from torch import Tensor

from infogain import noise
from infogain.canvas import PAD, Canvas
from infogain.device import upload
from infogain.errors import ContractError, NumericsError
from infogain.lane import Lane, make_groups
from infogain.marginals import Marginals
from infogain.move import PROMISES, Ends, Move, Verdict
from infogain.result import Result
from infogain.state import Draft, State
from infogain.trace import StepEvent, Trace


@dataclass(frozen=True)
class Opening:
    """Hypotheses between two blocks."""

    canvas: Canvas  # [H]
    members: list[int]  # group of each
    cost: Tensor  # [H]
    row: Tensor | None = None  # [H] the context row of the block each has finished; None: none yet

    def take(self, hypotheses: list[int]) -> Opening:
        index = upload(hypotheses, self.cost.device)
        row = None if self.row is None else self.row[index]
        return Opening(self.canvas.take(index), [self.members[h] for h in hypotheses], self.cost[index], row)


class Finished(NamedTuple):
    group: int
    canvas: Canvas  # [1]
    cost: Tensor  # []
    complete: bool  # False: set aside when decoding broke off


class Run:
    def __init__(self, lane: Lane, index: int, aligned: bool, device: torch.device, trace: bool) -> None:
        self.lane, self.index, self.device = lane, index, device
        self.sampler, self.schedule = lane.recipe.sampler, lane.recipe.schedule
        self.block = lane.block(aligned)
        pairs = list(make_groups(lane, aligned))
        self.groups = [group for group, _ in pairs]
        self.seeds = upload([seed for _, seed in pairs], device)  # [G]
        self.total = sum(block.masks for group in self.groups for block in group.blocks)
        self.done = 0  # masks filled, or skipped after an EOS
        self.canvas = lane.canvas.to(device)
        self.generated = self.canvas.masked  # [P, L]
        self.holes = lane.canvas.masked.tolist() if lane.stop else []  # the same, known to the host
        self.eos_ids = upload(lane.recipe.eos_ids, device) if lane.recipe.eos_ids else None
        self.z: State | None = None
        self.members: list[int] = []  # group of each row of z: what z.group says, known to the host
        self.opening: Opening | None = None
        self.finished: list[Finished] = []
        self.forwards: Counter[int] = Counter()  # by prompt
        self.token_forwards: Counter[int] = Counter()
        self.trace = Trace(lane.recipe.plain(), lane.canvas.mask_id, lane.canvas.rows()) if trace else None
        prompts = self.canvas.take(upload([group.prompt for group in self.groups], device))
        nothing = torch.zeros(len(self.groups), dtype=torch.float64, device=device)
        self._arrive(Opening(prompts, list(range(len(self.groups))), nothing), [False] * len(self.groups))

    @property
    def live(self) -> bool:
        return self.z is not None or self.opening is not None

    def count(self, members: Sequence[int], columns: Sequence[int]) -> None:
        """Note a forward: which groups' rows took part, and the columns each row ran."""
        self.forwards.update({self.groups[g].prompt for g in members})
        for g, ran in zip(members, columns, strict=True):
            self.token_forwards[self.groups[g].prompt] += ran

    def open_blocks(self, p: Marginals, first_row: int) -> None:
        """The model has read the opening rows: they join the live state, on context rows from `first_row` on."""
        opening = self.opening
        assert opening is not None
        for g, same in groupby(range(len(opening.members)), key=opening.members.__getitem__):
            self.groups[g].context = [first_row + h for h in same]
        blocks = [self.groups[g].now for g in opening.members]
        start, masks, steps = (upload(column, self.device) for column in zip(*blocks, strict=True))
        tokens, masked = opening.canvas.view(start, p.entropy.shape[1])
        # another lane's block may be wider; the columns past our own wait for our next block
        masked &= torch.arange(tokens.shape[1], device=self.device) < self.block
        z = Draft(
            row=upload(range(first_row, first_row + len(blocks)), self.device),
            group=upload(opening.members, self.device),
            start=start,
            step=torch.zeros_like(start),
            taken=upload([self.groups[g].steps for g in opening.members], self.device),
            steps=steps,
            total=masks,
            cost=opening.cost,
            seed=self._place_seeds(opening.members),
            tokens=tokens,
            masked=masked,
            revealed=torch.full_like(tokens, -1),
        ).seen(p, before=(p,) * self.sampler.memory)
        self.z = self.z.join(z) if self.z else z
        self.members += opening.members
        self.opening = None

    def propose(self) -> Move:
        """Fig. 2, step 1: sample candidate actions."""
        assert self.z is not None
        return Move.propose(self.z, self.sampler, self.schedule, self.canvas.mask_id, self._ends(self.z))

    def settle(self, move: Move, verdicts: list[Verdict]) -> None:
        """Take in what was read back of this lane's candidates, and keep the distinct ones."""
        parents = [verdict.parent for verdict in verdicts]
        if parents != sorted(parents) or len(set(parents)) != len(self.members):
            raise ContractError("every hypothesis must get candidates, in order; the sampler's parents are not so.")
        pace: dict[int, int] = {}
        for verdict in verdicts:
            for name, promise in PROMISES.items():
                if getattr(verdict, name):
                    raise self._error(NumericsError if name == "no_distribution" else ContractError, promise, verdict)
            if pace.setdefault(self.members[verdict.parent], verdict.commits) != verdict.commits:
                raise self._error(ContractError, "candidates that compete must commit equally many tokens", verdict)
        for g, count in pace.items():
            self.groups[g].filled += count
            self.groups[g].steps += 1
            self.done += count
        kept = [m for m, verdict in enumerate(verdicts) if verdict.distinct]
        move.verdicts = [verdicts[m] for m in kept]
        if len(kept) < len(verdicts):
            index = upload(kept, self.device)
            move.a, move.draft = move.a[index], move.draft.draft(index)

    def transition(self, move: Move, canvas: Canvas, step: int) -> StepEvent:
        """Fig. 2, step 3: keep the best candidates of each group; a finished block goes back to the canvas."""
        groups = [self.groups[g] for g in self.members]
        ending = self.groups_of(move, move.finishing)
        score = self._score(move)
        going = self._advance(move, score)
        if move.finishing:
            ends = move.draft.draft(move.finishing_index)
            rows = canvas.take(ends.row).write(ends.start, ends.tokens, ends.revealed)
            stopped = [bool(move.verdicts[m].stops) for m in move.finishing]
            if self.lane.stop:
                stopped = self._asked(rows, ending, stopped)
            self._arrive(Opening(rows, ending, ends.cost, ends.row), stopped)
        event = StepEvent(
            lane=self.index,
            step=step,
            z=move.z,
            prompt=[group.prompt for group in groups],
            copy=[group.copy for group in groups],
            a=move.a,
            score=score,
            cost=move.draft.cost,
            kept=torch.cat([going, move.finishing_index]),
            done=self.done,
            total=self.total,
        )
        if self.trace:
            self.trace.record(event)
        return event

    def park(self, canvas: Canvas | None) -> None:
        """Set every hypothesis in flight aside as it is: decoding has broken off."""
        if self.z is not None and canvas is not None:
            rows = canvas.take(self.z.row).write(self.z.start, self.z.tokens, self.z.revealed)
            self._finish(Opening(rows, self.members, self.z.cost), complete=False)
        if self.opening is not None:
            self._finish(self.opening, complete=False)

    def result(self, calls: int) -> Result:
        """The finished hypothesis of least H̃ for each prompt; less than a millionth of a nat is a tie, to the first."""
        costs = torch.stack([h.cost for h in self.finished]).tolist()
        rank = [(not h.complete, round(cost, 6)) for h, cost in zip(self.finished, costs, strict=True)]
        best: dict[int, int] = {}
        for i, h in enumerate(self.finished):
            j = best.setdefault(self.groups[h.group].prompt, i)
            if rank[i] < rank[j]:
                best[self.groups[h.group].prompt] = i
        chosen = [best[prompt] for prompt in range(self.lane.rows)]
        columns = self.canvas.tokens.shape[1]
        tokens = torch.cat([self.finished[i].canvas.tokens[:, :columns] for i in chosen])
        masked = self.generated & (tokens == self.canvas.mask_id)
        skipped = masked & upload([self.finished[i].complete for i in chosen], self.device).bool()[:, None]
        tokens = torch.where(skipped, (*self.lane.recipe.eos_ids, PAD)[0], tokens)
        result = Result(
            tokens=tokens,
            length=self.canvas.length,
            generated=self.generated,
            skipped=skipped,
            revealed=torch.cat([self.finished[i].canvas.revealed[:, :columns] for i in chosen]),
            cumulative_entropy=torch.tensor([costs[i] for i in chosen], dtype=torch.float64),
            forwards=torch.tensor([self.forwards[prompt] for prompt in range(self.lane.rows)]),
            token_forwards=torch.tensor([self.token_forwards[prompt] for prompt in range(self.lane.rows)]),
            committed=(self.generated & ~masked).sum(-1),
            calls=calls,
            seeds=self.lane.row_seeds,
            recipe=self.lane.recipe.plain(),
            trace=self.trace,
        )
        if self.trace:
            self.trace.rows = result.rows()
        return result

    def _advance(self, move: Move, score: Tensor) -> Tensor:
        """The survivors among candidates whose block goes on become the live state; returns which they are."""
        going = move.going_index
        if move.p is None:
            self.z, self.members = None, []
            return going
        sizes = [(g, len(list(same))) for g, same in groupby(self.groups_of(move, move.going))]
        best, places = select(score[going], [size for _, size in sizes], self.sampler.beam)
        kept = going[best]
        z_next, parents = move.draft.draft(kept), move.a.parent[kept]
        # a NaN score is passed on in the cost, for the next read-back to find
        z_next = replace(z_next, cost=z_next.cost.where(~score[kept].isnan(), torch.nan))
        self.members = [g for (g, _), count in zip(sizes, places, strict=True) for _ in range(count)]
        if self.sampler.beam > 1:
            z_next = replace(z_next, seed=self._place_seeds(self.members))
        past = (move.z.p, *move.z.before)[: self.sampler.memory]
        self.z = z_next.seen(move.p[best], tuple(p[parents] for p in past))
        return kept

    def _score(self, move: Move) -> Tensor:
        """The sampler's score of every candidate. [M]

        Those that finish their block are not evaluated: nothing is masked there, so what was last said may stand in.
        """
        score = torch.zeros_like(move.draft.cost)
        if move.p is not None:
            score[move.going_index] = self._worth(move, move.going_index, move.ahead.seen(move.p))
        if move.finishing:
            index = move.finishing_index
            stand_in = move.z.p[move.a.parent[index]]
            score[index] = self._worth(move, index, move.draft.draft(index).seen(stand_in))
        return score

    def _worth(self, move: Move, index: Tensor, z_next: State) -> Tensor:
        worth = self.sampler.score(move.z, move.a[index], z_next)
        if worth.shape != index.shape:
            raise ContractError(
                f"score must give one number per candidate, shape {list(index.shape)}; "
                f"{self.sampler.name or type(self.sampler).__name__} gave {list(worth.shape)}."
            )
        return worth.double()

    def _arrive(self, arrived: Opening, stopped: list[bool]) -> None:
        """Those with more to write open the next block, the others are finished."""
        members = arrived.members
        for g, stops in groupby(range(len(members)), key=members.__getitem__):
            if all(stopped[h] for h in stops):
                self.done += self.groups[g].stop()
        more = [
            h for h, g in enumerate(members) if self.groups[g].blocks and not (stopped[h] and self.sampler.beam > 1)
        ]
        done = sorted(set(range(len(members))) - set(more))
        if done:
            self._finish(arrived.take(done), complete=True)
        if more:
            self.opening = arrived.take(more)
            for g in set(self.opening.members):
                self.groups[g].next_block()

    def _place_seeds(self, members: list[int]) -> Tensor:
        """Every place of a group has a noise stream of its own; its first place has the group's. [R]"""
        place = [i for _, same in groupby(members) for i, _ in enumerate(same)]
        return noise.fork(self.seeds[upload(members, self.device)], noise.PLACE, upload(place, self.device))

    def _finish(self, done: Opening, complete: bool) -> None:
        for h, g in enumerate(done.members):
            self.finished.append(Finished(g, done.canvas.take(slice(h, h + 1)), done.cost[h], complete))

    def _asked(self, canvas: Canvas, members: list[int], stopped: list[bool]) -> list[bool]:
        """The same, and where the lane says that what was written ends the text. Reads the rows back."""
        assert self.lane.stop is not None
        prompts = [self.groups[g].prompt for g in members]
        written = [
            [token for token, new in zip(row, self.holes[prompt], strict=False) if new]
            for row, prompt in zip(canvas.tokens.tolist(), prompts, strict=True)
        ]
        ends = [row.index(canvas.mask_id) if canvas.mask_id in row else len(row) for row in written]
        asked = zip(stopped, prompts, written, ends, strict=True)
        return [was or self.lane.stop(prompt, row[:end]) for was, prompt, row, end in asked]

    def _ends(self, z: State) -> Ends | None:
        """What would end a text in these blocks; None where the recipe has no EOS."""
        if self.eos_ids is None:
            return None
        generated = self.generated[z.group // self.sampler.copies]  # [R, L]
        last = torch.minimum(z.start + self.block, torch.full_like(z.start, generated.shape[1])) - 1
        column = z.column.minimum(last[:, None])  # past the block: its last column again
        return Ends(self.eos_ids, generated.gather(1, column) & (column == z.column))

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
        return slice(None), places  # all of them, and no copy
    widest = max(sizes)
    first = list(accumulate(sizes, initial=0))[:-1]
    padded = [at + j if j < size else -1 for at, size in zip(first, sizes, strict=True) for j in range(widest)]
    index = upload(padded, score.device)
    table = torch.where(index < 0, -torch.inf, score[index]).view(len(sizes), widest)
    best = table.argsort(dim=-1, descending=True, stable=True)[:, :beam].sort(-1).values
    taken = upload([i * beam + j for i, count in enumerate(places) for j in range(count)], score.device)
    best = best + upload(first, score.device)[:, None]
    return best.flatten()[taken], places
