"""Images in five steps: the paper's Figs. 7 and 8, and which setting of look-ahead is best there."""

from __future__ import annotations

from typing import Any

from infogain.algorithm.schedule import Steps
from infogain.report.plots import Figure, figure_legend
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.image_figures import draw_distances, draw_paths, draw_pictures
from infogain.studies.image_methods import COLD, CONTROLS, IN_THE_PAPER, ONE, TAUS, WARM, Asked, sampler_points
from infogain.studies.image_search import IMAGES as SEARCHED
from infogain.studies.image_search import OBJECTIVES, ImageSearch, grid
from infogain.studies.image_search import SEEDS as SEARCH_SEEDS
from infogain.studies.image_study import ImageStudy
from infogain.studies.image_tables import (
    compared,
    extent,
    nearer,
    nearest_first,
    of,
    samplers_table,
    settings_tables,
    summary_of,
    told,
)
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import of_size

FIVE, CURVE = Steps(5), Steps(5, "cosine")
IMAGES, SEEDS = 10_000, range(5)  # of the full size
KEEP = ("path", "pictures")
PICTURED = ("entropy", "confidence (top-1)", "margin")  # beside Info-Gain in Figs. 7 and 8
DRAWS = ("fresh", "shared", "fixed")
FURTHER = {
    "tau_pos": (0.1, 1.0, 4.0),
    "tau_select": (0.1, 0.5, 2.0),
    "gamma": (1.0,),
    "n": (2, 4),
    "tau_token": (0.7,),
    "cost_weight": (0.0, 0.25),
    "gain_power": (0.5,),
    "cost_of": ("surprisal",),
}


class ImagesLowStepStudy(ImageStudy):
    name = "images-lowstep"
    title = "Images in five steps"
    source = "App. E, Figs. 7 and 8"
    claim = (
        "In five steps of a linear schedule Info-Gain's images are more coherent than those of Entropy, Confidence and "
        "Margin, and its H̃ is the lowest."
    )
    figure_size = (15.0, 9.0)

    def points(self, size: str) -> list[Point]:
        images, seeds = of_size(size, (20, range(2)), (200, range(3)), (IMAGES, SEEDS))
        search, found = self.search(size), sampler_points(asked(size), FIVE, images, seeds, keep=KEEP)
        return [*found, *search.points(), *controls()] if search else found

    def search(self, size: str) -> ImageSearch | None:
        if size != "full":
            return None
        settings = grid(OBJECTIVES, draws=DRAWS, tau_token=TAUS)
        return ImageSearch(FIVE, settings, FURTHER, IMAGES, SEEDS, KEEP)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [samplers_table(rows), *settings_tables(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        own = compared(rows)
        parts: Any = figure.subfigures(1, 2, width_ratios=(1.55, 1))
        left, right = parts
        draw_pictures(left.subplots(), own)
        paths, distances = right.subplots(2, 1)
        draw_paths(paths, own)
        draw_distances(distances, own, "nearness and variety; hollow: τ_token 1")
        figure_legend(right, distances, 2)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        return nearer(rows, PICTURED, "five steps") + lowest_entropy(rows)

    def summary(self, rows: list[CellResult]) -> list[str]:
        return summary_of(rows, "Five steps") + [
            f"On other seeds, {extent(row)}: {told(row)}." for row in nearest_first(pick(rows, part=CONTROLS))
        ]


def controls() -> list[Point]:
    """What needs no look-ahead, on the seeds of the search: one candidate, and the other schedule."""
    asked = ((ONE, FIVE), ("uniform", CURVE))
    found = (sampler_points([(label, WARM)], at, SEARCHED, SEARCH_SEEDS, part=CONTROLS) for label, at in asked)
    return [point for points in found for point in points]


def lowest_entropy(rows: list[CellResult]) -> list[Check]:
    """Fig. 8: whether Info-Gain ends with less H̃ than each of the others, at the paper's temperature."""
    own = of(rows, "info-gain", COLD)
    others = [row for label in PICTURED if (row := of(rows, label, COLD))]
    if not own or not others:
        return []
    rival = min(others, key=lambda row: float(row["entropy"]))
    saved = saved_entropy(interval(rival, "entropy"), interval(own, "entropy"))
    evidence = f"{own['entropy']:.1f} against {rival['entropy']:.1f} ({rival['sampler']}), {saved.show(1)} less"
    return [Check("Info-Gain has the lowest H̃, five steps", saved.above(), evidence)]


def asked(size: str) -> Asked:
    """The samplers of a size: those of the paper at both temperatures, and look-ahead as the paper has it."""
    few: Asked = [("uniform", WARM), ("info-gain", COLD)]
    medium: Asked = [("uniform", COLD), ("entropy", COLD), ("entropy", WARM), ("lookum", COLD)]
    both = [(label, tau) for label in IN_THE_PAPER for tau in TAUS]
    full: Asked = [("info-gain", COLD), ("lookum", COLD), *both, ("confidence (annealed)", WARM)]
    return of_size(size, few, few + medium, full)
