"""Where decoding stands, and what a sampler may propose.

Letters of every shape comment: P prompts, R live hypotheses, M candidates, N candidates per
hypothesis, L canvas columns, W block width, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.algorithm import noise
from infogain.algorithm.marginals import Marginals
from infogain.device import constant, counting, remembered, upload
from infogain.errors import ContractError

Index = Tensor | slice
ALL = slice(None)  # rows that need no picking
D = TypeVar("D", bound="Draft")


def index_of(rows: list[int], count: int, device: torch.device) -> Index:
    """These of `count` rows: all and evenly spaced ones become a slice (a view, no copy), others are uploaded."""
    if len(rows) == count:
        return ALL
    step = rows[1] - rows[0] if len(rows) > 1 else 1
    if rows and rows == list(range(rows[0], rows[-1] + 1, step)):
        return slice(rows[0], rows[-1] + 1, step)
    return upload(rows, device)


def masked_or(x: Tensor, masked: Tensor, otherwise: float = 0.0) -> Tensor:
    """x in the columns that are marked, a number in all others."""
    return x.where(masked, constant(otherwise, x.dtype, x.device))


def total(x: Tensor) -> Tensor:
    """Sum over the block, left to right, so that padding on the right never changes a bit of it."""
    return x.cumsum(-1)[..., -1]


# the lines of a Draft's table
LINES = (
    "row", "attempt", "attempt_seed", "start", "steps_allotted", "block_masks", "seed", "step", "steps_taken", "left",
)  # fmt: skip
ROW, ATTEMPT, ATTEMPT_SEED, START, STEPS_ALLOTTED, BLOCK_MASKS, SEED, STEP, STEPS_TAKEN, LEFT = range(len(LINES))


@dataclass(frozen=True)
class Draft:
    """Canvases of R hypotheses, each in its own active block, that no model has looked at yet."""

    table: Tensor  # [10, R] whole numbers, a line of each kind: what a step does to them is one operation, not ten
    cost: Tensor  # [R] H̃ so far (Eq. 2), over all blocks
    tokens: Tensor  # [R, W]
    masked: Tensor  # [R, W]
    revealed: Tensor  # [R, W] steps taken when a column was written; −1: not since the block opened

    @cached_property
    def row(self) -> Tensor:
        """The context row that holds what lies outside the block. [R], as all that follow"""
        return self.table[ROW]

    @cached_property
    def attempt(self) -> Tensor:
        """The attempt it belongs to, by its number in the lane; the hypotheses of one attempt compete."""
        return self.table[ATTEMPT]

    @cached_property
    def attempt_seed(self) -> Tensor:
        """The attempt's seed, which noise that must not differ between its hypotheses is a function of."""
        return self.table[ATTEMPT_SEED]

    @cached_property
    def start(self) -> Tensor:
        """First canvas column of the block."""
        return self.table[START]

    @cached_property
    def steps_allotted(self) -> Tensor:
        """Steps that the schedule allots to this block."""
        return self.table[STEPS_ALLOTTED]

    @cached_property
    def block_masks(self) -> Tensor:
        """Masks that the block began with."""
        return self.table[BLOCK_MASKS]

    @cached_property
    def seed(self) -> Tensor:
        """The seed that its noise is a function of."""
        return self.table[SEED]

    @cached_property
    def step(self) -> Tensor:
        """Steps already taken in this block."""
        return self.table[STEP]

    @cached_property
    def steps_taken(self) -> Tensor:
        """Steps already taken in all blocks."""
        return self.table[STEPS_TAKEN]

    @cached_property
    def left(self) -> Tensor:
        """Masks left in the block."""
        return self.table[LEFT]

    @cached_property
    def column(self) -> Tensor:
        """Canvas column of each block column. [R, W]"""
        return self.start[:, None] + counting(self.tokens.shape[1], self.tokens.device)

    def fingerprint(self) -> Tensor:
        """One number for what each block shows. [R]"""
        return (self.tokens * _weights(self.tokens.shape[1], self.tokens.device)).sum(-1)  # all wraps

    def count_written(self, ids: Tensor) -> Tensor:
        """How many of these tokens each block has got since it began. [R]"""
        return ((self.tokens[..., None] == ids).any(-1) & (self.revealed >= 0)).sum(-1)

    def with_line(self: D, name: str, values: Tensor) -> D:
        """A copy with other numbers in one line of the table."""
        table = self.table.clone()
        table[LINES.index(name)] = values
        return replace(self, table=table)

    def draft(self, index: Index, cost: Tensor | None = None) -> Draft:
        """The canvases of these rows; the cost of all may be another."""
        cost = self.cost if cost is None else cost
        if index is ALL:
            return Draft(self.table, cost, self.tokens, self.masked, self.revealed)
        table = self.table[:, index] if isinstance(index, slice) else self.table.index_select(1, index)
        return Draft(table, cost[index], self.tokens[index], self.masked[index], self.revealed[index])

    def with_marginals(self, p: Marginals, before: tuple[Marginals, ...] = ()) -> State:
        """These canvases, with what the model believes about them."""
        return State(self.table, self.cost, self.tokens, self.masked, self.revealed, p, before)


