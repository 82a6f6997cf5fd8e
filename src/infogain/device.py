"""The device: which one is current, numbers from the host to it, and some that stay there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, wraps
from typing import ParamSpec, cast

import torch
from torch import Tensor

P = ParamSpec("P")


def current(device: torch.device) -> AbstractContextManager[None]:
    """Kernels start on the current GPU, which need not be the one that holds the tensors."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def upload(values: Sequence[int] | Sequence[Sequence[int]] | Tensor, device: torch.device) -> Tensor:
    """Whole numbers to the device, without waiting for it."""
    host = torch.as_tensor(values, dtype=torch.int64)
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)


def together(parts: Sequence[Tensor]) -> Tensor:
    """All parts as one, without a copy where there is one only."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def remembered(make: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """A tensor that is made once for each set of arguments, in no mode of torch. It must never be written to."""

    @lru_cache(maxsize=256)
    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return cast("Callable[P, Tensor]", made)


@remembered
def counting(n: int, device: torch.device) -> Tensor:
    """0, 1, … n − 1."""
    return torch.arange(n, device=device)


@remembered
def constant(value: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A number on the device: a bare one would be put there anew in every operation."""
    return torch.full((), value, dtype=dtype, device=device)
