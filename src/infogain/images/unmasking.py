"""How an image came about: its patches where codes are written, and heat where they are masked, moment by moment.

Heat is the entropy of what the model believes of a code, in nats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infogain.errors import InputError
from infogain.images.picture_grid import INK, LETTER, LINE, PAPER
from infogain.images.pixels import check_pillow
from infogain.loop.trace import Trace, tell

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]
# From certain to uncertain: the trace viewer's colours (cividis), whose brightness falls all the way.
HEAT: tuple[Colour, ...] = ((254, 232, 56), (188, 174, 108), (125, 124, 120), (67, 78, 108), (0, 34, 78))
UNKNOWN: Colour = (70, 74, 84)  # masked, and in a block that is not open yet
GROOVE: Colour = (150, 150, 150)  # between patches that are masked
WIDE_ENOUGH = 8  # pixels of a patch from which on a groove is drawn
BAR = 90  # pixels of the bar of colours
SECONDS, FASTEST, SLOWEST, LAST = 6.0, 0.06, 0.5, 2.0  # of a whole animation, of a frame, of the last one


@dataclass(frozen=True)
class Moment:
    """Before a step, or at the end: the entropy of every masked code by its number, None where it is not known."""

    heat: dict[int, float | None]


def moments(trace: Trace) -> list[Moment]:
    """All moments of the one image that a trace of `traced` is of: before each step, and when it was done."""
    if trace.image is None or len(trace.canvas) != 1:
        raise InputError("the trace must be of one image, and know where it is: infogain.images.traced_image.traced.")
    story, start = tell(trace, "the image"), trace.image.starts[0]
    cells = range(start, start + trace.image.height * trace.image.width)
    tokens, found = list(trace.canvas[0]), list[Moment]()
    for row, candidate in story.best(0).moves:
        known = dict(zip(row.columns, row.entropy, strict=True))
        found.append(_moment(tokens, trace.mask_id, cells, known))
        for column, token in zip(candidate.columns, candidate.tokens, strict=True):
            tokens[column] = token
    return [*found, _moment(tokens, trace.mask_id, cells, {})]


def _moment(tokens: Sequence[int], mask_id: int, cells: range, known: dict[int, float]) -> Moment:
    return Moment({i: known.get(column) for i, column in enumerate(cells) if tokens[column] == mask_id})


def hottest(every: Sequence[Sequence[Moment]]) -> float:
    """The highest entropy of all moments of several images, which the darkest colour stands for."""
    known = [heat for one in every for moment in one for heat in moment.heat.values() if heat is not None]
    return max([*known, 1e-9])


def colour(heat: float | None, most: float) -> Colour:
    """The colour of an entropy between 0 and `most`."""
    if heat is None:
        return UNKNOWN
    at = min(max(heat / most, 0.0), 1.0) * (len(HEAT) - 1)
    low = min(int(at), len(HEAT) - 2)
    red, green, blue = (round(a + (b - a) * (at - low)) for a, b in zip(HEAT[low], HEAT[low + 1], strict=True))
    return red, green, blue


def frame(finished: Image, shape: tuple[int, int], moment: Moment, most: float) -> Image:
    """An image at a moment: patches of the finished one, and heat over those whose code is masked."""
    check_pillow()
    from PIL import ImageDraw

    picture = finished.convert("RGB")
    height, width = picture.height // shape[0], picture.width // shape[1]
    outline = GROOVE if min(height, width) >= WIDE_ENOUGH else None
    pen = ImageDraw.Draw(picture)
    for number, heat in moment.heat.items():
        top, left = number // shape[1] * height, number % shape[1] * width
        box = (left, top, left + width - 1, top + height - 1)
        pen.rectangle(box, colour(heat, most), outline or colour(heat, most))
    return picture


def heat_legend(most: float, blocks: bool = False, said: str = "") -> Image:
    """A bar of all colours with what its ends stand for, below a line that says something else, where it does.

    `blocks`: codes may be masked that the model is not asked about yet; their grey is explained.
    """
    check_pillow()
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(LETTER)
    before, after = "entropy where masked: 0 ", f" {most:.1f} nats" + ("; grey: not open yet" if blocks else "")
    left, top = math.ceil(font.getlength(before)), LINE if said else 0
    width = left + BAR + math.ceil(font.getlength(after))
    legend = Image.new("RGB", (width, top + LINE), PAPER)
    pen = ImageDraw.Draw(legend)
    pen.text((0, 0), said, INK, font=font)
    pen.text((0, top), before, INK, font=font)
    for x in range(BAR):
        pen.line((left + x, top + 3, left + x, top + LINE - 4), colour(x / (BAR - 1), 1.0))
    pen.text((left + BAR, top), after, INK, font=font)
    return legend


def has_unknown(every: Sequence[Sequence[Moment]]) -> bool:
    """Whether any code was masked at a moment when the model was not asked about it."""
    return any(heat is None for one in every for moment in one for heat in moment.heat.values())


def spread(count: int, wanted: int) -> list[int]:
    """So many numbers of moments, the first and the last among them, evenly spread; all where there are no more."""
    if count <= wanted:
        return list(range(count))
    return [round(i * (count - 1) / (wanted - 1)) for i in range(wanted)]


def save_gif(path: Path, frames: Sequence[Image], about: str) -> None:
    """Write frames as an animation that begins again when it ends, with what it is `about` as the file's comment."""
    check_pillow()
    from PIL.Image import Quantize

    each = min(max(SECONDS / len(frames), FASTEST), SLOWEST)
    durations = [round(1000 * each)] * (len(frames) - 1) + [round(1000 * LAST)]
    # rare colours are kept: those of heat are few among the pixels of an image
    first, *rest = (one.quantize(256, Quantize.MAXCOVERAGE) for one in frames)
    first.save(
        path, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0, comment=about.encode()
    )
