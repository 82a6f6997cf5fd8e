"""The Inception-v3 that FID is defined by, in plain torch: TensorFlow's graph of 2015-12-05, under its public names.

It differs from torchvision's in its pools: averages leave out the padding, and the last block takes a maximum. A block
is a table of branches; a branch is a chain of steps, each a pool, one convolution, or two side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from infogain.errors import InputError

SIDE = 299  # pixels that the network sees, in height and width
CLASSES, FEATURES = 1008, 2048
SPATIAL_CHANNELS, SPATIAL_SIDE = 7, 17
SPATIAL_FEATURES = SPATIAL_CHANNELS * SPATIAL_SIDE**2  # 2,023

Pool = Callable[[Tensor], Tensor]


class ConvolutionSpec(NamedTuple):
    """A convolution by its name. With stride 1 it keeps height and width; others take no padding."""

    name: str
    channels: int
    kernel: tuple[int, int]
    stride: int = 1


Step = Pool | tuple[ConvolutionSpec, ...]
Block = list[list[Step]]


def same(name: str, channels: int, height: int = 1, width: int | None = None) -> tuple[ConvolutionSpec]:
    """A convolution that keeps height and width, as a step; square unless a width is given."""
    return (ConvolutionSpec(name, channels, (height, width or height)),)


def halved(name: str, channels: int) -> tuple[ConvolutionSpec]:
    """A 3×3 convolution that halves height and width, as a step."""
    return (ConvolutionSpec(name, channels, (3, 3), stride=2),)


def fork(name: str) -> tuple[ConvolutionSpec, ConvolutionSpec]:
    """1×3 and 3×1 convolutions of one input side by side, as a step."""
    return ConvolutionSpec(f"{name}a", 384, (1, 3)), ConvolutionSpec(f"{name}b", 384, (3, 1))


AVERAGE: Pool = partial(functional.avg_pool2d, kernel_size=3, stride=1, padding=1, count_include_pad=False)
MAXIMUM: Pool = partial(functional.max_pool2d, kernel_size=3, stride=1, padding=1)
HALVE: Pool = partial(functional.max_pool2d, kernel_size=3, stride=2)


def at_35(pooled: int) -> Block:
    """A block at 35×35 positions: 1×1, 5×5, two 3×3, and the average of neighbours."""
    return [
        [same("branch1x1", 64)],
        [same("branch5x5_1", 48), same("branch5x5_2", 64, 5)],
        [same("branch3x3dbl_1", 64), same("branch3x3dbl_2", 96, 3), same("branch3x3dbl_3", 96, 3)],
        [AVERAGE, same("branch_pool", pooled)],
    ]


def at_17(inner: int) -> Block:
    """A block at 17×17 positions: 1×1, 7×7 cut into 1×7 and 7×1, two of these, and the average of neighbours."""
    return [
        [same("branch1x1", 192)],
        [same("branch7x7_1", inner), same("branch7x7_2", inner, 1, 7), same("branch7x7_3", 192, 7, 1)],
        [
            same("branch7x7dbl_1", inner),
            same("branch7x7dbl_2", inner, 7, 1),
            same("branch7x7dbl_3", inner, 1, 7),
            same("branch7x7dbl_4", inner, 7, 1),
            same("branch7x7dbl_5", 192, 1, 7),
        ],
        [AVERAGE, same("branch_pool", 192)],
    ]


def at_8(pool: Pool) -> Block:
    """A block at 8×8 positions, whose 3×3 convolutions end in 1×3 and 3×1 side by side."""
    return [
        [same("branch1x1", 320)],
        [same("branch3x3_1", 384), fork("branch3x3_2")],
        [same("branch3x3dbl_1", 448), same("branch3x3dbl_2", 384, 3), fork("branch3x3dbl_3")],
        [pool, same("branch_pool", 192)],
    ]


TO_17: Block = [
    [halved("branch3x3", 384)],
    [same("branch3x3dbl_1", 64), same("branch3x3dbl_2", 96, 3), halved("branch3x3dbl_3", 96)],
    [HALVE],
]
TO_8: Block = [
    [same("branch3x3_1", 192), halved("branch3x3_2", 320)],
    [
        same("branch7x7x3_1", 192),
        same("branch7x7x3_2", 192, 1, 7),
        same("branch7x7x3_3", 192, 7, 1),
        halved("branch7x7x3_4", 192),
    ],
    [HALVE],
]
BLOCKS: dict[str, tuple[int, Block]] = {  # channels that come in, and the branches
    "Mixed_5b": (192, at_35(32)),
    "Mixed_5c": (256, at_35(64)),
    "Mixed_5d": (288, at_35(64)),
    "Mixed_6a": (288, TO_17),
    "Mixed_6b": (768, at_17(128)),
    "Mixed_6c": (768, at_17(160)),
    "Mixed_6d": (768, at_17(160)),
    "Mixed_6e": (768, at_17(192)),
    "Mixed_7a": (768, TO_8),
    "Mixed_7b": (1280, at_8(AVERAGE)),
    "Mixed_7c": (2048, at_8(MAXIMUM)),
}
SPATIAL = "Mixed_6d"  # its first channels are those of branch1x1, after their ReLU


class TrainedNorm(nn.Module):
    """Batch norm with the statistics that come with the weights: features do not depend on an image's neighbours."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        return functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=0.001)


