"""What the model believes about each column: one distribution over the vocabulary, and its statistics.

All statistics are computed together, once per state. Nats everywhere; p is the model's distribution at
temperature 1, with the mask token excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from torch import Tensor

from infogain import kernels


class Statistics(NamedTuple):
    """What a sampler looks at. Any shape; a column that is already written counts as certain."""

    log_z: Tensor  # log-normaliser: log p = logits − log_z
    entropy: Tensor  # H
    confidence: Tensor  # p of the most likely token
    margin: Tensor  # p_top1 − p_top2
    argmax: Tensor


PER_COLUMN = ("place", *Statistics._fields)
CERTAIN = Statistics(0, 0, 1, 1, 0)  # type: ignore[arg-type]  # of a column that is written


@dataclass(frozen=True)
class Deferred:
    """Logits that are too many to hold: the head reads a few rows at a time, and those that are kept once more."""

    x: Tensor  # [X, hidden]
    head: Callable[[Tensor], Tensor]  # [X, hidden] -> [X, V]
    words: int  # V
    most: int  # rows at a time

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.x), self.words

    def __getitem__(self, index: Tensor) -> Tensor:
        return self.head(self.x[index])

    def parts(self) -> Iterator[Tensor]:
        return (self.head(part) for part in torch.split(self.x, self.most))


@dataclass(frozen=True)
class Marginals:
    rows: Tensor | Deferred  # [X, V] logits of the columns that were asked for
    dense: bool  # those are all columns, in order
    place: Tensor  # [R, W] which of them each column is; of a written column, any
    log_z: Tensor  # [R, W] and so on: see Statistics
    entropy: Tensor
    confidence: Tensor
    margin: Tensor
    argmax: Tensor

    @classmethod
    def of(cls, logits: Tensor, mask_id: int) -> Marginals:
        """From a model's logits [R, W, V], which become ours: the mask is struck out in place."""
        rows = strike(logits.flatten(0, 1), mask_id)
        shape = logits.shape[:2]
        place = torch.arange(len(rows), device=rows.device).view(shape)
        return cls(rows, True, place, *(x.view(shape) for x in statistics(rows, mask_id)))

    @classmethod
    def at(cls, masked: Tensor, logits: Tensor | Deferred, mask_id: int) -> Marginals:
        """The same from logits of the masked columns alone, in order. [R, W], [X, V]"""
        if isinstance(logits, Deferred):
            head = logits.head
            logits = replace(logits, head=lambda x: strike(head(x), mask_id))
            parts = [statistics(part, mask_id) for part in logits.parts()]
        else:
            parts = [statistics(strike(logits, mask_id), mask_id)]
        found = parts[0] if len(parts) == 1 else [torch.cat(x) for x in zip(*parts, strict=True)]
        place = (masked.flatten().cumsum(0) - 1).clamp(min=0).view(masked.shape)
        return cls(logits, False, place, *(x[place].where(masked, y) for x, y in zip(found, CERTAIN, strict=True)))

    @property
    def vocab_size(self) -> int:
        return self.rows.shape[-1]

    @property
    def logits(self) -> Tensor:
        """Of every column. [R, W, V]"""
        rows = cast("Tensor", self.rows) if self.dense else self.rows[self.place.flatten()]
        return rows.view(*self.place.shape, -1)

    def __getitem__(self, index: Tensor | slice) -> Marginals:
        """These hypotheses. Picked by number they get logits of their own, so that those of the others can go."""
        if isinstance(index, slice) and index.indices(len(self.place)) == (0, len(self.place), 1):
            return self
        place, *rest = (getattr(self, name)[index] for name in PER_COLUMN)
        if isinstance(index, slice):
            return Marginals(self.rows, False, place, *rest)
        rows = self.rows[place.flatten()]
        return Marginals(rows, True, torch.arange(len(rows), device=rows.device).view(place.shape), *rest)

    def join(self, other: Marginals) -> Marginals:
        one, two = self._held(), other._held()
        moved = replace(two, place=two.place + one.rows.shape[0])
        rows, *rest = (torch.cat([getattr(x, name) for x in (one, moved)]) for name in ("rows", *PER_COLUMN))
        return Marginals(rows, one.dense and two.dense, *rest)

    def _held(self) -> Marginals:
        """The same, with logits that are there."""
        if not isinstance(self.rows, Deferred):
            return self
        return self[torch.arange(len(self.place), device=self.place.device)]

    def probability(self, tokens: Tensor) -> Tensor:
        """p of given tokens. [R, N, W] -> [R, N, W]"""
        logit = self.logits.gather(-1, tokens.transpose(1, 2)).transpose(1, 2)
        return (wide(logit) - self.log_z[:, None]).exp().clamp(max=1)  # rounding can rise above

    def draw(self, tau: float, u: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
        """Tokens from p^(1/τ), cut to the top-k and then the top-p; one for each u in [R, N, W].

        τ = 0 takes the most likely token. Otherwise the inverse of the cumulative distribution at u:
        one number per draw, where Gumbel noise would need one per word of the vocabulary.
        """
        if tau == 0:
            return self.argmax[:, None].expand(u.shape)
        if top_k is None and top_p is None and kernels.usable(self.log_z):
            from infogain.kernels.drawing import draw

            top = self.log_z + self.confidence.log()
            return draw(self.logits.flatten(0, 1), top.flatten(), self.argmax.flatten(), tau, u)
        x = wide(self.logits)
        p = _cut(((x - x.amax(-1, keepdim=True)) / tau).softmax(-1), top_k, top_p)
        cdf = p.cumsum(-1)  # [R, W, V]
        total = cdf[..., -1:]
        # below `total`, so that rounding never reaches past the last possible token
        at = torch.minimum(u.transpose(1, 2).to(cdf) * total, total.nextafter(torch.zeros_like(total)))
        tokens = torch.searchsorted(cdf, at.contiguous(), right=True)  # [R, W, N]
        tokens = tokens.clamp(max=cdf.shape[-1] - 1)  # matters for NaN only, which the loop reports one line later
        # A parallel sum may dip in its last bits and let the search end on a token of probability 0.
        tokens = torch.where(p.gather(-1, tokens) > 0, tokens, self.argmax[..., None])
        return tokens.transpose(1, 2)

    def kl(self, other: Marginals) -> Tensor:
        """D_KL(self ‖ other) per column. [R, W]"""
        log_p = wide(self.logits) - self.log_z[..., None]
        log_q = wide(other.logits) - other.log_z[..., None]
        terms = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * (log_p - log_q))
        return terms.sum(-1).clamp(min=0)  # rounding can dip below zero


