"""One step of one lane, in tensors: propose → (read back) → settle → (one forward) → score → select.

Each verb takes what the one before returned. The host reads the facts of every candidate back, once per step; what
follows from them, the host works out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor

from infogain.algorithm.marginals import Marginals
from infogain.algorithm.objective import immediate_cost, select
from infogain.algorithm.schedule import Schedule
from infogain.algorithm.state import ALL, CandidateFacts, Candidates, Draft, Index, State, check_form, index_of
from infogain.device import constant, together
from infogain.errors import ContractError
from infogain.loop.lane import Attempt
from infogain.loop.scheduler import distinct
from infogain.loop.trace import TraceStep, read_rows
from infogain.samplers import Sampler, Traits

Key = TypeVar("Key")
FLOATS = 2  # the first numbers of CandidateFacts; the others are whole


@dataclass(frozen=True, eq=False)
class Proposal:
    """All candidates of a lane, before anything of them is known to the host."""

    z: State
    a: Candidates  # [M]
    draft: Draft  # [M] the canvases they lead to
    unread: Tensor  # [M, numbers] CandidateFacts on the device; of floats the bits


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
        "forbidden": (masks & (z.revealed[a.parent] < 0) if erases else masks).sum(-1),
        "lowest": lowest,
        "highest": highest,
        "left": draft.left,
        "eos": none if eos_ids is None else draft.count_written(eos_ids),
        "row": draft.row,
        "fingerprint": draft.fingerprint(),
    }
    unread = torch.stack([numbers[name] for name in CandidateFacts._fields]).T
    return Proposal(z, replace(a, cost=cost), draft, unread)


def read_back(proposals: Mapping[Key, Proposal]) -> dict[Key, list[CandidateFacts]]:
    """The step's one read-back to the host: a few numbers per candidate of every lane."""
    if not proposals:
        return {}
    table = together([proposal.unread for proposal in proposals.values()]).cpu().T
    floats, whole = table[:FLOATS].view(torch.float64).tolist(), table[FLOATS:].tolist()
    facts = iter([CandidateFacts(*numbers) for numbers in zip(*floats, *whole, strict=True)])
    return {lane: list(islice(facts, len(proposal.unread))) for lane, proposal in proposals.items()}


@dataclass(frozen=True, eq=False)
class Part:
    """Candidates of a step: all that leave masks in their block and are evaluated, or all that finish it."""

    index: Index  # among all
    draft: Draft
    facts: list[CandidateFacts]
    attempts: list[Attempt]  # whose each candidate is

    @cached_property
    def per_attempt(self) -> Counter[Attempt]:
        """How many candidates each attempt has, in their order."""
        return Counter(self.attempts)


@dataclass(frozen=True, eq=False)
class Step:
    """The distinct candidates of a lane, checked, with what the host has learnt of them."""

    z: State
    a: Candidates  # [M]
    draft: Draft  # [M]
    left: dict[Attempt, int]  # masks after the step, whichever candidate the attempt takes
    unfinished: Part | None
    finishing: Part | None


def settle(proposal: Proposal, facts: Sequence[CandidateFacts], live: Sequence[Attempt]) -> Step:
    """Leave one candidate for each canvas. `live` says whose each hypothesis is."""
    chosen = distinct(facts)
    index, facts = index_of(chosen, len(facts), proposal.unread.device), [facts[m] for m in chosen]
    draft, left = proposal.draft.draft(index), {live[candidate.parent]: candidate.left for candidate in facts}
    unfinished, finishing = (_part(draft, facts, live, finishes) for finishes in (False, True))
    return Step(proposal.z, proposal.a[index], draft, left, unfinished, finishing)


def _part(draft: Draft, facts: list[CandidateFacts], live: Sequence[Attempt], finishes: bool) -> Part | None:
    members = [m for m, candidate in enumerate(facts) if finishes == (candidate.left == 0)]
    if not members:
        return None
    index, own = index_of(members, len(facts), draft.cost.device), [facts[m] for m in members]
    return Part(index, draft.draft(index), own, [live[candidate.parent] for candidate in own])


def score(step: Step, sampler: Sampler, p: Marginals | None) -> Tensor:
    """Fig. 2, step 2: the sampler's score of every candidate; `p` is what the model says of the unfinished ones. [M]

    Those that finish their block are not evaluated: nothing is masked there, so what was last said may stand in.
    """
    parts = [part for part in (step.unfinished, step.finishing) if part]
    each = [_worth(step, sampler, part, p) for part in parts]
    if len(parts) == 1:
        return each[0]
    worth = torch.zeros_like(step.draft.cost)
    for part, own in zip(parts, each, strict=True):
        worth[part.index] = own
    return worth


def _worth(step: Step, sampler: Sampler, part: Part, p: Marginals | None) -> Tensor:
    a = step.a[part.index]
    z_next = part.draft.with_marginals(step.z.p[a.parent] if p is None or part is step.finishing else p)
    worth = sampler.score(step.z, a, z_next)
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

    Best is what is worth most, or most together with the sampler's noise. Returns the state, whose its rows are, and
    which candidates live on: those, and all that finish their block.
    """
    every = torch.arange(len(worth), device=worth.device)  # its own: observers may write to what they are given
    if p is None or step.unfinished is None:
        return None, [], every
    sizes, among, noise = step.unfinished.per_attempt, step.unfinished.index, step.a.selection_noise
    worth = worth if noise is None else worth + noise
    best, counts = select(worth[among], list(sizes.values()), traits.beam)
    kept = every[among][best]
    index = ALL if len(kept) == len(worth) else kept
    # a NaN score is passed on in the cost, for the next read-back to find
    draft = step.draft.draft(index, torch.where(worth.isnan(), worth, step.draft.cost))
    before = tuple(q[step.a.parent[kept]] for q in (step.z.p, *step.z.before)[: traits.memory])
    live = [attempt for attempt, count in zip(sizes, counts, strict=True) for _ in range(count)]
    kept = torch.cat([kept, every[step.finishing.index]]) if step.finishing else kept
    return draft.with_marginals(p[best], before), live, kept


@dataclass(frozen=True)
class StepEvent:
    """One step of one lane, for observers. Tensors lie on the model's device; reading them waits for it."""

    lane: int
    step: int  # loop iterations before this one
    z: State  # before the step [R]
    rows: list[int]  # [R] the row that each hypothesis belongs to, by its number in the lane
    copy: list[int]  # [R] the attempt it belongs to, by its number in the row
    a: Candidates  # distinct candidates [M]
    score: Tensor  # [M]
    cost: Tensor  # [M] H̃ after the candidate
    kept: Tensor  # indices of the candidates that survive the step
    done: int  # masks filled so far, over all the lane's decodes
    total: int  # masks there were

    def record(self) -> TraceStep:
        """What traces keep of it: small tensors, and no view of larger ones."""
        z, a = self.z, self.a
        small = (z.start.clone(), z.masked, z.p.entropy.clone(), a.parent, a.chosen, a.tokens)
        tensors = (*small, self.score, self.cost, self.kept)
        return TraceStep(self.step, partial(read_rows, self.rows, self.copy, tensors))
