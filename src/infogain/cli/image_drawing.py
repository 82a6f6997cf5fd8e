"""What is drawn of finished images: the image or a labelled grid, a strip and an animation of the unmasking, a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from infogain import view
from infogain.cli.image_axes import arranged
from infogain.cli.planned_images import PlannedImages
from infogain.images.generate_images import GeneratedImage
from infogain.images.picture_grid import GridCell, labelled_grid
from infogain.images.png_recipe import as_text, magnified, save_png, scale_for
from infogain.images.traced_image import traced
from infogain.images.unmasking import Moment, frame, has_unknown, heat_legend, hottest, moments, save_gif, spread
from infogain.loop.trace import Trace
from infogain.options import Plain

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST, ALONE = 160, 320  # pixels of an image's shorter side: among others, and in an animation of its own
MOMENTS = 6  # of a strip


@dataclass(frozen=True)
class ImageDrawing:
    """Images that are done, by their numbers, out of those that were planned. Each method writes a file."""

    planned: PlannedImages
    done: Mapping[int, GeneratedImage]
    scale: int | None = None

    def out(self, path: Path) -> None:
        """The image itself, where one was asked for, or all in a grid."""
        if len(self.planned.asked) == 1:
            self.single(path, 0)
        else:
            cells = [self._cell(i) for i in range(len(self.planned.asked))]
            save_png(path, labelled_grid(*arranged(self.planned.asked, cells)), self._about)

    def single(self, path: Path, number: int) -> None:
        image = self.done[number]
        save_png(path, magnified(image.image, self.scale or 1), self.planned.about(image))

    def strip(self, path: Path) -> None:
        """A row for each image, from all masked to done."""
        lines = [
            [GridCell(self._frame(i, step), f"step {step} of {len(told) - 1}") for step in spread(len(told), MOMENTS)]
            for i, told in self._told.items()
        ]
        titles = [self.planned.asked[i].title for i in self._told]
        save_png(path, labelled_grid(lines, titles, self._legend()), self._about)

    def gif(self, path: Path) -> None:
        """All images side by side, step by step together."""
        asked, last = self.planned.asked, max(map(len, self._told.values())) - 1
        least, frames = ALONE if len(asked) == 1 else LEAST, []
        for step in range(last + 1):
            cells = [self._cell(i, step, least) for i in range(len(asked))]
            frames.append(labelled_grid(*arranged(asked, cells), self._legend(f"step {step} of {last}")))
        save_gif(path, frames, as_text(self._about))

    def html(self, path: Path) -> None:
        asked = self.planned.asked
        page = view.page([(asked[i].title or asked[i].prompt, trace) for i, trace in self._traces.items()])
        path.write_text(page, encoding="utf-8")

    def trace(self, path: Path) -> None:
        self._traces[0].save(path)

    @cached_property
    def _traces(self) -> dict[int, Trace]:
        return {i: traced(self.planned.model, image) for i, image in sorted(self.done.items())}

    @cached_property
    def _told(self) -> dict[int, list[Moment]]:
        return {i: moments(trace) for i, trace in self._traces.items()}

    @cached_property
    def _most(self) -> float:
        return hottest([*self._told.values()])

    def _legend(self, said: str = "") -> Image:
        return heat_legend(self._most, has_unknown([*self._told.values()]), said)

    @property
    def _about(self) -> Plain:
        """What a file that holds several images says of each."""
        return {"images": [{"number": i, **self.planned.about(image)} for i, image in sorted(self.done.items())]}

    def _cell(self, number: int, step: int | None = None, least: int = LEAST) -> GridCell:
        """An image as it is in a grid, at a step or finished; an empty cell where it was not decoded."""
        if number not in self.done:
            return GridCell(None)
        return GridCell(self._shown(number, least) if step is None else self._frame(number, step, least))

    def _frame(self, number: int, step: int, least: int = LEAST) -> Image:
        height, width = self.done[number].codes.shape
        told = self._told[number]
        return frame(self._shown(number, least), (height, width), told[min(step, len(told) - 1)], self._most)

    def _shown(self, number: int, least: int) -> Image:
        image = self.done[number].image
        return magnified(image, self.scale or scale_for(image.size, least))