@dataclass(frozen=True)
class State(Draft):
    """z: canvases and the model's marginals there. Samplers see this and nothing else."""

    p: Marginals
    before: tuple[Marginals, ...] = ()  # earlier steps' marginals, newest first; as many as the sampler asks for

    @cached_property
    def remaining(self) -> Tensor:
        """Σ H over what is masked. [R]"""
        return total(masked_or(self.p.entropy, self.masked))

    def take(self, index: Index) -> State:
        return self.draft(index).with_marginals(self.p[index], tuple(p[index] for p in self.before))

    def join(self, other: State) -> State:
        """These rows, followed by rows that have just opened a block.

        Those have no past: their own marginals stand in for it, and `step` tells.
        """
        names = ("cost", "tokens", "masked", "revealed")
        rest = {name: torch.cat([getattr(self, name), getattr(other, name)]) for name in names}
        both = Draft(torch.cat([self.table, other.table], 1), **rest)
        return both.with_marginals(self.p.join(other.p), tuple(p.join(other.p) for p in self.before))

    def fit(self, tokens: Tensor) -> State:
        """These rows in blocks that are wider or narrower, and show these tokens; what is added is not to be filled."""
        width = tokens.shape[1]
        more = (0, width - self.tokens.shape[1])
        masked, revealed = pad(self.masked, more), pad(self.revealed, more, value=-1)
        p, *before = (p.fit(width) for p in (self.p, *self.before))
        return Draft(self.table, self.cost, tokens, masked, revealed).with_marginals(p, tuple(before))

    def apply(self, a: Candidates, cost: Tensor, erased: Tensor | None = None) -> Draft:
        """Sec. 2: z′ = Apply(z, a) for every candidate. `cost` is C(a|z) [M]; `erased` [M, W] are masks again."""
        parents = a.parents(self)
        table = self.table[:, a.parent]
        tokens = torch.where(a.chosen, a.tokens, self.tokens[parents])
        masked = self.masked[parents] > a.chosen  # and not chosen
        revealed = torch.where(a.chosen, table[STEPS_TAKEN, :, None], self.revealed[parents])
        if erased is not None:
            masked, revealed = masked | erased, revealed.masked_fill(erased, -1)
        table[STEP : STEPS_TAKEN + 1].add_(1)  # both counts of steps stand beside each other
        torch.sum(masked, -1, out=table[LEFT])
        return Draft(table, self.cost[parents] + cost, tokens, masked, revealed)


