"""What makes codes of images and images of codes: the codec, or grey levels where pixels are few and need none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from infogain.errors import InputError


class Coder(Protocol):
    """What makes codes [B, h, w] of images [B, C, H, W], and images of codes; `Codec` is one."""

    @property
    def stride(self) -> int:
        """Pixels that a code stands for, in each direction."""

    @property
    def channels(self) -> int:
        """Channels of an image: 1 is grey, 3 are red, green and blue."""

    def encode(self, images: Tensor) -> Tensor: ...

    def decode(self, codes: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class GreyLevels:
    """A code is a pixel's grey level: 0 is black (−1), the last is white (1)."""

    levels: int

    stride = 1
    channels = 1

    def encode(self, images: Tensor) -> Tensor:
        return ((images[:, 0].clamp(-1, 1) + 1) / 2 * (self.levels - 1)).round().long()

    def decode(self, codes: Tensor) -> Tensor:
        check_codes(codes, self.levels)
        return codes[:, None] / ((self.levels - 1) / 2) - 1


def check_codes(codes: Tensor, count: int) -> None:
    """Refuse a grid that holds something other than codes from 0 to before `count`."""
    low, high = (int(bound) for bound in codes.aminmax())
    if low < 0 or high >= count:
        raise InputError(
            f"codes must be from 0 to {count - 1}; got {low if low < 0 else high}. "
            "Subtract what the model adds to codes to make token ids of them."
        )
