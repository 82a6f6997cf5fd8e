"""How good a set of texts is as molecules: validity, uniqueness, novelty and diversity, as MOSES defines them.

valid     share of the texts that RDKit reads as a molecule; what stands behind a first end mark does not count, and an
          empty text is none
unique    share of the valid ones that differ, by canonical SMILES
novel     share of the different valid ones that are not in the training set
all three the different, valid and novel ones, as a share of all texts: the product of the three
diversity IntDiv: 1 − the mean Tanimoto similarity over all pairs of valid texts, each with itself too, by Morgan
          fingerprints of radius 2 and 1,024 bits (MOSES with p = 1)
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infogain.zoo.molecules.chemistry import FINGERPRINT, Described, describe
from infogain.zoo.molecules.distribution import Distribution
from infogain.zoo.molecules.smiles import molecule_of

ROWS = 1000  # fingerprints that are compared with all others at a time


@dataclass(frozen=True)
class Quality:
    """Shares of a set of texts; NaN where there is nothing to take a share of."""

    valid: float
    unique: float
    novel: float
    valid_unique_novel: float
    diversity: float


def describe_texts(texts: Sequence[str]) -> list[Described | None]:
    """What each text is as a molecule; None where it is none."""
    return [describe(molecule_of(text)) for text in texts]


def quality(found: Sequence[Described | None], training: Container[str]) -> Quality:
    """The shares of a set of texts; `training` holds canonical molecules."""
    valid = [one for one in found if one]
    different = {one.canonical for one in valid}
    novel = [smiles for smiles in different if smiles not in training]
    return Quality(
        share(len(valid), len(found)),
        share(len(different), len(valid)),
        share(len(novel), len(different)),
        share(len(novel), len(found)),
        internal_diversity([one.fingerprint for one in valid]),
    )


def share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def internal_diversity(fingerprints: Sequence[bytes]) -> float:
    """1 − the mean Tanimoto similarity, |a ∧ b| / |a ∨ b|, over all pairs."""
    if not fingerprints:
        return math.nan
    bits = torch.frombuffer(bytearray(b"".join(fingerprints)), dtype=torch.uint8).view(-1, FINGERPRINT).float()
    parts = (bits[first : first + ROWS] for first in range(0, len(bits), ROWS))
    total = math.fsum(float(_similarity(part, bits).double().sum()) for part in parts)
    return 1 - total / len(bits) ** 2


def _similarity(some: Tensor, others: Tensor) -> Tensor:
    """Tanimoto's similarity of each to each; two without any bit are alike. [some, others]"""
    both = some @ others.T
    either = some.sum(1)[:, None] + others.sum(1) - both
    return torch.where(either > 0, both / either.clamp(min=1), 1.0)


def distributions(found: Sequence[Described | None]) -> dict[str, Distribution]:
    """The distribution of each property over the valid texts; none where there are no valid ones."""
    own = [one.properties for one in found if one]
    return {name: Distribution.of([getattr(one, name) for one in own]) for name in own[0]._fields} if own else {}
