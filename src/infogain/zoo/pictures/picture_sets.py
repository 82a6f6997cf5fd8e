"""Small public sets of pictures: Fashion-MNIST from its own files, and the digits that scikit-learn brings."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.errors import InputError

FASHION_FOLDER = Path("/usr/share/datasets/fashion-mnist")  # of Debian's package dataset-fashion-mnist
FASHION = (
    *("T-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BORDER = 2  # black pixels around 28×28, so that 32×32 can be halved
GREYS = 17  # levels of scikit-learn's digits
EVERY = 6  # of its digits, one is kept for the test


class Pictures(NamedTuple):
    """Pictures with their classes."""

    pixels: Tensor  # [N, 1, H, W], from −1 to 1
    labels: Tensor  # [N]

    def to(self, device: torch.device) -> Pictures:
        return Pictures(self.pixels.to(device), self.labels.to(device))

    def part(self, rows: slice) -> Pictures:
        return Pictures(self.pixels[rows], self.labels[rows])


@dataclass(frozen=True)
class PictureSet:
    """Pictures to learn from, and others to compare with."""

    classes: tuple[str, ...]
    train: Pictures
    test: Pictures
    about: str


def fashion(folder: Path | None = None) -> PictureSet:
    """60,000 pictures of clothes to learn from and 10,000 for the test, each 32×32 with its black border."""
    where = folder or FASHION_FOLDER
    train, test = (
        Pictures(
            pad(read_idx(where / f"{name}-images-idx3-ubyte.gz")[:, None] / 127.5 - 1, [BORDER] * 4, value=-1.0),
            read_idx(where / f"{name}-labels-idx1-ubyte.gz").long(),
        )
        for name in ("train", "t10k")
    )
    return PictureSet(FASHION, train, test, "Fashion-MNIST (MIT), 28×28 grey pictures of clothes in a black border")


def read_idx(path: Path) -> Tensor:
    """A file of bytes in the format of MNIST, packed with gzip: 4 bytes tell how many sizes follow, then the data."""
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise InputError(
            f"{path} must be one of Fashion-MNIST's four files; it cannot be read: {error}. Name their folder with "
            "--data, or install Debian's package dataset-fashion-mnist."
        ) from error
    sizes = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    values = torch.frombuffer(bytearray(data[4 + 4 * len(sizes) :]), dtype=torch.uint8)
    return values.view(sizes)


def digits(folder: Path | None = None) -> PictureSet:
    """1,797 written digits of 8×8 pixels in 17 grey levels, of which one in six is for the test."""
    if folder is not None:
        raise InputError(f"the digits come with scikit-learn; --data must be unset, got {folder}.")
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise InputError("the digits come with scikit-learn: pip install scikit-learn.") from error
    found = load_digits()
    pixels = torch.from_numpy(found.images).float()[:, None] / ((GREYS - 1) / 2) - 1
    labels = torch.from_numpy(found.target).long()
    kept = torch.arange(len(labels)) % EVERY == 0
    train, test = (Pictures(pixels[rows], labels[rows]) for rows in (~kept, kept))
    return PictureSet(DIGITS, train, test, "scikit-learn's digits (BSD), 8×8 pixels in 17 grey levels")


PICTURE_SETS: dict[str, Callable[[Path | None], PictureSet]] = {"fashion": fashion, "digits": digits}
