"""Memory of a GPU. A CPU has no such counter: there nothing is said, and nothing guessed."""

from __future__ import annotations

import gc

import torch

from infogain.options import Plain

PEAKS = ("peak_bytes", "peak_reserved_bytes", "held_bytes")


def clear(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def reset(device: torch.device) -> None:
    """Give back what is not in use, and begin to count."""
    clear(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def read(device: torch.device) -> Plain:
    """`held_bytes` were there before and after: weights, and what the engine keeps."""
    if device.type != "cuda":
        return dict.fromkeys(PEAKS)
    peak, reserved = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return dict(zip(PEAKS, (peak, reserved, torch.cuda.memory_allocated(device)), strict=True))


def calls(device: torch.device) -> int:
    """How often the allocator has asked the device for memory (cudaMalloc), which stops it."""
    return int(torch.cuda.memory_stats(device).get("num_device_alloc", 0)) if device.type == "cuda" else 0


def is_lack(error: RuntimeError) -> bool:
    """Whether it says that there is no more memory: on a CPU torch has no class for that."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
