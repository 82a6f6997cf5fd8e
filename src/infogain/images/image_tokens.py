"""How an image is written as a row of tokens: its class, then its codes, row by row. A model's `image.json` says so."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from infogain.algorithm.vocabulary import Vocabulary
from infogain.load import IMAGE_FILE
from infogain.models.families.family import Config


@dataclass(frozen=True)
class ImageTokens:
    """Codes come first among the token ids, then the classes, "no class", and the mask."""

    classes: tuple[str, ...]
    codes: int
    height: int  # of the grid of codes
    width: int
    channels: int  # of the image: 1 grey, 3 in colour

    @classmethod
    def read(cls, folder: Path) -> ImageTokens:
        config = Config(folder, IMAGE_FILE)
        names = ("codes", "height", "width", "channels")
        return cls(tuple(config["classes"]), *(config[name] for name in names))

    def save(self, folder: Path) -> None:
        (folder / IMAGE_FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @property
    def no_class(self) -> int:
        return self.codes + len(self.classes)

    @property
    def mask_id(self) -> int:
        return self.no_class + 1

    @property
    def vocabulary(self) -> Vocabulary:
        """All ids, of which a model predicts the codes."""
        return Vocabulary(self.mask_id + 1, self.mask_id, 0, self.codes)

    @property
    def columns(self) -> int:
        """Columns of a row."""
        return 1 + self.height * self.width

    def rows(self, codes: Tensor, labels: Tensor) -> Tensor:
        """Images as rows of tokens. [N, h, w], [N] -> [N, 1 + h·w]"""
        return torch.cat([self.codes + labels[:, None], codes.flatten(1)], 1)

    def grids(self, rows: Tensor) -> Tensor:
        """The codes of rows. [N, 1 + h·w] -> [N, h, w]"""
        return rows[:, 1:].view(-1, self.height, self.width)
