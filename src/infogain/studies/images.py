"""Samplers of images by number of steps and guidance: the shape of the paper's Table 4."""

from __future__ import annotations

from typing import Any

from infogain.algorithm.schedule import Steps
from infogain.report.plots import Figure, figure_legend
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check
from infogain.studies.cell import CellResult, Point, by, pick
from infogain.studies.image_figures import draw_distances, draw_guidance, draw_pictures
from infogain.studies.image_methods import COLD, IN_THE_PAPER, SAMPLERS, TAUS, WARM, Asked, sampler_points
from infogain.studies.image_search import OBJECTIVES, ImageSearch, grid
from infogain.studies.image_study import ImageStudy
from infogain.studies.image_tables import (
    compared,
    extent,
    guidance_table,
    nearer,
    samplers_table,
    settings_tables,
    summary_of,
)
from infogain.studies.images_lowstep import FIVE
from infogain.studies.methods import of_size

SIXTEEN, SIXTY_FOUR = Steps(16, "cosine"), Steps(64, "cosine")
IMAGES, SEEDS = 2_000, range(3)  # of the full size
GUIDANCE = (1.0, 3.0)
PICTURED = 16  # steps
KEEP = ("pictures",)
FURTHER = {"n": (2,), "tau_select": (2.0,)}
BOTH: Asked = [(label, tau) for label in IN_THE_PAPER for tau in TAUS]
MANY_STEPS: Asked = [("info-gain", COLD), ("uniform", WARM), ("uniform", COLD), ("entropy", WARM), ("entropy", COLD)]
GUIDED: Asked = [("uniform", WARM), ("uniform", COLD), ("entropy", COLD), ("confidence (top-1)", COLD)]


class ImagesStudy(ImageStudy):
    name = "images"
    title = "Samplers of images, by steps and guidance"
    source = "the shape of Table 4"
    claim = (
        "Info-Gain has the best images of MMaDA in 50 steps of a cosine schedule: FID 38.1 against 43.3 for the best "
        "other, Inception score 63.0 against 53.3."
    )
    figure_size = (17.0, 9.0)

    def points(self, size: str) -> list[Point]:
        search = self.search(size)
        if search is None:
            return smaller(size)
        asked: Asked = [("info-gain", COLD), ("lookum", COLD), *BOTH, ("confidence (annealed)", WARM)]
        return [
            *sampler_points(asked, SIXTEEN, IMAGES, SEEDS, keep=KEEP),
            *sampler_points(MANY_STEPS, SIXTY_FOUR, IMAGES, SEEDS, keep=KEEP),
            *search.points(),
            *guided(FIVE, [*GUIDED, ("info-gain", COLD), ("lookum", COLD)]),
            *guided(SIXTEEN, [*GUIDED, ("info-gain", COLD)]),  # without guidance they are above
        ]

    def search(self, size: str) -> ImageSearch | None:
        if size != "full":
            return None
        settings = grid(OBJECTIVES, draws=("fresh", "shared"), tau_token=(WARM,))
        return ImageSearch(SIXTEEN, settings, FURTHER, IMAGES, SEEDS, KEEP)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        unguided = [samplers_table(own) for own in by_steps(compared(rows))]
        return [*unguided, *settings_tables(rows), *(guidance_table(own) for own in with_guidance(rows))]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        unguided, guided_rows = by_steps(compared(rows)), with_guidance(rows)
        parts: Any = figure.subfigures(2, 1)
        above, below = parts
        for axes, own in zip(above.subplots(1, len(unguided), squeeze=False)[0], unguided, strict=True):
            draw_distances(axes, own, f"{extent(own[0])}")
        figure_legend(above, max(above.axes, key=lambda axes: len(axes.lines)))  # of the panel with most samplers
        panels = below.subplots(1, len(guided_rows) + 1, squeeze=False)[0]
        for axes, own in zip(panels, guided_rows, strict=False):
            draw_guidance(axes, own, f"guidance, {own[0]['steps']} steps")
        draw_pictures(panels[-1], pick(compared(rows), steps=PICTURED), alike_only=True)
        panels[-1].set_title(f"images of one class, {PICTURED} steps")

    def checks(self, rows: list[CellResult]) -> list[Check]:
        many = [own for own in by_steps(compared(rows)) if own[0]["steps"] > FIVE.count]
        return [check for own in many for check in nearer(own, IN_THE_PAPER, f"{own[0]['steps']} steps")]

    def summary(self, rows: list[CellResult]) -> list[str]:
        return [line for own in by_steps(compared(rows)) for line in summary_of(own, f"{own[0]['steps']} steps")]


def by_steps(rows: list[CellResult]) -> list[list[CellResult]]:
    """Rows by their number of steps, the most steps first."""
    return [own for _, own in sorted(by(rows, "steps").items(), reverse=True)]


def with_guidance(rows: list[CellResult]) -> list[list[CellResult]]:
    """Rows by their number of steps, of those samplers that were decoded with guidance too."""
    own = pick(rows, part=SAMPLERS)
    guided_ones = {(row["steps"], row["sampler"], row["τ_token"]) for row in own if row["guidance"]}
    return by_steps([row for row in own if (row["steps"], row["sampler"], row["τ_token"]) in guided_ones])


def smaller(size: str) -> list[Point]:
    """The cells of a size that searches for nothing."""
    images, seeds = of_size(size, (20, range(2)), (200, range(3)), (0, range(0)))
    few: Asked = [("uniform", WARM), ("info-gain", COLD)]
    asked = of_size(size, few, [*few, ("uniform", COLD), ("entropy", COLD), ("entropy", WARM)], [])
    schedule = of_size(size, Steps(4, "cosine"), SIXTEEN, SIXTEEN)
    found = sampler_points(asked, schedule, images, seeds)
    return found + sampler_points(asked[:1], schedule, images, seeds, guidance=GUIDANCE[0])


def guided(schedule: Steps, asked: Asked) -> list[Point]:
    """Samplers with each weight of guidance."""
    found = (sampler_points(asked, schedule, IMAGES, SEEDS, guidance=weight) for weight in GUIDANCE)
    return [point for points in found for point in points]
