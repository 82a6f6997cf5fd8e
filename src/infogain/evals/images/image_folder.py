"""Image files in a folder, measured batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor

from infogain.errors import InputError
from infogain.evals.images.image_metrics import ImageMeter
from infogain.images.pixels import bytes_of, check_pillow, open_image

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".ppm", ".pgm", ".tif", ".tiff")
BATCH = 32
Done = Callable[[int], None]  # told of so many more images


def image_files(folder: Path) -> list[Path]:
    """All images of a folder and of those below it, in the order of their names."""
    check_pillow()
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if len(found) < 2:
        raise InputError(
            f"{folder} must hold at least 2 images ({', '.join(ENDINGS)}), for one has no covariance; it holds "
            f"{len(found)}."
        )
    return found


def measure_files(meter: ImageMeter, paths: Sequence[Path], batch: int = BATCH, done: Done | None = None) -> None:
    """Let a meter take in the images of files; `done` is told how many after each batch."""
    for first in range(0, len(paths), batch):
        part = paths[first : first + batch]
        meter.add([read_bytes(path) for path in part])
        if done:
            done(len(part))


def read_bytes(path: Path) -> Tensor:
    """An image file in colour, as [3, H, W] of uint8."""
    return bytes_of(open_image(path), 3)
