"""What comes with the package of MOSES's training molecules: their distributions, and a Bloom filter of them.

`tools/moses.py` made both, with RDKit; the file of the molecules themselves is MOSES's, and does not come along.
"""

from __future__ import annotations

import json
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any

from infogain.zoo.molecules.bloom import BloomFilter
from infogain.zoo.molecules.distribution import Distribution
from infogain.zoo.molecules.smiles import read_smiles

REFERENCE_FILE = Path(__file__).with_name("reference.json")
BLOOM_FILE = Path(__file__).with_name("training.bloom")


@cache
def reference() -> dict[str, Any]:
    """What the tool found: how many molecules, RDKit's version, the filter's false positives, distributions."""
    found: dict[str, Any] = json.loads(REFERENCE_FILE.read_text(encoding="utf-8"))
    return found


@cache
def reference_distributions() -> dict[str, Distribution]:
    """The distribution of each property over the training molecules."""
    return {name: Distribution.of(**table) for name, table in reference()["distributions"].items()}


def training_molecules(data: str | Path | None = None) -> Container[str]:
    """The canonical training molecules: those of MOSES's own file, or the filter, which knows nearly as much."""
    return BloomFilter.load(BLOOM_FILE) if data is None else set(read_smiles(data))
