"""What the model believes about each column: one distribution over the vocabulary, and its statistics.

All statistics are computed together, once per state. Nats everywhere; p is the model's distribution at
temperature 1, without the mask token and what else the vocabulary excludes. Tokens are ids of the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain import kernels
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import remembered, upload
from infogain.kernels import Spots, Statistics, at_least_float32


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

    def then(self, change: Callable[[Tensor], Tensor]) -> Deferred:
        """Logits that are changed when the head has read them. `change`: [X, V] -> [X, V]"""
        return replace(self, head=lambda x: change(self.head(x)))

    def held(self) -> Tensor:
        """All of them at once after all."""
        return torch.cat(list(self.parts()))

    def parts(self) -> Iterator[Tensor]:
        return (self.head(part) for part in torch.split(self.x, self.most))


Logits = TypeVar("Logits", Tensor, Tensor | Deferred)


@dataclass(frozen=True)
class Marginals:
    rows: Tensor | Deferred  # [X, V] logits of the columns that were asked for
    place: Tensor | None  # [R, W] which of them each column has; of a written column, any. Unset: all, in order
    found: Statistics  # [R, W]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, logits: Tensor, vocabulary: Vocabulary) -> Marginals:
        """A model's logits [R, W, V] become ours: what is not predicted is struck out in place."""
        rows, shape = kernels.rows_contiguous(logits.flatten(0, 1)), logits.shape[:2]
        numbers, argmax = statistics(rows, vocabulary)
        return cls(rows, None, Statistics(numbers.view(*shape, -1), argmax.view(shape)), vocabulary)

    @classmethod
    def at(cls, spots: Spots, logits: Tensor | Deferred, vocabulary: Vocabulary) -> Marginals:
        """Logits of the masked columns alone, in order [X, V]; a written column is certain."""
        if not isinstance(logits, Deferred):
            rows = kernels.rows_contiguous(logits)
            return cls(rows, spots.place, statistics(rows, vocabulary, spots), vocabulary)
        logits = logits.then(lambda rows: exclude(rows, vocabulary))
        parts = [statistics(part, vocabulary) for part in logits.parts()]
        found = Statistics(*(torch.cat(x) for x in zip(*parts, strict=True)))
        return cls(logits, spots.place, kernels.spread(found, spots.masked, spots.place), vocabulary)

    @property
    def log_z(self) -> Tensor:
        """log-normaliser: log p = logits − log_z. [R, W], as all that follow"""
        return self.found.numbers[..., 0]

    @property
    def entropy(self) -> Tensor:
        """H"""
        return self.found.numbers[..., 1]

    @property
    def confidence(self) -> Tensor:
        """p of the most likely token"""
        return self.found.numbers[..., 2]

    @property
    def margin(self) -> Tensor:
        """p_top1 − p_top2"""
        return self.found.numbers[..., 3]

    @property
    def argmax(self) -> Tensor:
        return self.found.argmax

    @property
    def logits(self) -> Tensor:
        """Of every column. [R, W, V]"""
        return kernels.of_columns(cast("Tensor", self.rows), self.place, self.argmax.shape)

    def __getitem__(self, index: Tensor | slice) -> Marginals:
        """These hypotheses. Picked by number they get logits of their own, so that those of the others can go."""
        count = len(self.argmax)
        if isinstance(index, slice) and index.indices(count) == (0, count, 1):
            return self
        found = Statistics(*(x[index] for x in self.found))
        if self.place is None:
            return Marginals(self.logits[index].flatten(0, 1), None, found, self.vocabulary)
        place = self.place[index]
        if isinstance(index, slice):
            return Marginals(self.rows, place, found, self.vocabulary)
        return Marginals(self.rows[place.flatten()], None, found, self.vocabulary)

    def fit(self, width: int) -> Marginals:
        """The first `width` columns of each hypothesis. Columns that are added say nothing that holds."""
        rows, columns = self.argmax.shape
        place = self.place
        if place is None:
            place = torch.arange(rows * columns, device=self.argmax.device).view(rows, columns)
        more = (0, width - columns)
        found = Statistics(pad(self.found.numbers, (0, 0, *more)), pad(self.argmax, more))
        return Marginals(self.rows, pad(place, more), found, self.vocabulary)

    def join(self, other: Marginals) -> Marginals:
        """These hypotheses, followed by others."""
        found = Statistics(*(torch.cat(pair) for pair in zip(self.found, other.found, strict=True)))
        return Marginals(torch.cat([self.logits, other.logits]).flatten(0, 1), None, found, self.vocabulary)

    def _held(self) -> tuple[Tensor, Tensor | None]:
        """Logits that are there, and which of them each column has."""
        if isinstance(self.rows, Deferred):
            return self.logits.flatten(0, 1), None
        return self.rows, self.place

    def probability(self, tokens: Tensor) -> Tensor:
        """p of given tokens, 0 for those that have no column among the logits. [R, N, W] -> [R, N, W]"""
        words = self.vocabulary
        if words.whole:
            return kernels.probability(*self._held(), self.found, tokens)
        column = tokens - words.first
        inside = (column >= 0) & (column < words.count)
        return kernels.probability(*self._held(), self.found, column.clamp(0, words.count - 1)).where(inside, 0)

    def draw(self, tau: float, u: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
        """Tokens from p^(1/τ), cut to the top-k and then the top-p; one for each u in [R, N, W].

        τ = 0 takes the most likely token. Otherwise the inverse of the cumulative distribution at u:
        one number per draw, where Gumbel noise would need one per word of the vocabulary.
        """
        if tau == 0:
            return self.argmax[:, None].expand(u.shape)
        first = self.vocabulary.first
        if not first:
            return kernels.draw(*self._held(), self.found, tau, u, top_k, top_p)
        columns = self.found._replace(argmax=self.argmax - first)
        return kernels.draw(*self._held(), columns, tau, u, top_k, top_p) + first

    def kl(self, other: Marginals) -> Tensor:
        """D_KL(self ‖ other) per column. [R, W]"""
        log_p = at_least_float32(self.logits) - self.log_z[..., None]
        log_q = at_least_float32(other.logits) - other.log_z[..., None]
        terms = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * (log_p - log_q))
        return terms.sum(-1).clamp(min=0)  # rounding can dip below zero


