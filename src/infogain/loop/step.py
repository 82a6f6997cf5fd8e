"""One step of one lane, in tensors: propose → (read back) → settle → (one forward) → score → select.

Each verb takes what the one before returned. The host reads a Verdict of every candidate back, once per step; what
follows from it, the host works out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import TypeVar

import torch
from torch import Tensor

from infogain.algorithm.marginals import Marginals
from infogain.algorithm.objective import immediate_cost
from infogain.algorithm.schedule import Schedule
from infogain.algorithm.state import ALL, Candidates, Draft, Index, State, check_form, index_of
from infogain.device import constant, counting, together, upload
from infogain.errors import ContractError
from infogain.loop.request import Attempt
from infogain.loop.scheduler import Verdict, distinct
from infogain.loop.trace import StepRecord
from infogain.samplers import Sampler, Traits

Key = TypeVar("Key")
FLOATS = 2  # a Verdict's first numbers; the others are whole


@dataclass(frozen=True, eq=False)
class Proposal:
    """All candidates of a lane, before anything of them is known to the host."""

    z: State
    a: Candidates  # [M]
    draft: Draft  # [M] the canvases they lead to
    unread: Tensor  # [M, numbers] a Verdict each, on the device; of its floats the bits


def propose(
    z: State, sampler: Sampler, schedule: Schedule, mask_id: int, eos_ids: Tensor | None = None, erases: bool = False
) -> Proposal:
    """Fig. 2, step 1: sample candidate actions."""
    a = sampler.propose(z, schedule.budget(z))
    check_form(a, z)
    none = constant(0, torch.int64, z.cost.device).expand_as(a.parent)
    masks = a.chosen & (a.tokens == mask_id)  # [M, W]
    writes = replace(a, chosen=a.chosen > masks) if erases else a
    cost = immediate_cost(z, writes)
    draft = z.apply(a, cost, masks if erases else None)
    lowest, highest = draft.tokens.aminmax(dim=-1)
    numbers = {
        "cost": draft.cost.view(torch.int64),
        "remaining": z.remaining.double()[a.parents(z)].view(torch.int64),
        "parent": a.parent,
        "commits": writes.chosen.sum(-1),
        "erases": masks.sum(-1) if erases else none,
        # what was given, or is masked, cannot be erased
        "masks": (masks & (z.revealed[a.parent] < 0) if erases else masks).sum(-1),
        "lowest": lowest,
        "highest": highest,
        "left": draft.left,
        "ends": none if eos_ids is None else draft.count_written(eos_ids),
        "row": draft.row,
        "canvas": draft.fingerprint(),
    }
    return Proposal(z, replace(a, cost=cost), draft, torch.stack([numbers[name] for name in Verdict._fields]).T)


def read_back(proposals: Mapping[Key, Proposal]) -> dict[Key, list[Verdict]]:
    """The step's one read-back to the host: a few numbers per candidate of every lane."""
    if not proposals:
        return {}
    table = together([proposal.unread for proposal in proposals.values()]).cpu().T
    floats, whole = table[:FLOATS].view(torch.float64).tolist(), table[FLOATS:].tolist()
    verdicts = iter([Verdict(*numbers) for numbers in zip(*floats, *whole, strict=True)])
    return {lane: list(islice(verdicts, len(proposal.unread))) for lane, proposal in proposals.items()}


@dataclass(frozen=True, eq=False)
class Step:
    """The distinct candidates of a lane, checked, with what the host has learnt of them."""

    z: State
    a: Candidates  # [M]
    draft: Draft  # [M]
    verdicts: list[Verdict]  # [M]
    attempts: list[Attempt]  # [M] whose each candidate is

    @cached_property
    def unfinished(self) -> list[int]:
        """Candidates that leave masks in their block: those that are evaluated."""
        return [m for m, verdict in enumerate(self.verdicts) if verdict.left]

    @cached_property
    def finishing(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if not verdict.left]

    @cached_property
    def unfinished_per_attempt(self) -> Counter[Attempt]:
        """How many candidates each attempt has evaluated, in their order."""
        return Counter([self.attempts[m] for m in self.unfinished])

    @property
    def masks(self) -> int:
        """What the model is asked for: the masks that all unfinished candidates leave."""
        return sum([verdict.left for verdict in self.verdicts])

    @property
    def left(self) -> dict[Attempt, int]:
        """Masks that each attempt has left after this step, whichever candidate it takes."""
        return {attempt: verdict.left for attempt, verdict in zip(self.attempts, self.verdicts, strict=True)}

    @cached_property
    def unfinished_index(self) -> Index:
        return index_of(self.unfinished, len(self.verdicts), self.draft.cost.device)

    @cached_property
    def finishing_index(self) -> Index:
        return index_of(self.finishing, len(self.verdicts), self.draft.cost.device)

    @cached_property
    def to_evaluate(self) -> Draft:
        """The canvases that the model is to look at."""
        return self.draft.draft(self.unfinished_index)


