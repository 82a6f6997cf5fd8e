"""Keeps the molecules of a cell while they come in, and says by MOSES's measures how good they are."""

from __future__ import annotations

import math

from infogain.evals.molecule_scores import quality_intervals
from infogain.options import Plain
from infogain.studies.cell import Cell
from infogain.zoo.molecules.metrics import describe_texts, distributions
from infogain.zoo.molecules.training_set import reference_distributions, training_molecules

DISTANCES = {"W₁ length": "length", "W₁ weight": "weight", "W₁ logp": "logp", "W₁ rings": "rings"}  # by their columns
EXAMPLES = 8  # texts that are kept as they came


class Chemistry:
    """What was written in each batch of draws. Novelty is by the filter that comes with the package."""

    def __init__(self, cell: Cell) -> None:
        self.batches: list[list[str]] = [[] for _ in range(cell.problems)]

    def add(self, batch: int, text: str) -> None:
        self.batches[batch].append(text)

    def numbers(self) -> Plain:
        """Shares with intervals over batches, and how far properties are from the training set's."""
        texts = [text for batch in self.batches for text in batch]
        found, known = describe_texts(texts), reference_distributions()
        shares = quality_intervals(found, training_molecules())
        own = distributions(found)
        return {
            **{name: None if math.isnan(share.value) else share.value for name, share in shares.items()},
            **{f"{name}_95": share.plain() for name, share in shares.items()},
            **{f"distance_{name}": own[name].distance(each) if own else None for name, each in known.items()},
            "examples": texts[:EXAMPLES],
        }
