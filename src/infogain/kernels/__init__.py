"""Hand-written GPU kernels, each the equal of lines of torch that run elsewhere. Triton is imported on first use."""

from __future__ import annotations

import functools
import importlib.util
import os

import torch
from torch import Tensor

WIDEST = 2048  # columns of a window that the attention kernel takes


SWITCH = "INFOGAIN_KERNELS"  # 0 in the environment: torch does all the work, and nothing is compiled


@functools.cache
def _has_triton() -> bool:
    return os.environ.get(SWITCH) != "0" and importlib.util.find_spec("triton") is not None


def lined_up(x: Tensor) -> Tensor:
    """With each row's numbers side by side, as the kernels read them; a copy only where they are not."""
    return x if x.stride(-1) == 1 else x.contiguous()


def usable(x: Tensor) -> bool:
    """Whether the kernels can work on tensors like this one. They know no float64."""
    return x.is_cuda and x.dtype != torch.float64 and _has_triton()


def forward_only(x: Tensor) -> bool:
    """The same for kernels of the layers, which have no backward."""
    return usable(x) and not torch.is_grad_enabled()


def can_attend(keys: Tensor, columns: int) -> bool:
    """Whether the attention kernel takes windows of so many columns, over keys [..., D] like these."""
    dim = keys.shape[-1]
    return forward_only(keys) and columns <= WIDEST and dim >= 16 and dim & (dim - 1) == 0
