"""The sizes of an image codec. The defaults are those of MAGVIT-v2 as showlab/magvitv2 publishes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

from infogain.errors import InputError

MOST_BITS = 20  # the table of all codes has 2^bits lines
HELD = 6  # activations of the widest level that a forward holds at its peak, as measured (docs/images.md)


@dataclass(frozen=True)
class CodecSpec:
    """The sizes of an encoder, a decoder and the codes between them. Level 0 has the image's own resolution.

    Each further level halves it. Encoder and decoder have equally many levels, and may differ in all else.
    """

    channels: int = 128  # of the activations, times a level's multiplier
    encoder_multipliers: tuple[int, ...] = (1, 2, 2, 4, 4)
    encoder_blocks: tuple[int, ...] = (4, 3, 4, 3, 4)  # residual blocks of each level
    decoder_multipliers: tuple[int, ...] = (1, 1, 2, 2, 4)
    decoder_blocks: tuple[int, ...] = (4, 4, 3, 4, 3)
    bits: int = 13  # of a code
    image_channels: int = 3  # 3: red, green, blue; 1: grey
    groups: int = 32  # of every group norm

    def __post_init__(self) -> None:
        self._check_numbers()
        lengths = [len(each) for each in astuple(self) if isinstance(each, tuple)]
        if len(set(lengths)) > 1:
            raise InputError(
                "the multipliers and blocks of a codec's encoder and decoder must name equally many levels; "
                f"got {', '.join(map(str, lengths))}. Give one number for each level, from the finest on."
            )
        if odd := [width for width in (self.channels, *self.widths) if width % self.groups]:
            raise InputError(
                f"the channels of a codec's every level must be divisible by its {self.groups} groups; "
                f"got {odd[0]}. Change channels, a multiplier or groups."
            )

    def _check_numbers(self) -> None:
        for field in fields(self):
            value, per_level = getattr(self, field.name), isinstance(field.default, tuple)
            numbers = value if isinstance(value, tuple) else (value,)
            fits = isinstance(value, tuple) == per_level and len(numbers) > 0
            if not fits or any(type(number) is not int or number < 1 for number in numbers):
                kind = "whole numbers from 1 on, one for each level" if per_level else "a whole number from 1 on"
                raise InputError(f"{field.name} of a codec must be {kind}; got {value!r}.")
        if self.bits > MOST_BITS or self.image_channels not in (1, 3):
            raise InputError(
                f"a codec must have at most {MOST_BITS} bits, and images of 1 channel (grey) or 3 (RGB); "
                f"got {self.bits} bits and {self.image_channels} channels."
            )

    @property
    def codes(self) -> int:
        """How many different codes there are."""
        return 1 << self.bits

    @property
    def stride(self) -> int:
        """How many pixels a code stands for, in each direction."""
        return 1 << (len(self.encoder_blocks) - 1)

    @property
    def encoder_widths(self) -> tuple[int, ...]:
        """Channels of each level of the encoder."""
        return self._widths(self.encoder_multipliers)

    @property
    def decoder_widths(self) -> tuple[int, ...]:
        """Channels of each level of the decoder."""
        return self._widths(self.decoder_multipliers)

    @property
    def widths(self) -> tuple[int, ...]:
        """Channels of all levels, the encoder's before the decoder's."""
        return self.encoder_widths + self.decoder_widths

    def _widths(self, multipliers: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.channels * multiplier for multiplier in multipliers)

    def bytes_per_pixel(self, bytes_per_number: int) -> int:
        """About how much memory a forward of encoder or decoder takes at its peak for each pixel of an image.

        `HELD` activations of the level that has most numbers: its channels, or those of the next level while they
        are brought to its resolution, over the pixels that one of its positions stands for. Weights come on top.
        """
        levels = [*enumerate(self.encoder_widths), *enumerate(self.decoder_widths)]
        levels += [(max(0, level - 1), width) for level, width in enumerate(self.decoder_widths)]
        most = max(width / (1 << 2 * level) for level, width in levels)
        return round(HELD * bytes_per_number * max(self.channels, most))
