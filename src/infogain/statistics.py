"""What a sampler looks at in logits, computed together and once per state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from infogain import kernels
from infogain.kernels import Statistics


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


def statistics(logits: Tensor, mask_id: int, spots: Spots | None = None) -> Statistics:
    """Of each row [X, V], or of the columns that these masks stand in. The mask is struck out of the logits, in place.

    It is a state of the canvas, never a prediction: left in, it would take probability from real tokens and could be
    committed.
    """
    if spots is None:
        return kernels.statistics(logits, mask_id)
    return kernels.statistics(logits, mask_id, spots.masked, spots.place)
