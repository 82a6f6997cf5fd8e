"""Where a Triton kernel runs, and where torch does the same work."""

from __future__ import annotations

import functools
import importlib.util
import os

import torch
from torch import Tensor

SWITCH = "INFOGAIN_KERNELS"  # 0 in the environment: torch does all the work, and nothing is compiled


@functools.cache
def _has_triton() -> bool:
    return os.environ.get(SWITCH) != "0" and importlib.util.find_spec("triton") is not None


def usable(x: Tensor) -> bool:
    """Whether the kernels can work on tensors like this one. They know no float64."""
    return x.is_cuda and x.dtype != torch.float64 and _has_triton()


def forward_only(x: Tensor) -> bool:
    """Whether kernels of the layers, which have no backward, can work on tensors like this one."""
    return usable(x) and not torch.is_grad_enabled()