@dataclass(frozen=True)
class Candidates:
    """M actions a = {(ℓ, x_ℓ)}; each row of the state proposes one or more, in order."""

    parent: Tensor  # [M] the hypothesis acted on; non-decreasing
    chosen: Tensor  # [M, W] bool: the positions A
    tokens: Tensor  # [M, W] what to write there; elsewhere meaningless
    cost: Tensor | None = None  # [M] C(a|z), which the loop works out
    selection_noise: Tensor | None = None  # [M] added to the score where one is selected; unset: the best is
    surprisal: Tensor | None = None  # [M] of what is written, for a sampler that counts it as the cost

    @classmethod
    def grid(cls, chosen: Tensor, tokens: Tensor, selection_noise: Tensor | None = None) -> Candidates:
        """N candidates for each of R hypotheses: [R, N, W], [R, N, W] and, where there is noise, [R, N]."""
        rows, n, _ = chosen.shape
        parent = torch.arange(rows, device=chosen.device)[:, None].expand(rows, n).flatten()
        luck = None if selection_noise is None else selection_noise.flatten()
        return cls(parent, chosen.flatten(0, 1), tokens.flatten(0, 1), selection_noise=luck)

    def parents(self, z: Draft) -> Index:
        """The parent of each candidate, as an index into z's rows; ALL, where each row has one (no copy)."""
        return ALL if len(self.parent) == len(z.cost) else self.parent

    def __getitem__(self, index: Index) -> Candidates:
        if index is ALL:
            return self
        told = (None if x is None else x[index] for x in (self.cost, self.selection_noise, self.surprisal))
        return Candidates(self.parent[index], self.chosen[index], self.tokens[index], *told)


def check_form(a: Candidates, z: State) -> None:
    """Refuse wrong kinds and shapes, which the host can see. What tensors hold is checked when facts are read back."""
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
    for name, x in (("selection noise", a.selection_noise), ("surprisal", a.surprisal)):
        if x is not None and (list(x.shape) != [count] or not x.is_floating_point()):
            raise ContractError(
                f"{name} must be one floating number per candidate, shape [{count}]; the sampler gave "
                f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}."
            )


STEPS_PER_MASK = 8  # a block that takes more is refused: a sampler that erases could go on for ever

PROMISES = {  # what must hold of the values of candidates, and of the model's marginals that they come from
    "no_distribution": "logits of masked columns must be finite numbers that form a distribution over the ids that "
    "may be written; the model returned NaN or infinite ones, or left all probability to the mask and to ids that are "
    "excluded. Load it in float32 or bfloat16, look for an overflow in its weights, or exclude fewer ids",
    "outside": "a candidate may choose masked columns of its block only; the sampler chose another",
    "no_token": "a candidate must write tokens of the vocabulary, never the mask, except that a sampler which erases "
    "may mask columns again that were written in this block; the sampler wrote something else",
    "no_score": "score must be a number; the sampler gave NaN for the candidate it led to here",
    "empty": "a candidate must commit at least one token; the sampler chose none",
    "uneven": "candidates that compete must commit equally many tokens, less those they erase",
    "endless": f"a block must be filled in {STEPS_PER_MASK} steps for each of its masks; the sampler erases too much",
}


class CandidateFacts(NamedTuple):
    """All that the host learns of a candidate."""

    cost: float  # H̃ after it; NaN too where the score that led to its parent was
    remaining: float  # Σ H over what was masked
    parent: int
    commits: int  # columns that it writes
    erases: int  # columns that it masks again
    forbidden: int  # mask tokens that it writes where it may not
    lowest: int  # token of its block; those that were given have been checked before
    highest: int
    left: int  # masks; none: it finishes its block
    eos: int  # EOS tokens that were written in its block
    row: int  # of the context
    fingerprint: int  # of its block; no two that differ share one, but for an accident in 64 bits

    def broken(self, before: int, vocab_size: int) -> str | None:
        """The first promise that it breaks, given the masks its block had before and the size of the vocabulary."""
        if not math.isfinite(self.remaining):
            return "no_distribution"
        if self.commits - self.erases != before - self.left:
            return "outside"
        if self.forbidden or self.lowest < 0 or self.highest >= vocab_size:
            return "no_token"
        if math.isnan(self.cost):
            return "no_score"
        return None if self.commits or self.erases else "empty"


@remembered
def _weights(width: int, device: torch.device) -> Tensor:
    """Odd, so that no two tokens of a column weigh the same. [W]"""
    return noise.hashed(counting(width, device), 0) | 1
