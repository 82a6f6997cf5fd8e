"""Images in five steps: the paper's Figs. 7 and 8, and which setting of look-ahead is best there."""

from __future__ import annotations

from infogain.algorithm.schedule import Steps
from infogain.report.plots import Figure
from infogain.report.tables import Table
from infogain.studies.cell import CellResult, Point
from infogain.studies.image_methods import COLD, IN_THE_PAPER, TAUS, WARM, Asked, sampler_points
from infogain.studies.image_search import OBJECTIVES, ImageSearch, grid
from infogain.studies.image_study import ImageStudy
from infogain.studies.image_tables import samplers_table, settings_table
from infogain.studies.methods import of_size

FIVE = Steps(5)
IMAGES, SEEDS = 10_000, range(5)  # of the full size
KEEP = ("path", "pictures")
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
    figure_size = (11.0, 9.0)

    def points(self, size: str) -> list[Point]:
        images, seeds = of_size(size, (20, range(2)), (200, range(3)), (IMAGES, SEEDS))
        search = self.search(size)
        return sampler_points(asked(size), FIVE, images, seeds, keep=KEEP) + (search.points() if search else [])

    def search(self, size: str) -> ImageSearch | None:
        if size != "full":
            return None
        settings = grid(OBJECTIVES, draws=DRAWS, tau_token=TAUS)
        return ImageSearch(FIVE, settings, FURTHER, IMAGES, SEEDS, KEEP)

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [samplers_table(rows), *settings_table(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        pass

    def summary(self, rows: list[CellResult]) -> list[str]:
        return []


def asked(size: str) -> Asked:
    """The samplers of a size: those of the paper at both temperatures, and look-ahead as the paper has it."""
    few: Asked = [("uniform", WARM), ("info-gain", COLD)]
    medium: Asked = [("uniform", COLD), ("entropy", COLD), ("entropy", WARM), ("lookum", COLD)]
    both = [(label, tau) for label in IN_THE_PAPER for tau in TAUS]
    full: Asked = [("info-gain", COLD), ("lookum", COLD), *both, ("confidence (annealed)", WARM)]
    return of_size(size, few, few + medium, full)