def statistics(logits: Tensor, vocabulary: Vocabulary, spots: Spots | None = None) -> Statistics:
    """Read each row [X, V], or the columns that these masks stand in. What is not predicted is struck out, in place.

    So is the mask: it is a state of the canvas, and left in, it would take probability from real tokens and could be
    committed. The likeliest token is an id of the whole vocabulary.
    """
    _rule_out(logits, vocabulary)
    columns = () if spots is None else (spots.masked, spots.place)
    found = kernels.statistics(logits, vocabulary.mask_column, *columns)
    return found._replace(argmax=found.argmax + vocabulary.first) if vocabulary.first else found


def exclude(logits: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Strike out of logits [..., V] the mask and what else is not predicted, in place."""
    return _rule_out(kernels.strike(logits, vocabulary.mask_column), vocabulary)


def _rule_out(logits: Tensor, vocabulary: Vocabulary) -> Tensor:
    if vocabulary.excluded:
        logits.index_fill_(-1, _columns(vocabulary.excluded, logits.device), -torch.inf)
    return logits


@remembered
def _columns(columns: tuple[int, ...], device: torch.device) -> Tensor:
    return upload(columns, device)


def exclude_by_lane(logits: Logits, lanes: Sequence[tuple[Vocabulary, int]]) -> tuple[Logits, Vocabulary]:
    """Logits of several lanes, so many rows each, and one vocabulary to read them all with.

    Lanes that agree have it already. Where they do not, each one's exclusions are struck out here.
    """
    common = lanes[0][0]
    if all(vocabulary == common for vocabulary, _ in lanes):
        return logits, common
    rows = logits.held() if isinstance(logits, Deferred) else logits
    parts = torch.split(rows, [count for _, count in lanes])
    for (vocabulary, _), part in zip(lanes, parts, strict=True):
        exclude(part, vocabulary)
    return rows, replace(common, never=())
