"""One lane's proposals in one step, and the verdict on each that the host reads back."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from infogain import noise
from infogain.marginals import Marginals
from infogain.objective import immediate_cost
from infogain.samplers import Sampler
from infogain.schedule import Schedule
from infogain.state import Candidates, Draft, State

# A verdict is one whole number per candidate: these bits, then how many tokens it commits, then its parent.
KEEP, FINISHES, STOPS, NO_DISTRIBUTION, OUTSIDE, WRITES_MASK, EMPTY = (1 << bit for bit in range(7))
COUNT, PARENT = 8, 32
BROKEN = {
    NO_DISTRIBUTION: "logits of masked columns must be finite numbers that form a distribution; the model returned "
    "NaN or infinite ones. Load it in float32 or bfloat16, or look for an overflow in its weights",
    OUTSIDE: "a candidate may choose masked columns of its block only; the sampler chose another",
    WRITES_MASK: "a candidate must write real tokens; the sampler wrote the mask token",
    EMPTY: "a candidate must commit at least one token; the sampler chose none",
}


@dataclass
class Move:
    z: State
    a: Candidates  # all that were proposed; after `settle` the distinct ones [M]
    draft: Draft  # the canvases they lead to [M]
    verdict: Tensor  # [M]
    p: Marginals | None = None  # of the going ones, once evaluated
    verdicts: list[int] = field(default_factory=list)  # of the distinct candidates, on the host

    @classmethod
    def propose(cls, z: State, sampler: Sampler, schedule: Schedule, mask_id: int, stops: Tensor | None) -> Move:
        """Fig. 2, step 1. `stops` marks block columns [R, W] where an EOS would end the text, and what it is."""
        a = sampler.propose(z, schedule.budget(z))
        draft = z.apply(a, immediate_cost(z, a))
        finishes = ~draft.masked.any(-1)
        single = len(a.parent) == len(z.row) and sampler.beam == 1
        broken = ~z.p.entropy.isfinite() & z.masked
        flags = {
            KEEP: torch.ones_like(finishes) if single else _distinct(a, draft, finishes),
            FINISHES: finishes,
            NO_DISTRIBUTION: broken.any(-1)[a.parent],
            OUTSIDE: (a.chosen & ~z.masked[a.parent]).any(-1),
            WRITES_MASK: (a.chosen & (a.tokens == mask_id)).any(-1),
            EMPTY: ~a.chosen.any(-1),
        }
        if stops is not None:
            flags[STOPS] = finishes & (draft.tokens == stops[a.parent]).any(-1)
        bits = sum(flag * bit for bit, flag in flags.items())
        return cls(z, a, draft, bits + (a.chosen.sum(-1) << COUNT) + (a.parent << PARENT))

    @property
    def going(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if not verdict & FINISHES]

    @property
    def finishing(self) -> list[int]:
        return [m for m, verdict in enumerate(self.verdicts) if verdict & FINISHES]


def parent(verdict: int) -> int:
    return verdict >> PARENT


def committed(verdict: int) -> int:
    return (verdict >> COUNT) & 0xFFFFFF


def _distinct(a: Candidates, draft: Draft, finishes: Tensor) -> Tensor:
    """One candidate per canvas: of those in a group that lead to the same one, the first of least H̃. [M]

    The last step of a block is not evaluated (all its candidates score alike), so there each
    hypothesis keeps its first candidate only.
    """
    first_of_parent = torch.ones_like(finishes)
    first_of_parent[1:] = a.parent[1:] != a.parent[:-1]
    eligible = first_of_parent | ~finishes
    words = noise.hashed(draft.tokens, 0, draft.column).sum(-1)
    canvas = noise.hashed(words, 0, draft.group, draft.row)  # [M] a fingerprint; 64 bits leave no room for accidents
    order = draft.cost.masked_fill(~eligible, torch.inf).argsort(stable=True)
    order = order[canvas[order].argsort(stable=True)]
    ranked = canvas[order]
    first = torch.ones_like(eligible)
    first[1:] = ranked[1:] != ranked[:-1]
    return torch.zeros_like(eligible).scatter(0, order, first) & eligible
