"""One lane's proposals in one step, and the verdict on each that the host reads back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from infogain import noise
from infogain.device import upload
from infogain.marginals import Marginals
from infogain.objective import immediate_cost
from infogain.samplers import Sampler
from infogain.schedule import Schedule
from infogain.state import ALL, Candidates, Draft, Index, State


class Ends(NamedTuple):
    """What ends a text, and where it may."""

    ids: Tensor  # [E] of EOS tokens
    column: Tensor  # [R, W] block columns that count: those that were masks


class Verdict(NamedTuple):
    """All the host learns of a candidate: a row of whole numbers, most of them yes or no."""

    parent: int
    commits: int  # tokens
    distinct: int  # no other candidate of its group leads to the same canvas
    finishes: int  # its block
    stops: int  # it finishes with an EOS
    no_distribution: int
    no_score: int
    outside: int
    no_token: int
    empty: int


PROMISES = {
    "no_distribution": "logits of masked columns must be finite numbers that form a distribution; the model returned "
    "NaN or infinite ones. Load it in float32 or bfloat16, or look for an overflow in its weights",
    "no_score": "score must be a number; the sampler gave NaN for the candidate it led to here",
    "outside": "a candidate may choose masked columns of its block only; the sampler chose another",
    "no_token": "a candidate must write tokens of the vocabulary, never the mask; the sampler wrote something else",
    "empty": "a candidate must commit at least one token; the sampler chose none",
}


@dataclass
class Move:
    z: State
    a: Candidates  # all that were proposed; once settled, the distinct ones [M]
    draft: Draft  # the canvases they lead to [M]
    unread: Tensor  # a Verdict per candidate, on the device
    verdicts: list[Verdict] = field(default_factory=list)  # of the distinct candidates, once read
    p: Marginals | None = None  # of the going ones, once evaluated

    @classmethod
    def propose(cls, z: State, sampler: Sampler, schedule: Schedule, mask_id: int, ends: Ends | None) -> Move:
        """Fig. 2, step 1: sample candidate actions."""
        a = sampler.propose(z, schedule.budget(z))
        draft = z.apply(a, immediate_cost(z, a))
        finishes = ~draft.masked.any(-1)
        single = len(a.parent) == len(z.row)
        parent = ALL if single else a.parent
        no_token = (a.tokens == mask_id) | (a.tokens != a.tokens.clamp(0, z.p.vocab_size - 1))
        commits = a.chosen.sum(-1)
        flags = {
            "distinct": torch.ones_like(finishes) if single and sampler.beam == 1 else _distinct(a, draft, finishes),
            "finishes": finishes,
            "stops": finishes & _holds_eos(draft, ends, a.parent) if ends else torch.zeros_like(finishes),
            "no_distribution": (~z.p.entropy.isfinite() & z.masked).any(-1)[parent],
            "no_score": z.cost.isnan()[parent],
            "outside": (a.chosen & ~z.masked[parent]).any(-1),
            "no_token": (a.chosen & no_token).any(-1),
            "empty": commits == 0,
        }
        numbers = torch.stack([flags[name] for name in Verdict._fields[2:]]).long()
        return cls(z, a, draft, torch.cat([torch.stack([a.parent, commits]), numbers]).T)

    # From here on once the verdicts are known; each worked out and uploaded once.
    @cached_property
    def going(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if not verdict.finishes]

    @cached_property
    def finishing(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if verdict.finishes]

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


def _holds_eos(draft: Draft, ends: Ends, parent: Tensor) -> Tensor:
    return ((draft.tokens[..., None] == ends.ids).any(-1) & ends.column[parent]).any(-1)  # [M]


def _distinct(a: Candidates, draft: Draft, finishes: Tensor) -> Tensor:
    """One candidate per canvas: of those in a group that lead to the same one, the first of least H̃. [M]

    The last step of a block is not evaluated (all its candidates score alike), so there each
    hypothesis keeps its first candidate only.
    """
    first_of_parent = torch.ones_like(finishes)
    first_of_parent[1:] = a.parent[1:] != a.parent[:-1]
    eligible = first_of_parent | ~finishes
    words = noise.hashed(draft.tokens + (draft.column << 32), 0).sum(-1)
    canvas = words + draft.row * noise.GOLDEN  # [M] a fingerprint; 64 bits leave no room for accidents
    order = draft.cost.masked_fill(~eligible, torch.inf).argsort(stable=True)
    order = order[canvas[order].argsort(stable=True)]
    ranked = canvas[order]
    first = torch.ones_like(eligible)
    first[1:] = ranked[1:] != ranked[:-1]
    return torch.zeros_like(eligible).scatter(0, order, first) & eligible
