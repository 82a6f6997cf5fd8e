"""Numbers of texts as molecules, with 95 % intervals: over texts (Wilson's), or over batches of a thousand (Student's).

Uniqueness depends on how many texts there are: so it, and what is made of it, is taken in batches of equally many, and
varies over batches. Draws are never resampled, for a text drawn twice would count as a repetition.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, fields

from infogain.evals.intervals import Interval, mean_interval, share_interval, wilson
from infogain.evals.means import mean
from infogain.options import Plain
from infogain.report.numbers import NONE, number
from infogain.report.tables import Table
from infogain.zoo.molecules.chemistry import Described, contains, scaffold_of
from infogain.zoo.molecules.distribution import Distribution
from infogain.zoo.molecules.metrics import Quality, describe_texts, distributions, quality
from infogain.zoo.molecules.sampled import SampledTexts
from infogain.zoo.molecules.training_set import reference_distributions

BATCH = 1000  # texts
COLUMNS = {  # of a table: what stands above each number, and what it means
    "valid": ("valid %", "texts that RDKit reads as a molecule, in per cent"),
    "unique": ("unique %", "different molecules among the valid ones, in per cent, in batches of 1,000 texts"),
    "novel": ("novel %", "different molecules that are not in the training set, in per cent"),
    "valid_unique_novel": ("all three %", "different, valid and novel molecules in per cent of all texts of a batch"),
    "diversity": ("IntDiv", "1 − mean Tanimoto similarity of all pairs of valid texts"),
    "scaffold_kept": ("scaffold kept %", "valid texts with the given scaffold as a substructure, in per cent of all"),
    "scaffold_same": ("scaffold same %", "texts whose own Bemis–Murcko scaffold is the given one, in per cent of all"),
}


@dataclass(frozen=True)
class MoleculeScores:
    """What is said of the texts of one file."""

    name: str
    texts: int
    shares: dict[str, Interval]  # by the names of COLUMNS
    properties: dict[str, Distribution]  # of the valid texts
    costs: dict[str, Interval]
    about: Plain

    def distance(self, name: str) -> float:
        """How far a property's distribution is from the training set's, as 1-Wasserstein distance."""
        return self.properties[name].distance(reference_distributions()[name])

    def plain(self) -> Plain:
        return {
            "name": self.name,
            **self.about,
            "texts": self.texts,
            "shares": {name: plain_interval(found) for name, found in self.shares.items()},
            "costs": {name: plain_interval(found) for name, found in self.costs.items()},
            "properties": {
                name: {**found.summary(), "distance": self.distance(name)} for name, found in self.properties.items()
            },
        }


def plain_interval(found: Interval) -> Plain:
    """A value and its bounds for JSON, which has no NaN."""
    return {"value": None if math.isnan(found.value) else found.value, "interval": found.plain()}


def score_texts(sampled: SampledTexts, training: Container[str]) -> MoleculeScores:
    """Judge the texts of a file; `training` holds the canonical training molecules."""
    found = describe_texts(sampled.texts)
    costs = {name: mean_interval(values) for name, values in sampled.costs.items()}
    shares = {**quality_intervals(found, training), **scaffold_intervals(sampled)}
    return MoleculeScores(sampled.name, len(found), shares, distributions(found), costs, sampled.about)


def quality_intervals(found: Sequence[Described | None], training: Container[str]) -> dict[str, Interval]:
    """Every share, of whole batches of a thousand texts, or of all texts where there are fewer."""
    parts = [found[first : first + BATCH] for first in range(0, len(found) - BATCH + 1, BATCH)] or [found]
    each = [quality(part, training) for part in parts]
    shares = {field.name: mean_interval([getattr(one, field.name) for one in each]) for field in fields(Quality)}
    valid = sum(one is not None for one in found) / len(found)
    bounded = {name: one if name == "diversity" else one.as_share() for name, one in shares.items()}
    return {**bounded, "valid": wilson(valid, len(found))}


def scaffold_intervals(sampled: SampledTexts) -> dict[str, Interval]:
    """How often a given scaffold was kept; nothing where none was given. Texts of one canvas are one problem."""
    given = [(scaffold, text) for scaffold, text in zip(sampled.scaffolds, sampled.texts, strict=True) if scaffold]
    if not given:
        return {}
    kept: dict[str, list[float]] = {}
    same: dict[str, list[float]] = {}
    for scaffold, text in given:
        kept.setdefault(scaffold, []).append(contains(text, scaffold))
        same.setdefault(scaffold, []).append(scaffold_of(text) == scaffold)
    return {
        "scaffold_kept": share_interval([mean(own) for own in kept.values()], len(given)),
        "scaffold_same": share_interval([mean(own) for own in same.values()], len(given)),
    }


def table_of(scores: Sequence[MoleculeScores]) -> Table:
    """A row for each file, with the distances of its distributions."""
    names = [name for name in COLUMNS if any(name in one.shares for one in scores)]
    own = dict(COLUMNS.values())
    properties = {name: f"W₁ {name}" for name in reference_distributions()}
    own |= {title: f"distance of the valid texts' {name} from the training set's" for name, title in properties.items()}
    rows = [
        [
            one.name,
            str(one.texts),
            *(shown(name, one.shares.get(name)) for name in names),
            *(number(one.distance(name) if one.properties else None, 2) for name in properties),
        ]
        for one in scores
    ]
    head = ["name", "texts", *(COLUMNS[name][0] for name in names), *properties.values()]
    return Table(head, rows, explained={**own, "texts": "how many there are"})


def shown(name: str, found: Interval | None) -> str:
    """A share in per cent, a diversity as it is, with the interval where there is one."""
    if found is None or math.isnan(found.value):
        return NONE
    digits, scale = (3, 1.0) if name == "diversity" else (1, 100.0)
    return found.show(digits, scale) if found.plain() else found.show(digits, scale).partition(" ")[0]
