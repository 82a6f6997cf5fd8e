"""The best setting of look-ahead for images: the lowest Fréchet distance, on seeds that nothing else is decoded from.

Two stages: a grid of what matters most, then further options one by one around its best. The best of all is decoded
again from the seeds of the samplers that it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from infogain.algorithm.schedule import Steps
from infogain.options import Plain
from infogain.samplers import SAMPLERS as REGISTRY
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.image_methods import COLD, SAMPLERS, TAU_POS, image_cell, labels_of

Setting = tuple[tuple[str, Any], ...]  # options of look-ahead that differ from the paper's for images, by name
PAPER = {"tau_token": COLD, "tau_pos": TAU_POS}
OBJECTIVES: tuple[Plain, ...] = ({}, {"gain_power": 0.0}, {"cost_weight": 0.0})  # the paper's J, its sum, LookUM's
BEST = "look-ahead (best)"
GRID, FURTHER = STAGES = ("grid", "further")
SEEDS = (5, 6, 7)
IMAGES = 2_000  # from each of them


@dataclass(frozen=True)
class ImageSearch:
    """A search at one number of steps.

    further  options that are tried one by one around the best of the grid
    images   from each of `seeds`, with which the best setting is decoded again
    """

    schedule: Steps
    settings: Sequence[Setting]
    further: Mapping[str, Iterable[Any]]
    images: int
    seeds: Sequence[int]
    keep: tuple[str, ...] = ()

    def points(self) -> list[Point]:
        """The grid."""
        return self._tried(GRID, self.settings)

    def follow(self, rows: list[CellResult]) -> list[Point]:
        """What comes next: the further options, then the best setting from other seeds; then nothing."""
        own = pick(rows, **labels_of(self.schedule))
        if not pick(own, part=FURTHER):
            known = {setting_in(row) for row in pick(own, part=GRID)}
            return self._tried(FURTHER, [one for one in one_by_one(best(own), self.further) if one not in known])
        return [] if pick(own, sampler=BEST) else [self._best(best(own))]

    def _tried(self, part: str, settings: Iterable[Setting]) -> list[Point]:
        return [
            Point(
                {"part": part, "setting": [list(pair) for pair in setting], **labels_of(self.schedule)},
                image_cell(table(setting), self.schedule, IMAGES, SEEDS),
            )
            for setting in dict.fromkeys(settings)
        ]

    def _best(self, setting: Setting) -> Point:
        labels = {"part": SAMPLERS, "sampler": BEST, "τ_token": table(setting)["tau_token"]}
        cell = image_cell(table(setting), self.schedule, self.images, self.seeds, keep=self.keep)
        return Point({**labels, "setting": [list(pair) for pair in setting], **labels_of(self.schedule)}, cell)


def table(setting: Setting) -> Plain:
    """A setting as a sampler: Info-Gain, which with no weight for costs is LookUM."""
    return {"name": "info-gain", **PAPER, **dict(setting)}


def setting_of(options: Mapping[str, Any]) -> Setting:
    """Options as a setting: those that differ from the paper's for images, in one order."""
    paper = REGISTRY.make("info-gain", **PAPER)
    return tuple((name, options[name]) for name in sorted(options) if options[name] != getattr(paper, name))


def setting_in(row: CellResult) -> Setting:
    """The setting that a row was decoded with."""
    return tuple((name, value) for name, value in row["setting"])


def shown(setting: Setting) -> str:
    return ", ".join(f"{name} = {value}" for name, value in setting) or "the paper's"


def grid(objectives: Iterable[Plain], **options: Iterable[Any]) -> list[Setting]:
    """Every objective with every combination of options."""
    combined = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    return [setting_of({**objective, **own}) for objective in objectives for own in combined]


def one_by_one(setting: Setting, options: Mapping[str, Iterable[Any]]) -> list[Setting]:
    """A setting with one option changed at a time."""
    return [setting_of({**dict(setting), name: value}) for name, values in options.items() for value in values]


def tried(rows: Iterable[CellResult]) -> list[CellResult]:
    """The rows of a search, the best first."""
    found = [row for row in rows if row["part"] in STAGES]
    return sorted(found, key=lambda row: float(row["frechet"]))


def best(rows: Iterable[CellResult]) -> Setting:
    """The setting with the lowest Fréchet distance on the seeds of the search."""
    return setting_in(tried(rows)[0])
