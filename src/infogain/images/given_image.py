"""An image that is given in part: which of its codes stay, and which are to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from infogain.errors import InputError
from infogain.images.grey_levels import Coder
from infogain.images.pixels import mode_of, open_image, to_tensor

if TYPE_CHECKING:
    from PIL.Image import Image

HALF = 128  # of 255: a mask is white from here on
Grid = list[list[int | None]]  # codes, None where one is to be written


@dataclass(frozen=True)
class GivenImage:
    """An image, and what of it is to be written anew. Files or images of Pillow.

    What stays, stays as codes: the codec sees the whole image, what lies under the mask included, so that pixels that
    are not masked change a little, and more next to what is new.

    image   what is given, in the model's own colours; its height and width are multiples of the codec's stride
    mask    as large as the image: white where it is to be written. A code is written where any of its pixels is white
    extend  pixels to add to the left, at the top, to the right and at the bottom, all of which are to be written
    """

    image: str | Path | Image
    mask: str | Path | Image | None = None
    extend: Sequence[int] = (0, 0, 0, 0)

    def codes(self, coder: Coder) -> Grid:
        """The grid of codes, None where one is to be written."""
        grid = self._given(coder)
        left, top, right, bottom = self._added(coder.stride)
        body: Grid = [[*[None] * left, *line, *[None] * right] for line in grid]
        whole = [*_unwritten(top, len(body[0])), *body, *_unwritten(bottom, len(body[0]))]
        if not any(code is None for line in whole for code in line):
            raise InputError(
                "something must be left to write: a mask with white pixels, or pixels to add; got neither. "
                "Give --mask or --extend."
            )
        return whole

    def _given(self, coder: Coder) -> Grid:
        image = _opened(self.image)
        if image.mode != mode_of(coder.channels):
            raise InputError(
                f"the image must be in Pillow's mode {mode_of(coder.channels)}, as the model's are; got {image.mode}. "
                f"Convert it: Image.open(…).convert({mode_of(coder.channels)!r})."
            )
        codes = coder.encode(to_tensor(image, coder.channels)[None])[0]
        written = self._written(image, coder.stride)
        lines = zip(codes.tolist(), written.tolist(), strict=True)
        return [[None if new else code for code, new in zip(*line, strict=True)] for line in lines]

    def _written(self, image: Image, stride: int) -> Tensor:
        """Which codes are to be written. [h, w]"""
        if self.mask is None:
            return torch.zeros(image.height // stride, image.width // stride, dtype=torch.bool)
        mask = _opened(self.mask)
        if mask.size != image.size:
            raise InputError(
                f"a mask must be as large as its image, {image.height}×{image.width}; got {mask.height}×{mask.width}."
            )
        if mask.mode not in ("1", "L"):
            raise InputError(f"a mask must be black and white, Pillow's mode 1 or L; got {mask.mode}. Convert it to L.")
        white = to_tensor(mask.convert("L"), 1)[0] >= HALF / 255 * 2 - 1
        return max_pool2d(white[None].float(), stride)[0] > 0

    def _added(self, stride: int) -> list[int]:
        """Codes to add on each side."""
        sides = list(self.extend)
        if len(sides) != 4 or any(type(side) is not int or side < 0 or side % stride for side in sides):
            raise InputError(
                f"extend must be four whole numbers of pixels (left, top, right, bottom), multiples of {stride}; "
                f"got {sides!r:.80}."
            )
        return [side // stride for side in sides]


def check_files(given: GivenImage) -> None:
    """Refuse, without a model, what none could take: files that are no images, or of different sizes."""
    image = _opened(given.image)
    given._written(image, 1)
    given._added(1)


def _unwritten(height: int, width: int) -> Grid:
    return [[None] * width for _ in range(height)]


def _opened(image: str | Path | Image) -> Image:
    return open_image(image) if isinstance(image, str | Path) else image


def grid_of(size: int | Sequence[int], stride: int) -> tuple[int, int]:
    """How many codes an image of a size has, downwards and across: one number for a square, or height and width."""
    sides = list(size) if isinstance(size, Sequence) else [size, size]
    if len(sides) != 2 or any(type(side) is not int or side < 1 or side % stride for side in sides):
        raise InputError(
            f"the size of an image must be one whole number, or height and width, in multiples of {stride} pixels; "
            f"got {size!r:.80}."
        )
    return sides[0] // stride, sides[1] // stride
