"""What the model believes about each column: one distribution over the vocabulary, and its statistics.

All statistics are computed together, once per state. Nats everywhere; p is the model's distribution at
temperature 1, without the mask token and whatever else the vocabulary excludes. Tokens are ids of the whole vocabulary.
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
from infogain.kernels import MaskedColumns, Statistics, at_least_float32


@dataclass(frozen=True)
class LazyLogits:
    """Logits [X, V] that are too many to hold: the head computes a few rows at a time, and once more when picked."""

    inputs: tuple[Tensor, ...]  # [X, …] each: what the head reads
    head: Callable[..., Tensor]  # some rows of each input -> [rows, V]
    width: int  # V
    rows_at_once: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.inputs[0]), self.width

    def __getitem__(self, index: Tensor) -> Tensor:
        return self.head(*(x[index] for x in self.inputs))

    def then(self, change: Callable[[Tensor], Tensor]) -> LazyLogits:
        """Lazy logits that `change` is applied to whenever the head has computed some. `change`: [X, V] -> [X, V]"""
        return replace(self, head=lambda *inputs: change(self.head(*inputs)))

    def all(self) -> Tensor:
        """Compute and hold all rows after all. -> [X, V]"""
        return torch.cat(list(self.parts()))

    def parts(self) -> Iterator[Tensor]:
        """The logits, `rows_at_once` at a time."""
        parts = (torch.split(x, self.rows_at_once) for x in self.inputs)
        return (self.head(*part) for part in zip(*parts, strict=True))


Logits = TypeVar("Logits", Tensor, Tensor | LazyLogits)


@dataclass(frozen=True)
class Marginals:
    """One distribution over the vocabulary for every column of R hypotheses, W columns each."""

    rows: Tensor | LazyLogits  # [X, V] logits
    logit_row: Tensor | None  # [R, W] the row of each column; any for a written column. None: one for each, in order
    statistics: Statistics  # [R, W]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, logits: Tensor, vocabulary: Vocabulary) -> Marginals:
        """Marginals from a model's logits of all columns [R, W, V], which are written to: see `statistics`."""
        rows, shape = kernels.rows_contiguous(logits.flatten(0, 1)), logits.shape[:2]
        numbers, argmax = statistics(rows, vocabulary)
        return cls(rows, None, Statistics(numbers.view(*shape, -1), argmax.view(shape)), vocabulary)

    @classmethod
    def at(cls, columns: MaskedColumns, logits: Tensor | LazyLogits, vocabulary: Vocabulary) -> Marginals:
        """Marginals from logits of the masked columns alone, in order [X, V]; a written column is certain."""
        if not isinstance(logits, LazyLogits):
            rows = kernels.rows_contiguous(logits)
            return cls(rows, columns.logit_row, statistics(rows, vocabulary, columns), vocabulary)
        logits = logits.then(lambda rows: exclude(rows, vocabulary))
        parts = [statistics(part, vocabulary) for part in logits.parts()]
        found = Statistics(*(torch.cat(x) for x in zip(*parts, strict=True)))
        return cls(logits, columns.logit_row, kernels.spread(found, columns.masked, columns.logit_row), vocabulary)

    @property
    def log_z(self) -> Tensor:
        """The log-normaliser: log p = logits − log_z. [R, W], like all that follow"""
        return self.statistics.numbers[..., 0]

    @property
    def entropy(self) -> Tensor:
        """The entropy H."""
        return self.statistics.numbers[..., 1]

    @property
    def confidence(self) -> Tensor:
        """The probability of the most likely token."""
        return self.statistics.numbers[..., 2]

    @property
    def margin(self) -> Tensor:
        """The lead of the most likely token over the second: p_top1 − p_top2."""
        return self.statistics.numbers[..., 3]

    @property
    def argmax(self) -> Tensor:
        """The most likely token."""
        return self.statistics.argmax

    @property
    def logits(self) -> Tensor:
        """The logits of every column. [R, W, V]"""
        return kernels.of_columns(cast("Tensor", self.rows), self.logit_row, self.argmax.shape)

    def __getitem__(self, index: Tensor | slice) -> Marginals:
        """Marginals of these hypotheses.

        A slice shares the logits; hypotheses picked by number get a copy, so that the logits of the others can go.
        """
        count = len(self.argmax)
        if isinstance(index, slice) and index.indices(count) == (0, count, 1):
            return self
        found = Statistics(*(x[index] for x in self.statistics))
        if self.logit_row is None:
            return Marginals(self.logits[index].flatten(0, 1), None, found, self.vocabulary)
        logit_row = self.logit_row[index]
        if isinstance(index, slice):
            return Marginals(self.rows, logit_row, found, self.vocabulary)
        return Marginals(self.rows[logit_row.flatten()], None, found, self.vocabulary)

    def fit(self, width: int) -> Marginals:
        """Marginals of the first `width` columns of each hypothesis. Columns that are added mean nothing."""
        rows, columns = self.argmax.shape
        logit_row = self.logit_row
        if logit_row is None:
            logit_row = torch.arange(rows * columns, device=self.argmax.device).view(rows, columns)
        more = (0, width - columns)
        found = Statistics(pad(self.statistics.numbers, (0, 0, *more)), pad(self.argmax, more))
        return Marginals(self.rows, pad(logit_row, more), found, self.vocabulary)

    def join(self, other: Marginals) -> Marginals:
        """Marginals of these hypotheses, followed by those of others."""
        found = Statistics(*(torch.cat(pair) for pair in zip(self.statistics, other.statistics, strict=True)))
        return Marginals(torch.cat([self.logits, other.logits]).flatten(0, 1), None, found, self.vocabulary)

    def _held(self) -> tuple[Tensor, Tensor | None]:
        """Logits as a tensor [X, V], and the row of each column."""
        if isinstance(self.rows, LazyLogits):
            return self.logits.flatten(0, 1), None
        return self.rows, self.logit_row

    def probability(self, tokens: Tensor) -> Tensor:
        """The probability of given tokens; 0 for those that have no column among the logits. [R, N, W] -> [R, N, W]"""
        vocabulary = self.vocabulary
        if vocabulary.whole:
            return kernels.probability(*self._held(), self.statistics, tokens)
        column = tokens - vocabulary.first
        inside = (column >= 0) & (column < vocabulary.count)
        p = kernels.probability(*self._held(), self.statistics, column.clamp(0, vocabulary.count - 1))
        return p.where(inside, 0)

    def draw(self, tau: float, u: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
        """Draw tokens from p^(1/τ), cut to the top-k and then the top-p: one for each u in [R, N, W].

        τ = 0 takes the most likely token. Otherwise the cumulative distribution is inverted at u: one random number
        per draw, where Gumbel noise would need one per token of the vocabulary.
        """
        if tau == 0:
            return self.argmax[:, None].expand(u.shape)
        first = self.vocabulary.first
        if not first:
            return kernels.draw(*self._held(), self.statistics, tau, u, top_k, top_p)
        columns = self.statistics._replace(argmax=self.argmax - first)
        return kernels.draw(*self._held(), columns, tau, u, top_k, top_p) + first

    def kl(self, other: Marginals) -> Tensor:
        """D_KL(self ‖ other) per column. [R, W]"""
        log_p = at_least_float32(self.logits) - self.log_z[..., None]
        log_q = at_least_float32(other.logits) - other.log_z[..., None]
        terms = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * (log_p - log_q))
        return terms.sum(-1).clamp(min=0)  # rounding can dip below zero


