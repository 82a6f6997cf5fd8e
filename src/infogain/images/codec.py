"""The image codec of MAGVIT-v2: convolutions that make a grid of codes of an image, and an image of such a grid."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from infogain.errors import InputError, NumericsError
from infogain.images.codec_blocks import DownLevel, Middle, UpLevel, convolution, group_norm, pointwise
from infogain.images.codec_spec import CodecSpec
from infogain.images.grey_levels import check_codes
from infogain.images.quantiser import Quantiser

CEILING = 4.0  # GiB for the activations of a forward
MOST_IMAGES = 2**16  # at a time, however high the ceiling


class Encoder(nn.Module):
    """Images [B, C, H, W] become [B, bits, h, w], whose signs are the codes."""

    def __init__(self, spec: CodecSpec) -> None:
        super().__init__()
        widths, groups = spec.encoder_widths, spec.groups
        before, coarsest = (spec.channels, *widths), len(widths) - 1
        self.conv_in = convolution(spec.image_channels, spec.channels)
        self.down = nn.ModuleList(
            DownLevel(before[i], widths[i], blocks, groups, i == coarsest)
            for i, blocks in enumerate(spec.encoder_blocks)
        )
        self.mid = Middle(widths[-1], groups)
        self.norm_out = group_norm(groups, widths[-1])
        self.conv_out = convolution(widths[-1], spec.bits)
        self.quant_conv = pointwise(spec.bits, spec.bits)

    def forward(self, images: Tensor) -> Tensor:
        x = self.conv_in(images)
        for level in self.down:
            x = level(x)
        x = self.mid(x)
        out: Tensor = self.quant_conv(self.conv_out(functional.silu(self.norm_out(x))))
        return out


class Decoder(nn.Module):
    """Signs of codes [B, bits, h, w] become images [B, C, H, W]."""

    def __init__(self, spec: CodecSpec) -> None:
        super().__init__()
        widths, groups = spec.decoder_widths, spec.groups
        before = (*widths[1:], widths[-1])
        self.post_quant_conv = pointwise(spec.bits, spec.bits)
        self.conv_in = convolution(spec.bits, widths[-1])
        self.mid = Middle(widths[-1], groups)
        self.up = nn.ModuleList(
            UpLevel(before[i], widths[i], blocks, groups, finest=i == 0) for i, blocks in enumerate(spec.decoder_blocks)
        )
        self.norm_out = group_norm(groups, widths[0])
        self.conv_out = convolution(widths[0], spec.image_channels)

    def forward(self, signs: Tensor) -> Tensor:
        x = self.mid(self.conv_in(self.post_quant_conv(signs)))
        for level in reversed(self.up):
            x = level(x)
        out: Tensor = self.conv_out(functional.silu(self.norm_out(x)))
        return out


class Codec(nn.Module):
    """An encoder and a decoder of images, with the codes between them. Its tensors have MAGVIT-v2's public names.

    `encode` and `decode` keep no gradients; who trains a codec calls `encoder`, `quantize` and `decoder`.
    Norms and attention see the whole image, so that an image is never cut into tiles. As many images go through
    at a time as fit under `ceiling` GiB by `CodecSpec.bytes_per_pixel`; one that does not fit goes alone.
    """

    def __init__(self, spec: CodecSpec | None = None) -> None:
        super().__init__()
        self.spec = spec or CodecSpec()
        self.encoder = Encoder(self.spec)
        self.quantize = Quantiser(self.spec.bits)
        self.decoder = Decoder(self.spec)

    @property
    def stride(self) -> int:
        """Pixels that a code stands for, in each direction."""
        return self.spec.stride

    @property
    def channels(self) -> int:
        """Channels of an image: 1 is grey, 3 are red, green and blue."""
        return self.spec.image_channels

    @torch.no_grad()
    def encode(self, images: Tensor, ceiling: float = CEILING) -> Tensor:
        """The codes [B, h, w], row by row as in the image, of images [B, C, H, W] with values from −1 to 1."""
        self._check_images(images)
        count = self.images_at_a_time(images.shape[2], images.shape[3], ceiling)
        z = (self._run(self.encoder, some) for some in torch.split(images, count))
        return torch.cat([self.quantize.codes_of(each) for each in z])

    @torch.no_grad()
    def decode(self, codes: Tensor, ceiling: float = CEILING) -> Tensor:
        """The images [B, C, H, W] of codes [B, h, w]: about −1 to 1, not clamped (who writes pixels clamps)."""
        self._check_codes(codes)
        stride = self.spec.stride
        count = self.images_at_a_time(codes.shape[1] * stride, codes.shape[2] * stride, ceiling)
        grids = torch.split(codes.to(self.quantize.embedding.device, torch.int64), count)
        return torch.cat([self._run(self.decoder, self.quantize.signs_of(some)) for some in grids])

    def images_at_a_time(self, height: int, width: int, ceiling: float = CEILING) -> int:
        """How many images of a size go through encoder or decoder together under a ceiling in GiB; at least one."""
        if not ceiling > 0:
            raise InputError(f"ceiling must be above 0 GiB; got {ceiling}. Unset, it is {CEILING:g}.")
        each = height * width * self.spec.bytes_per_pixel(self.encoder.conv_in.weight.element_size())
        return int(max(1, min(ceiling * 2**30 / each, MOST_IMAGES)))

    def _run(self, network: nn.Module, x: Tensor) -> Tensor:
        """Run encoder or decoder on the device of the weights and in their precision."""
        out: Tensor = network(x.to(self.encoder.conv_in.weight))
        if not out.isfinite().all():
            raise NumericsError(
                f"the codec returned numbers that are not finite, in {out.dtype}. "
                "Check that what it was given is finite, and load it in float32."
            )
        return out

    def _check_images(self, images: Tensor) -> None:
        channels, stride = self.spec.image_channels, self.spec.stride
        if images.dim() != 4 or images.shape[1] != channels or not images.is_floating_point() or not len(images):
            raise InputError(
                f"images must be [B, {channels}, H, W] of floating-point numbers from −1 to 1, at least one; "
                f"got {list(images.shape)} of {images.dtype}. `infogain.images.pixels` reads files so."
            )
        height, width = images.shape[2:]
        if not height or not width or height % stride or width % stride:
            down, across = (max(stride, side // stride * stride) for side in (height, width))
            raise InputError(
                f"the height and width of images must be multiples of {stride}; got {height}×{width}. "
                f"Crop or resize them, for instance to {down}×{across}."
            )

    def _check_codes(self, codes: Tensor) -> None:
        whole = not (codes.is_floating_point() or codes.is_complex() or codes.dtype == torch.bool)
        if codes.dim() != 3 or not codes.numel() or not whole:
            raise InputError(
                f"codes must be [B, h, w] of whole numbers, at least one; got {list(codes.shape)} of {codes.dtype}. "
                "Reshape a sequence of codes to its grid, row by row."
            )
        check_codes(codes, self.spec.codes)
