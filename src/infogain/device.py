"""Helpers for tensors on a device: which device is current, uploads to it, and small tensors that are made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, wraps
from typing import ParamSpec, cast

import torch
from torch import Tensor

P = ParamSpec("P")


def current(device: torch.device) -> AbstractContextManager[None]:
    """A context manager that makes a GPU the current one, on which kernels start; does nothing for other devices."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def upload(values: Sequence[int] | Sequence[Sequence[int]] | Tensor, device: torch.device) -> Tensor:
    """Copy whole numbers, or a tensor of fractions, from the host to the device, without waiting for it."""
    host = torch.as_tensor(values)
    host = host if host.is_floating_point() and host.numel() else host.to(torch.int64)
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)


def together(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors; a single one is returned without a copy."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def remembered(make: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Cache a function that makes a tensor, by its arguments. The tensors must never be written to.

    They are made outside of inference mode, so that code in any mode of torch can use them.
    """

    @lru_cache(maxsize=256)
    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return cast("Callable[P, Tensor]", made)


@remembered
def counting(n: int, device: torch.device) -> Tensor:
    """The numbers 0, 1, … n − 1."""
    return torch.arange(n, device=device)


@remembered
def constant(value: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A number on the device, where a bare Python number would be copied there by every operation."""
    return torch.full((), value, dtype=dtype, device=device)
