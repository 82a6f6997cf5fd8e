"""Hand-written GPU kernels, each the equal of lines of torch that run elsewhere. Triton is imported on first use."""

from __future__ import annotations

import functools
import importlib.util

import torch
from torch import Tensor

WIDEST = 64  # columns of a window that the attention kernel takes


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def usable(x: Tensor) -> bool:
    """Whether the kernels can work on tensors like this one. They know no float64."""
    return x.is_cuda and x.dtype != torch.float64 and _has_triton()
