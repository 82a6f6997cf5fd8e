"""Where decoding stands, and what a sampler may propose.

Letters of every shape comment: P prompts, R live hypotheses, M candidates, N candidates per
hypothesis, L canvas columns, W block width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.canvas import block_columns
from infogain.marginals import Marginals

Index = Tensor | slice
ALL = slice(None)  # rows that need no picking


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

    @cached_property
    def left(self) -> Tensor:
        """Masks left in each block. [R]"""
        return self.masked.sum(-1)

    @cached_property
    def column(self) -> Tensor:
        """Canvas column of each block column. [R, W]"""
        return block_columns(self.start, self.tokens.shape[1])

    def draft(self, index: Index) -> Draft:
        """The canvases of these rows."""
        if index is ALL:
            return self if type(self) is Draft else Draft(**self._canvas)
        return Draft(**{name: x[index] for name, x in self._canvas.items()})

    @property
    def _canvas(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Draft)}

    def seen(self, p: Marginals, before: tuple[Marginals, ...] = ()) -> State:
        """The same canvases, with what the model believes about them."""
        return State(**self._canvas, p=p, before=before)


@dataclass(frozen=True)
class State(Draft):
    """z: canvases and the model's marginals there. Samplers see this and nothing else."""

    p: Marginals
    before: tuple[Marginals, ...] = ()  # earlier steps' marginals, newest first; as many as the sampler asks for

    def join(self, other: State) -> State:
        """These rows, followed by rows that have just opened a block.

        Those have no past: their own marginals stand in for it, and `step` tells.
        """
        both = {name: torch.cat([x, getattr(other, name)]) for name, x in self._canvas.items()}
        return Draft(**both).seen(self.p.join(other.p), tuple(p.join(other.p) for p in self.before))

    def widen(self, tokens: Tensor, mask_id: int) -> State:
        """The same in wider blocks that show these tokens; what is added is not to be filled: any belief will do."""
        more = tokens.shape[1] - self.tokens.shape[1]
        masked, revealed = pad(self.masked, (0, more)), pad(self.revealed, (0, more), value=-1)
        p, *before = (Marginals.of(pad(p.logits, (0, 0, 0, more)), mask_id) for p in (self.p, *self.before))
        return replace(self, tokens=tokens, masked=masked, revealed=revealed, p=p, before=tuple(before))

    def apply(self, a: Candidates, cost: Tensor) -> Draft:
        """Sec. 2: z′ = Apply(z, a) for every candidate. `cost` is C(a|z). [M]"""
        z = self.draft(ALL if len(a.parent) == len(self.row) else a.parent)  # one each: every hypothesis has some
        return replace(
            z,
            step=z.step + 1,
            taken=z.taken + 1,
            cost=z.cost + cost,
            tokens=torch.where(a.chosen, a.tokens, z.tokens),
            masked=z.masked & ~a.chosen,
            revealed=torch.where(a.chosen, z.taken[:, None], z.revealed),
        )


@dataclass(frozen=True)
class Candidates:
    """M actions a = {(ℓ, x_ℓ)}; each row of the state proposes one or more, in order."""

    parent: Tensor  # [M] the hypothesis acted on; non-decreasing
    chosen: Tensor  # [M, W] bool: the positions A
    tokens: Tensor  # [M, W] what to write there; elsewhere meaningless

    @classmethod
    def grid(cls, chosen: Tensor, tokens: Tensor) -> Candidates:
        """N candidates for each of R hypotheses. [R, N, W] each"""
        rows, n, _ = chosen.shape
        parent = torch.arange(rows, device=chosen.device).repeat_interleave(n, output_size=rows * n)
        return cls(parent, chosen.flatten(0, 1), tokens.flatten(0, 1))

    def __getitem__(self, index: Index) -> Candidates:
        return Candidates(self.parent[index], self.chosen[index], self.tokens[index])
