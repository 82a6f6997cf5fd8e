"""One lane's proposals in one step, and the verdict on each that the host reads back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from infogain import noise
from infogain.device import constant, counting, remembered, upload
from infogain.errors import ContractError
from infogain.marginals import Marginals
from infogain.objective import immediate_cost
from infogain.samplers import Sampler
from infogain.schedule import Schedule
from infogain.state import ALL, Candidates, Draft, Index, State


class Verdict(NamedTuple):
    """All the host learns of a candidate; what follows from it, the host works out."""

    cost: float  # H̃ after it; NaN too where the score that led to its parent was
    remaining: float  # Σ H over what was masked
    parent: int
    commits: int  # columns
    masks: int  # that it writes as tokens
    lowest: int  # token of its block; those that were given have been checked before
    highest: int
    left: int  # masks; none: it finishes its block
    ends: int  # EOS tokens that were written in its block
    row: int  # of the context
    canvas: int  # a fingerprint of its block; 64 bits leave no room for accidents

    def broken(self, before: int, words: int) -> str | None:
        """The first promise that it breaks, given the masks its block had before and the words of the vocabulary."""
        if not math.isfinite(self.remaining):
            return "no_distribution"
        if self.commits != before - self.left:
            return "outside"
        if self.masks or self.lowest < 0 or self.highest >= words:
            return "no_token"
        if math.isnan(self.cost):
            return "no_score"
        return None if self.commits else "empty"


FLOATS = 2  # a Verdict's first numbers; the others are whole

PROMISES = {
    "no_distribution": "logits of masked columns must be finite numbers that form a distribution; the model returned "
    "NaN or infinite ones. Load it in float32 or bfloat16, or look for an overflow in its weights",
    "outside": "a candidate may choose masked columns of its block only; the sampler chose another",
    "no_token": "a candidate must write tokens of the vocabulary, never the mask; the sampler wrote something else",
    "no_score": "score must be a number; the sampler gave NaN for the candidate it led to here",
    "empty": "a candidate must commit at least one token; the sampler chose none",
}


@dataclass
class Move:
    z: State
    a: Candidates  # all that were proposed; once settled, the distinct ones [M]
    draft: Draft  # the canvases they lead to [M]
    unread: Tensor  # a Verdict per candidate, on the device; of its floats the bits
    verdicts: list[Verdict] = field(default_factory=list)  # of the distinct candidates, once read
    rivals: Mapping[int, int] = field(default_factory=dict)  # how many of them go on, by group and in their order
    p: Marginals | None = None  # of those, once evaluated

    @classmethod
    def propose(cls, z: State, sampler: Sampler, schedule: Schedule, mask_id: int, eos_ids: Tensor | None) -> Move:
        """Fig. 2, step 1: sample candidate actions."""
        a = sampler.propose(z, schedule.budget(z))
        _check_form(a, z)
        cost = immediate_cost(z, a)
        draft = z.apply(a, cost)
        lowest, highest = draft.tokens.aminmax(dim=-1)
        numbers = {
            "cost": draft.cost.view(torch.int64),
            "remaining": z.remaining.double()[a.parents(z)].view(torch.int64),
            "parent": a.parent,
            "commits": a.chosen.sum(-1),
            "masks": (a.chosen & (a.tokens == mask_id)).sum(-1),
            "lowest": lowest,
            "highest": highest,
            "left": draft.left,
            "ends": _written(draft, eos_ids),
            "row": draft.row,
            "canvas": _fingerprint(draft),
        }
        return cls(z, replace(a, cost=cost), draft, torch.stack([numbers[name] for name in Verdict._fields]).T)

    # From here on once the verdicts are known; each worked out and uploaded once.
    @cached_property
    def going(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if verdict.left]

    @cached_property
    def finishing(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if not verdict.left]

    @cached_property
    def going_index(self) -> Index:
        return self._index(self.going)

    @cached_property
    def finishing_index(self) -> Index:
        return self._index(self.finishing)

    def _index(self, candidates: list[int]) -> Index:
        return ALL if len(candidates) == len(self.verdicts) else upload(candidates, self.unread.device)

    @cached_property
    def ahead(self) -> Draft:
        """The canvases that go on: what the model is to evaluate."""
        return self.draft.draft(self.going_index)


def _check_form(a: Candidates, z: State) -> None:
    """Of what the host can see: kinds and shapes. What tensors hold is judged when the verdicts are read."""
    if not isinstance(a, Candidates):
        raise ContractError(f"propose must return Candidates; the sampler gave {type(a).__name__}.")
    came = tuple((x.dtype, list(x.shape)) for x in (a.parent, a.chosen, a.tokens))
    count, width = len(a.chosen), z.tokens.shape[1]
    if came != ((torch.int64, [count]), (torch.bool, [count, width]), (torch.int64, [count, width])):
        said = ", ".join(f"{str(kind).removeprefix('torch.')} {shape}" for kind, shape in came)
        raise ContractError(
            f"candidates must have parents in int64 [M], chosen in bool [M, {width}] and tokens in int64 [M, {width}]; "
            f"the sampler gave {said}."
        )


def distinct(verdicts: Sequence[Verdict]) -> list[int]:
    """One candidate per canvas: of those in a group that lead to the same one, the first of least H̃.

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


def _written(draft: Draft, ids: Tensor | None) -> Tensor:
    """How many of these tokens each block has got since it began. [M]"""
    if ids is None:
        return constant(0, torch.int64, draft.row.device).expand_as(draft.row)
    return ((draft.tokens[..., None] == ids).any(-1) & (draft.revealed >= 0)).sum(-1)


def _fingerprint(draft: Draft) -> Tensor:
    """One number for what a block shows. [M]"""
    return (draft.tokens * _weights(draft.tokens.shape[1], draft.tokens.device)).sum(-1)  # all wraps


@remembered
def _weights(width: int, device: torch.device) -> Tensor:
    """Odd, so that no two tokens of a column weigh the same. [W]"""
    return noise.hashed(counting(width, device), 0) | 1
