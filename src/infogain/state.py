"""Where decoding stands, and what a sampler may propose.

Letters of every shape comment: P prompts, R live hypotheses, M candidates, N candidates per
hypothesis, L canvas columns, W block width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.device import constant, counting
from infogain.marginals import Marginals

Index = Tensor | slice
ALL = slice(None)  # rows that need no picking
D = TypeVar("D", bound="Draft")


def only(x: Tensor, where: Tensor, otherwise: float = 0.0) -> Tensor:
    """x where it is wanted, a number elsewhere."""
    return x.where(where, constant(otherwise, x.dtype, x.device))


def total(x: Tensor) -> Tensor:
    """Sum over the block, left to right, so that padding on the right never changes a bit of it."""
    return x.cumsum(-1)[..., -1]


@dataclass(frozen=True)
class Draft:
    """Canvases of R hypotheses, each in its own active block, that no model has looked at yet."""

    row: Tensor  # [R] the context row that holds what lies outside the block
    group: Tensor  # [R] hypotheses of one group compete for its places
    start: Tensor  # [R] first canvas column of the block
    step: Tensor  # [R] steps already taken in this block
    taken: Tensor  # [R] steps already taken in all blocks
    steps: Tensor  # [R] steps the schedule allots to this block
    total: Tensor  # [R] masks the block began with
    cost: Tensor  # [R] H̃ so far (Eq. 2), over all blocks
    seed: Tensor  # [R]
    tokens: Tensor  # [R, W]
    masked: Tensor  # [R, W]
    revealed: Tensor  # [R, W] steps taken when a column was written; −1: not in this block's time

    @staticmethod
    def of(table: Tensor, cost: Tensor, tokens: Tensor, masked: Tensor, revealed: Tensor) -> Draft:
        """From the table that holds all the others."""
        numbers = dict(zip(TABLE, table.unbind(), strict=True))
        return _knowing(Draft, table=table, **numbers, cost=cost, tokens=tokens, masked=masked, revealed=revealed)

    @cached_property
    def left(self) -> Tensor:
        """Masks left in each block. [R]"""
        return self.masked.sum(-1)

    @cached_property
    def table(self) -> Tensor:
        """All that is one whole number per hypothesis: what a step does to them is one operation, not nine. [9, R]"""
        return torch.stack([getattr(self, name) for name in TABLE])

    @cached_property
    def column(self) -> Tensor:
        """Canvas column of each block column. [R, W]"""
        return self.start[:, None] + counting(self.tokens.shape[1], self.tokens.device)

    def draft(self, index: Index, cost: Tensor | None = None) -> Draft:
        """The canvases of these rows; the cost of all may be another."""
        cost = self.cost if cost is None else cost
        if index is ALL:
            return _knowing(Draft, **self._canvas | {"cost": cost})
        table = self.table[:, index] if isinstance(index, slice) else self.table.index_select(1, index)
        return Draft.of(table, cost[index], self.tokens[index], self.masked[index], self.revealed[index])

    def seen(self, p: Marginals, before: tuple[Marginals, ...] = ()) -> State:
        """The same canvases, with what the model believes about them."""
        return _knowing(State, **self._canvas, p=p, before=before)

    @property
    def _canvas(self) -> dict[str, Any]:
        """All that is known but what the model believes."""
        return {name: x for name, x in vars(self).items() if name in CANVAS}


CANVAS = {name for name, x in vars(Draft).items() if isinstance(x, cached_property)} | {f.name for f in fields(Draft)}
TABLE = ("row", "group", "start", "steps", "total", "seed", "step", "taken", "left")
STEP, TAKEN, LEFT = (TABLE.index(name) for name in ("step", "taken", "left"))  # what a step changes


def _knowing(kind: type[D], **known: Any) -> D:
    """An instance of these fields, which knows already what it would otherwise work out when asked."""
    made = object.__new__(kind)
    made.__dict__.update(known)
    return made


@dataclass(frozen=True)
class State(Draft):
    """z: canvases and the model's marginals there. Samplers see this and nothing else."""

    p: Marginals
    before: tuple[Marginals, ...] = ()  # earlier steps' marginals, newest first; as many as the sampler asks for

    @cached_property
    def remaining(self) -> Tensor:
        """Σ H over what is masked. [R]"""
        return total(only(self.p.entropy, self.masked))

    def join(self, other: State) -> State:
        """These rows, followed by rows that have just opened a block.

        Those have no past: their own marginals stand in for it, and `step` tells.
        """
        names = ("cost", "tokens", "masked", "revealed")
        rest = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in names}
        both = Draft.of(torch.cat([self.table, other.table], 1), **rest)
        return both.seen(self.p.join(other.p), tuple(p.join(other.p) for p in self.before))

    def widen(self, tokens: Tensor) -> State:
        """The same in wider blocks that show these tokens; what is added is not to be filled: any belief will do."""
        more = tokens.shape[1] - self.tokens.shape[1]
        masked, revealed = pad(self.masked, (0, more)), pad(self.revealed, (0, more), value=-1)
        p, *before = (Marginals.of(pad(p.logits, (0, 0, 0, more)), p.vocabulary) for p in (self.p, *self.before))
        return replace(self, tokens=tokens, masked=masked, revealed=revealed, p=p, before=tuple(before))

    def apply(self, a: Candidates, cost: Tensor) -> Draft:
        """Sec. 2: z′ = Apply(z, a) for every candidate. `cost` is C(a|z). [M]"""
        parents = a.parents(self)
        table = self.table[:, a.parent]
        tokens = torch.where(a.chosen, a.tokens, self.tokens[parents])
        masked = self.masked[parents] > a.chosen  # and not chosen
        revealed = torch.where(a.chosen, table[TAKEN, :, None], self.revealed[parents])  # before the clock moves on
        table[STEP : TAKEN + 1].add_(1)
        torch.sum(masked, -1, out=table[LEFT])
        return Draft.of(table, self.cost[parents] + cost, tokens, masked, revealed)


@dataclass(frozen=True)
class Candidates:
    """M actions a = {(ℓ, x_ℓ)}; each row of the state proposes one or more, in order."""

    parent: Tensor  # [M] the hypothesis acted on; non-decreasing
    chosen: Tensor  # [M, W] bool: the positions A
    tokens: Tensor  # [M, W] what to write there; elsewhere meaningless
    cost: Tensor | None = None  # [M] C(a|z), which the loop works out

    @classmethod
    def grid(cls, chosen: Tensor, tokens: Tensor) -> Candidates:
        """N candidates for each of R hypotheses. [R, N, W] each"""
        rows, n, _ = chosen.shape
        parent = torch.arange(rows, device=chosen.device)[:, None].expand(rows, n).flatten()
        return cls(parent, chosen.flatten(0, 1), tokens.flatten(0, 1))

    def parents(self, z: Draft) -> Index:
        """Whose they are, if they are all of z's: where there is one each, every hypothesis has its own."""
        return ALL if len(self.parent) == len(z.cost) else self.parent

    def __getitem__(self, index: Index) -> Candidates:
        if index is ALL:
            return self
        cost = None if self.cost is None else self.cost[index]
        return Candidates(self.parent[index], self.chosen[index], self.tokens[index], cost)
