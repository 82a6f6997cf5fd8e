"""PNG files that say how they were made: a text chunk of the file holds it as JSON, which every copy keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infogain.errors import InputError
from infogain.images.pixels import check_pillow, open_image
from infogain.options import Plain
from infogain.version import __version__

if TYPE_CHECKING:
    from PIL.Image import Image

KEY = "infogain"  # of the text chunk


def save_png(path: str | Path, image: Image, about: Plain) -> None:
    """Write an image as a PNG file that holds what it is about, and the version of this package."""
    check_pillow()
    from PIL import PngImagePlugin

    words = PngImagePlugin.PngInfo()
    words.add_itxt(KEY, as_text(about))
    image.save(path, format="PNG", pnginfo=words)


def as_text(about: Plain) -> str:
    """What files hold of images, as JSON."""
    return json.dumps({"version": __version__, **about}, ensure_ascii=False)


def read_png(path: str | Path) -> Plain:
    """What a PNG file of `save_png` holds: of an image its prompt, seed, recipe, provenance, codes and costs.

    An animation holds it too, as the comment of a GIF file.
    """
    image = open_image(path)
    try:
        about = json.loads(image.info[KEY] if KEY in image.info else image.info["comment"])
        if not isinstance(about, dict):
            raise TypeError
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(
            f"the file must be a PNG or GIF that says how it was made, as infogain image writes it; {path} does not. "
            "Programs that edit images may drop what a file says: use the file as it was written."
        ) from error
    return about


def magnified(image: Image, scale: int) -> Image:
    """An image whose every pixel has become a square of scale × scale pixels."""
    check_pillow()
    from PIL.Image import Resampling

    _check_scale(scale)
    return image if scale == 1 else image.resize((image.width * scale, image.height * scale), Resampling.NEAREST)


def _check_scale(scale: Any) -> None:
    if type(scale) is not int or scale < 1:
        raise InputError(f"scale must be a whole number of at least 1; got {scale!r}.")


def scale_for(size: Sequence[int], least: int) -> int:
    """The smallest scale that gives both sides of an image so many pixels at least."""
    return max(1, -(-least // min(size)))
