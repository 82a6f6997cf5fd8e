"""Memory of a GPU. A CPU has no such counter: there nothing is said, and nothing guessed."""

from __future__ import annotations

import gc

import torch

from infogain.options import Plain

COUNTED = ("peak_bytes", "peak_reserved_bytes", "held_bytes", "device_allocations")


def clear(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def reset(device: torch.device) -> int:
    """Begin to count; returns the calls for memory so far."""
    clear(device)
    if device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(device)
    return calls(device)


def calls(device: torch.device) -> int:
    """How often the allocator asked the device (cudaMalloc), which stops it."""
    return int(torch.cuda.memory_stats(device).get("num_device_alloc", 0))


def read(device: torch.device, before: int) -> Plain:
    """`held_bytes` were there already: weights, and what the engine keeps."""
    if device.type != "cuda":
        return dict.fromkeys(COUNTED)
    return {
        "peak_bytes": torch.cuda.max_memory_allocated(device),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(device),
        "held_bytes": torch.cuda.memory_allocated(device),
        "device_allocations": calls(device) - before,
    }
