"""Samplers of images by number of steps and guidance: the shape of the paper's Table 4."""

from __future__ import annotations

from collections.abc import Iterable

from infogain.algorithm.schedule import Steps
from infogain.report.plots import Figure
from infogain.report.tables import Table
from infogain.studies.cell import CellResult, Point
from infogain.studies.image_methods import COLD, IN_THE_PAPER, TAUS, WARM, Asked, sampler_points
from infogain.studies.image_search import OBJECTIVES, ImageSearch, grid
from infogain.studies.image_study import ImageStudy
from infogain.studies.image_tables import samplers_table, settings_table
from infogain.studies.images_lowstep import FIVE
from infogain.studies.methods import of_size

SIXTEEN, SIXTY_FOUR = Steps(16, "cosine"), Steps(64, "cosine")
IMAGES, SEEDS = 2_000, range(3)  # of the full size
GUIDANCE = (1.0, 3.0)
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
    figure_size = (11.0, 8.0)

    def points(self, size: str) -> list[Point]:
        search = self.search(size)
        if search is None:
            return smaller(size)
        asked: Asked = [("info-gain", COLD), ("lookum", COLD), *BOTH, ("confidence (annealed)", WARM)]
        return [
            *sampler_points(asked, SIXTEEN, IMAGES, SEEDS, keep=KEEP),
            *sampler_points(MANY_STEPS, SIXTY_FOUR, IMAGES, SEEDS, keep=KEEP),
            *search.points(),
            *guided(FIVE, (0.0, *GUIDANCE), [*GUIDED, ("info-gain", COLD), ("lookum", COLD)]),
            *guided(SIXTEEN, GUIDANCE, [*GUIDED, ("info-gain", COLD)]),  # without guidance they are above
        ]

    def search(self, size: str) -> ImageSearch | None:
        if size != "full":
            return None
        settings = grid(OBJECTIVES, draws=("fresh", "shared"), tau_token=(WARM,))
        return ImageSearch(SIXTEEN, settings, FURTHER, IMAGES, SEEDS, KEEP)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [samplers_table(rows), *settings_table(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        pass

    def summary(self, rows: list[CellResult]) -> list[str]:
        return []


def smaller(size: str) -> list[Point]:
    """The cells of a size that searches for nothing."""
    images, seeds = of_size(size, (20, range(2)), (200, range(3)), (0, range(0)))
    few: Asked = [("uniform", WARM), ("info-gain", COLD)]
    asked = of_size(size, few, [*few, ("uniform", COLD), ("entropy", COLD), ("entropy", WARM)], [])
    schedule = of_size(size, Steps(4, "cosine"), SIXTEEN, SIXTEEN)
    found = sampler_points(asked, schedule, images, seeds)
    return found + sampler_points(asked[:1], schedule, images, seeds, guidance=GUIDANCE[0])


def guided(schedule: Steps, weights: Iterable[float], asked: Asked) -> list[Point]:
    """Samplers with each weight of guidance."""
    found = (sampler_points(asked, schedule, IMAGES, SEEDS, guidance=weight) for weight in weights)
    return [point for points in found for point in points]