def statistics(logits: Tensor, vocabulary: Vocabulary, columns: MaskedColumns | None = None) -> Statistics:
    """Statistics of each row [X, V] or, given masked columns, of all columns they lie among [R, W].

    Logits of the mask token and of all other ids that are never predicted become −inf, in place: the mask is a state
    of the canvas, and left in, it would take probability from real tokens and could be written. Tokens are ids of the
    whole vocabulary.
    """
    _exclude_never(logits, vocabulary)
    known = () if columns is None else (columns.masked, columns.logit_row)
    found = kernels.statistics(logits, vocabulary.mask_column, *known)
    return found._replace(argmax=found.argmax + vocabulary.first) if vocabulary.first else found


def exclude(logits: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Set the logits [..., V] of the mask and of all other ids that are never predicted to −inf, in place."""
    return _exclude_never(kernels.exclude_mask_token(logits, vocabulary.mask_column), vocabulary)


def _exclude_never(logits: Tensor, vocabulary: Vocabulary) -> Tensor:
    if vocabulary.excluded:
        logits.index_fill_(-1, _columns(vocabulary.excluded, logits.device), -torch.inf)
    return logits


@remembered
def _columns(columns: tuple[int, ...], device: torch.device) -> Tensor:
    return upload(columns, device)


def exclude_by_lane(logits: Logits, lanes: Sequence[tuple[Vocabulary, int]]) -> tuple[Logits, Vocabulary]:
    """Logits of several lanes (vocabulary and number of rows each), and one vocabulary to read them all with.

    Where all lanes have the same vocabulary, nothing is done; otherwise each one's exclusions are applied here.
    """
    common = lanes[0][0]
    if all(vocabulary == common for vocabulary, _ in lanes):
        return logits, common
    rows = logits.all() if isinstance(logits, LazyLogits) else logits
    parts = torch.split(rows, [count for _, count in lanes])
    for (vocabulary, _), part in zip(lanes, parts, strict=True):
        exclude(part, vocabulary)
    return rows, replace(common, never=())
