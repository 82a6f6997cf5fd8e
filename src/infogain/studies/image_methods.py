"""Samplers of images under comparison, each with the settings that the paper or its authors have for images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from infogain.algorithm.schedule import Steps
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.studies.cell import IMAGES, Cell, Point

MODEL = "zoo:tiny-image"
COLD, WARM = 0.4, 1.0  # τ_token: the paper's for images; and that of the model's own distribution
TAUS = (COLD, WARM)
TAU_POS = 0.4  # the paper's for images, of samplers that look ahead
ONE = "one candidate"  # drawn as look-ahead draws its candidates, and taken without a look
IMAGE_METHODS: dict[str, Plain] = {
    "uniform": {"name": "uniform"},
    "entropy": {"name": "entropy"},
    "confidence (top-1)": {"name": "confidence"},
    "margin": {"name": "margin"},
    "confidence (annealed)": {"name": "confidence", "of": "drawn", "tau_pos": 1.0, "anneal": "compound"},  # MMaDA's
    ONE: {"name": "confidence", "of": "drawn", "tau_pos": TAU_POS},
    "lookum": {"name": "lookum", "tau_pos": TAU_POS},
    "info-gain": {"name": "info-gain", "tau_pos": TAU_POS},
}
IN_THE_PAPER = ("uniform", "entropy", "confidence (top-1)", "margin")  # Table 4, beside Info-Gain
SAMPLERS = "samplers"  # the part of a study that compares samplers; others look for settings,
CONTROLS = "controls"  # or tell what a setting's success is due to

Asked = list[tuple[str, float]]  # samplers, each at a temperature of tokens


def image_cell(sampler: Plain, schedule: Steps, images: int, seeds: Iterable[int], **rest: Any) -> Cell:
    """So many images from each seed; `guidance` is an option."""
    guidance = rest.pop("guidance", 0.0)
    recipe = Recipe(sampler, schedule, 0, guidance=guidance)  # type: ignore[arg-type]  # Recipe parses tables
    return Cell("image", recipe, images, tuple(seeds), kind=IMAGES, **rest)


def labels_of(schedule: Steps, guidance: float = 0.0) -> Plain:
    return {"steps": schedule.count, "shape": schedule.shape, "guidance": guidance}


def sampler_points(asked: Asked, schedule: Steps, images: int, seeds: Iterable[int], **rest: Any) -> list[Point]:
    """Samplers by the names of this module; `part` is that of the study, and `guidance` and `keep` are the cells'."""
    part, seeds = rest.pop("part", SAMPLERS), tuple(seeds)
    told = labels_of(schedule, rest.get("guidance", 0.0))
    return [
        Point(
            {"part": part, "sampler": label, "τ_token": tau, **told},
            image_cell({**IMAGE_METHODS[label], "tau_token": tau}, schedule, images, seeds, **rest),
        )
        for label, tau in asked
    ]
