"""The layers that encoder and decoder of an image codec are made of. Attributes are named as in the public files.

Activations are [B, C, H, W] everywhere.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

NORM_EPS = 1e-6


def convolution(before: int, after: int) -> nn.Conv2d:
    """A 3×3 convolution that keeps the resolution."""
    return nn.Conv2d(before, after, kernel_size=3, padding=1)


def pointwise(before: int, after: int) -> nn.Conv2d:
    """A 1×1 convolution: a linear layer at each position."""
    return nn.Conv2d(before, after, kernel_size=1)


def group_norm(groups: int, width: int) -> nn.GroupNorm:
    return nn.GroupNorm(groups, width, NORM_EPS)


class ResidualBlock(nn.Module):
    """x + conv(swish(norm(conv(swish(norm(x)))))), where x takes a 1×1 convolution if the channels change."""

    def __init__(self, before: int, after: int, groups: int) -> None:
        super().__init__()
        self.norm1 = group_norm(groups, before)
        self.conv1 = convolution(before, after)
        self.norm2 = group_norm(groups, after)
        self.conv2 = convolution(after, after)
        self.nin_shortcut = nn.Identity() if before == after else pointwise(before, after)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv1(functional.silu(self.norm1(x)))
        h = self.conv2(functional.silu(self.norm2(h)))
        out: Tensor = self.nin_shortcut(x) + h
        return out


class PositionAttention(nn.Module):
    """Attention with one head, in which every position of the image sees all others."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.norm = group_norm(groups, width)
        self.q = pointwise(width, width)
        self.k = pointwise(width, width)
        self.v = pointwise(width, width)
        self.proj_out = pointwise(width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        q, k, v = (_as_sequence(layer(h)) for layer in (self.q, self.k, self.v))
        mixed = functional.scaled_dot_product_attention(q, k, v)  # softmax(q·k / √C) v: [B, 1, HW, C]
        out: Tensor = x + self.proj_out(mixed.squeeze(1).transpose(1, 2).reshape(x.shape))
        return out


def _as_sequence(x: Tensor) -> Tensor:
    """[B, C, H, W] as [B, 1, HW, C]."""
    return x.flatten(2).transpose(1, 2).unsqueeze(1)


class Downsample(nn.Module):
    """Half the resolution: a 3×3 convolution at every second position, with zeros beyond the right and lower edge."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(functional.pad(x, (0, 1, 0, 1)))
        return out


class Upsample(nn.Module):
    """Twice the resolution: each position is repeated 2×2, then a 3×3 convolution."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = convolution(width, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        return out


class Middle(nn.Module):
    """What lies between the levels and the code: attention between two residual blocks."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.block_1 = ResidualBlock(width, width, groups)
        self.attn_1 = PositionAttention(width, groups)
        self.block_2 = ResidualBlock(width, width, groups)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.block_2(self.attn_1(self.block_1(x)))
        return out


class Level(nn.Module):
    """The residual blocks of one resolution; the first of them changes the channels."""

    def __init__(self, before: int, width: int, blocks: int, groups: int) -> None:
        super().__init__()
        widths = [before] + [width] * blocks
        self.block = nn.ModuleList(ResidualBlock(widths[i], widths[i + 1], groups) for i in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.block:
            x = block(x)
        return x


class DownLevel(Level):
    """A level of the encoder. All but the coarsest end at half their resolution."""

    def __init__(self, before: int, width: int, blocks: int, groups: int, coarsest: bool) -> None:
        super().__init__(before, width, blocks, groups)
        self.downsample = nn.Identity() if coarsest else Downsample(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.downsample(super().forward(x))
        return out


class UpLevel(Level):
    """A level of the decoder. All but the finest end at twice their resolution."""

    def __init__(self, before: int, width: int, blocks: int, groups: int, finest: bool) -> None:
        super().__init__(before, width, blocks, groups)
        self.upsample = nn.Identity() if finest else Upsample(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.upsample(super().forward(x))
        return out
