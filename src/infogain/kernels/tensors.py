"""Tensors as the operations read them."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """Half precision loses the digits of sums, entropies and scores."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def rows_contiguous(x: Tensor) -> Tensor:
    """Each row's numbers side by side, as the kernels read them; a copy only where they are not."""
    return x if x.stride(-1) == 1 else x.contiguous()
