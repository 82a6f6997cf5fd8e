"""What a sampler looks at in logits, computed together and once per state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from infogain import kernels
from infogain.device import remembered, upload
from infogain.kernels import Statistics
from infogain.vocabulary import Vocabulary


@dataclass(frozen=True)
class Spots:
    """Masked columns, numbered from left to right over all rows. Worked out when first asked for."""

    masked: Tensor  # [R, W]
    count: int  # of masks, known to the host

    @property
    def place(self) -> Tensor:
        """The number of each column; of a written column, any. [R, W]"""
        return self._numbered[0]

    @property
    def source(self) -> Tensor:
        """The column of each number, columns counted over all rows. [X]"""
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[Tensor, Tensor]:
        return kernels.number(self.masked, self.count)

    def spread(self, masks: Statistics) -> Statistics:
        """Statistics of the masks become those of all columns."""
        return kernels.spread(masks, self.masked, self.place)


def statistics(logits: Tensor, vocabulary: Vocabulary, spots: Spots | None = None) -> Statistics:
    """Of each row [X, V], or of the columns that these masks stand in. What is not predicted is struck out, in place.

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