def strike(logits: Tensor, mask_id: int) -> Tensor:
    """In place: the mask is a state of the canvas, never a prediction.

    Left in, it would take probability from real tokens and could be committed. [X, V]
    """
    if mask_id < logits.shape[-1]:
        logits[:, mask_id].fill_(-torch.inf)
    return logits


def statistics(logits: Tensor, mask_id: int) -> Statistics:
    """Of each row; the mask is struck out already. [X, V] -> [X]"""
    if kernels.usable(logits):
        from infogain.kernels.stats import statistics as read_once

        return Statistics(*read_once(logits, mask_id))
    x = wide(logits)
    log_z = x.logsumexp(-1)
    p = (x - log_z[:, None]).exp()
    top = p.topk(min(2, p.shape[-1])).values
    confidence = top[:, 0]
    margin = confidence - top[:, 1] if p.shape[-1] > 1 else confidence
    # argmax and not top's indices: of equal tokens it takes the first, on every device
    return Statistics(log_z, torch.special.entr(p).sum(-1), confidence, margin, p.argmax(-1))


def wide(x: Tensor) -> Tensor:
    """At least float32: half precision loses the entropy's digits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _cut(p: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Zero all but the top k tokens, then all but the smallest set that holds probability top_p."""
    if top_k is None and top_p is None:
        return p
    ranked, index = p.sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(ranked, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        within = ranked * keep
        before = within.cumsum(-1) - within  # probability ahead of each token
        keep &= before < top_p * within.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, index, ranked * keep)