class NormedConvolution(nn.Module):
    """A convolution without bias, its norm, and a ReLU."""

    def __init__(self, channels: int, out: int, kernel: tuple[int, int], stride: int = 1, padded: bool = True) -> None:
        super().__init__()
        padding = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
        self.conv = nn.Conv2d(channels, out, kernel, stride, padding, bias=False)
        self.bn = TrainedNorm(out)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv(x)))


class Mixed(nn.Module):
    """Branches over one input, their channels side by side."""

    def __init__(self, channels: int, branches: Block) -> None:
        super().__init__()
        self.branches = branches
        for branch in branches:
            width = channels
            for step in branch:
                if isinstance(step, tuple):
                    for name, out, kernel, stride in step:
                        self.add_module(name, NormedConvolution(width, out, kernel, stride, padded=stride == 1))
                    width = sum(layer.channels for layer in step)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.run(branch, x) for branch in self.branches], 1)

    def run(self, branch: list[Step], x: Tensor) -> Tensor:
        for step in branch:
            if isinstance(step, tuple):
                x = torch.cat([self.get_submodule(layer.name)(x) for layer in step], 1)
            else:
                x = step(x)
        return x


@dataclass(frozen=True)
class InceptionFeatures:
    """What metrics are made of, a row for each image."""

    pool: Tensor  # [B, 2048]: FID
    spatial: Tensor  # [B, 2023]: sFID; position by position, as OpenAI's evaluator has it
    logits: Tensor  # [B, 1008] without the bias, as public Inception Scores have them


class InceptionV3(nn.Module):
    """The network from pixels of 0 to 255 to features. Use `load_inception` for one with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = NormedConvolution(3, 32, (3, 3), stride=2, padded=False)
        self.Conv2d_2a_3x3 = NormedConvolution(32, 32, (3, 3), padded=False)
        self.Conv2d_2b_3x3 = NormedConvolution(32, 64, (3, 3))
        self.Conv2d_3b_1x1 = NormedConvolution(64, 80, (1, 1))
        self.Conv2d_4a_3x3 = NormedConvolution(80, 192, (3, 3), padded=False)
        for name, (channels, branches) in BLOCKS.items():
            self.add_module(name, Mixed(channels, branches))
        self.fc = nn.Linear(FEATURES, CLASSES)

    @torch.no_grad()
    def forward(self, images: Tensor) -> InceptionFeatures:
        """Features of images [B, 3, H, W] of whole numbers from 0 to 255 (uint8)."""
        if images.dtype != torch.uint8 or images.dim() != 4 or images.shape[1] != 3 or not images.numel():
            raise InputError(
                f"images must be [B, 3, H, W] of uint8, 0 to 255; got {list(images.shape)} of {images.dtype}. "
                "Use `pixels.to_bytes` for values from −1 to 1."
            )
        return self.features(resize(images.to(self.fc.weight)))

    @torch.no_grad()
    def features(self, x: Tensor) -> InceptionFeatures:
        """Features of pixels [B, 3, 299, 299] from 0 to 255, as `resize` leaves them."""
        x = x / 128 - 1
        x = HALVE(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))  # [B, 64, 73, 73]
        x = HALVE(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))  # [B, 192, 35, 35]
        spatial = x
        for name in BLOCKS:
            x = self.get_submodule(name)(x)
            if name == SPATIAL:
                spatial = x[:, :SPATIAL_CHANNELS].permute(0, 2, 3, 1).flatten(1)
        pool = x.mean((2, 3))
        return InceptionFeatures(pool, spatial, pool @ self.fc.weight.T)


class OneFeature(nn.Module):
    """Inception with one of its outputs, `pool`, `spatial` or `logits`: what torchmetrics takes as `feature`."""

    def __init__(self, inception: InceptionV3, output: str) -> None:
        super().__init__()
        self.inception, self.output = inception, output
        self.num_features = {"pool": FEATURES, "spatial": SPATIAL_FEATURES, "logits": CLASSES}[output]

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = getattr(self.inception(images), self.output)
        return found


def resize(images: Tensor, side: int = SIDE) -> Tensor:
    """Scale [B, C, H, W] to a square as TensorFlow 1 does: bilinear, with position 0 at the first pixel's centre.

    It does not smooth first where an image becomes smaller, and so differs from Pillow's and torch's own.
    """
    for dim in (3, 2):
        images = _resize_along(images, dim, side)
    return images


def _resize_along(images: Tensor, dim: int, side: int) -> Tensor:
    size = images.shape[dim]
    where = torch.arange(side, dtype=torch.float32, device=images.device) * (size / side)
    low = where.long()
    high = (low + 1).clamp(max=size - 1)
    share = (where - low).to(images).view(-1, *[1] * (3 - dim))
    below, above = images.index_select(dim, low), images.index_select(dim, high)
    return below + (above - below) * share
