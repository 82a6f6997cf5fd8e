"""The choice between a Triton kernel and the lines of torch that do the same work."""

from __future__ import annotations

import importlib.util
import os

import torch
from torch import Tensor

SWITCH = "INFOGAIN_KERNELS"  # 0 in the environment: torch does all the work, and nothing is compiled
DTYPES = (torch.bool, torch.int64, torch.float16, torch.bfloat16, torch.float32)  # the kernels know no float64


def fused_kinds() -> frozenset[tuple[str, torch.dtype]]:
    """The device types and dtypes of tensors that kernels work on here."""
    if os.environ.get(SWITCH) == "0" or importlib.util.find_spec("triton") is None:
        return frozenset()
    return frozenset(("cuda", kind) for kind in DTYPES)


FUSED = fused_kinds()


def usable(x: Tensor) -> bool:
    """Whether kernels can work on tensors like this one."""
    return (x.device.type, x.dtype) in FUSED


def forward_only(x: Tensor) -> bool:
    """Whether kernels of the layers, which have no backward, can work on tensors like this one."""
    return usable(x) and not torch.is_grad_enabled()
