"""Images in files and in tensors: what an image codec is given, and what is made of what it returns.

A tensor has values from −1 to 1 and shape [C, H, W] (one image) or [B, C, H, W]. Pillow, an extra, is imported when it
is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from infogain.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = {1: "L", 3: "RGB"}  # Pillow's name of the colours, by channels
NEEDS_PILLOW = "reading and writing images needs Pillow: pip install 'infogain[images]'."


def check_pillow() -> None:
    """Say what to install where Pillow is absent."""
    try:
        import PIL  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(NEEDS_PILLOW) from error


def read_images(paths: Sequence[str | Path], channels: int, height: int, width: int) -> Tensor:
    """Files as a batch [B, C, height, width], each scaled and cut by `cover`."""
    if not paths:
        raise InputError("paths must name at least one image; got none.")
    return torch.stack([to_tensor(cover(open_image(path), height, width), channels) for path in paths])


def open_image(path: str | Path) -> Image:
    """An image file, turned the way its camera was held."""
    check_pillow()
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as file:
            return ImageOps.exif_transpose(file)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(
            f"{path} must be an image that Pillow reads, such as PNG or JPEG; it cannot be read: {error}. "
            "Check that it is there and complete."
        ) from error


def cover(image: Image, height: int, width: int) -> Image:
    """Scale an image (bicubic) until it just covers a size, and cut out the middle."""
    from PIL import Image

    if height < 1 or width < 1:
        raise InputError(f"the height and width of an image must be at least 1; got {height}×{width}.")
    if height * image.width >= width * image.height:  # the height fits, and the width is cut
        scaled = (height * image.width // image.height, height)
    else:
        scaled = (width, width * image.height // image.width)
    left, top = round((scaled[0] - width) / 2), round((scaled[1] - height) / 2)
    resized = eight_bits(image).resize(scaled, Image.Resampling.BICUBIC)
    return resized.crop((left, top, left + width, top + height))


def eight_bits(image: Image) -> Image:
    """An image in grey or RGB, without palette and transparency. Deeper ones would be cut off at 255: refused."""
    if image.mode in ("L", "RGB"):
        return image
    if image.mode[0] in "IF":
        raise InputError(
            f"an image must have 8 bits per channel; got Pillow's mode {image.mode}. Save it as an 8-bit PNG."
        )
    if image.mode in ("1", "LA"):
        return image.convert("L")
    return (image.convert("RGBA") if "transparency" in image.info else image).convert("RGB")


def to_tensor(image: Image, channels: int) -> Tensor:
    """An image as [C, H, W], in colour (3 channels) or grey (1): 0 becomes −1 and 255 becomes 1."""
    return (bytes_of(image, channels) / 255 - 0.5) / 0.5


def bytes_of(image: Image, channels: int) -> Tensor:
    """An image as [C, H, W] of whole numbers from 0 to 255 (uint8), in colour (3 channels) or grey (1)."""
    image = eight_bits(image).convert(mode_of(channels))
    values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return values.view(image.height, image.width, channels).permute(2, 0, 1)


def to_bytes(pixels: Tensor) -> Tensor:
    """What a file would hold (uint8): clamp((y + 1) / 2, 0, 1) · 255, its fraction cut off as public programs do."""
    return (((pixels.detach().float() + 1) / 2).clamp(0, 1) * 255).to(torch.uint8)


def to_image(pixels: Tensor) -> Image:
    """An image of [C, H, W], its values turned into bytes by `to_bytes`."""
    check_pillow()
    from PIL import Image

    if pixels.dim() != 3 or not pixels.is_floating_point() or not pixels.numel():
        raise InputError(
            f"an image must be [C, H, W] of floating-point numbers; got {list(pixels.shape)} of {pixels.dtype}. "
            "Take one image of a batch at a time."
        )
    channels, height, width = pixels.shape
    flat = to_bytes(pixels).permute(1, 2, 0).contiguous().cpu().numpy().tobytes()
    return Image.frombytes(mode_of(channels), (width, height), flat)


def write_png(path: str | Path, pixels: Tensor) -> None:
    """Write [C, H, W] as a PNG file."""
    to_image(pixels).save(path, format="PNG")


def mode_of(channels: int) -> str:
    """Pillow's name of the colours of so many channels."""
    if channels not in MODES:
        raise InputError(f"an image must have 1 channel (grey) or 3 (RGB); got {channels}.")
    return MODES[channels]