def settle(proposal: Proposal, verdicts: Sequence[Verdict], live: Sequence[Attempt]) -> Step:
    """Keep one candidate for each canvas. `live` says whose each hypothesis is."""
    kept = distinct(verdicts)
    index, verdicts = index_of(kept, len(verdicts), proposal.unread.device), [verdicts[m] for m in kept]
    attempts = [live[verdict.parent] for verdict in verdicts]
    return Step(proposal.z, proposal.a[index], proposal.draft.draft(index), verdicts, attempts)


def score(step: Step, sampler: Sampler, p: Marginals | None) -> Tensor:
    """Fig. 2, step 2: the sampler's score of every candidate; `p` is what the model says of the unfinished ones. [M]

    Those that finish their block are not evaluated: nothing is masked there, so what was last said may stand in.
    """
    if p is not None and not step.finishing:
        return _worth(step, sampler, ALL, step.to_evaluate.seen(p))
    worth = torch.zeros_like(step.draft.cost)
    if p is not None:
        index = step.unfinished_index
        worth[index] = _worth(step, sampler, index, step.to_evaluate.seen(p))
    if step.finishing:
        index = step.finishing_index
        stand_in = step.z.p[step.a.parent[index]]
        worth[index] = _worth(step, sampler, index, step.draft.draft(index).seen(stand_in))
    return worth


def _worth(step: Step, sampler: Sampler, index: Index, z_next: State) -> Tensor:
    worth = sampler.score(step.z, step.a[index], z_next)
    if worth.shape != z_next.cost.shape:
        raise ContractError(
            f"score must give one number per candidate, shape {list(z_next.cost.shape)}; "
            f"{sampler.name or type(sampler).__name__} gave {list(worth.shape)}."
        )
    return worth.double()


def survivors(
    step: Step, worth: Tensor, p: Marginals | None, traits: Traits
) -> tuple[State | None, list[Attempt], Tensor]:
    """Fig. 2, step 3: the best unfinished candidates of each attempt, as the state that the next step begins from.

    Returns it, whose its rows are, and which candidates live on: those, and all that finish their block.
    """
    every = torch.arange(len(worth), device=worth.device)  # its own: observers may write to what they are given
    if p is None:
        return None, [], every
    sizes = step.unfinished_per_attempt
    best, places = select(worth[step.unfinished_index], list(sizes.values()), traits.beam)
    kept = every[step.unfinished_index][best]
    index = ALL if len(kept) == len(worth) else kept
    # a NaN score is passed on in the cost, for the next read-back to find
    draft = step.draft.draft(index, torch.where(worth.isnan(), worth, step.draft.cost))
    before = tuple(q[step.a.parent[kept]] for q in (step.z.p, *step.z.before)[: traits.memory])
    live = [attempt for attempt, count in zip(sizes, places, strict=True) for _ in range(count)]
    kept = torch.cat([kept, every[step.finishing_index]]) if step.finishing else kept
    return draft.seen(p[best], before), live, kept


@dataclass(frozen=True)
class StepEvent:
    """One step of one lane, for observers. Tensors lie on the model's device; reading them waits for it."""

    lane: int
    step: int  # loop iterations before this one
    z: State  # before the step [R]
    prompt: list[int]  # of each hypothesis [R]
    copy: list[int]  # independent decode it belongs to [R]
    a: Candidates  # distinct candidates [M]
    score: Tensor  # [M]
    cost: Tensor  # [M] H̃ after the candidate
    kept: Tensor  # indices of the candidates that live on
    done: int  # masks filled so far, over all the lane's decodes
    total: int  # masks there were

    def record(self) -> StepRecord:
        """What traces keep of it: small tensors, and no view of larger ones."""
        z, a = self.z, self.a
        small = (z.start.clone(), z.masked, z.p.entropy.clone(), a.parent, a.chosen, a.tokens)
        return StepRecord(self.step, self.prompt, self.copy, (*small, self.score, self.cost, self.kept))


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
