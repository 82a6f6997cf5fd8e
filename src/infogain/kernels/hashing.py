"""Noise: the splitmix64 hash of some whole numbers, as it is or as a uniform or Gumbel number."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import torch
from torch import Tensor

from infogain.kernels import choice

FEW = 64  # up to so many seeds, the part of the hash that depends on them alone is looked up

GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit integer
MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


# Numbers as tensors: torch wraps a bare number anew in every operation, which takes longer than the operation.
_GOLDEN, _MIX_1, _MIX_2 = (torch.tensor(x) for x in (GOLDEN, MIX_1, MIX_2))
_SHIFTS = {bits: (torch.tensor(bits), torch.tensor((1 << (64 - bits)) - 1)) for bits in (12, 27, 30, 31)}


def noise(kind: str, seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    """Noise of the kind "hash", "uniform" or "gumbel", as a function of the other arguments; tensors broadcast."""
    kind_of_seed = seed.device.type, seed.dtype
    if kind_of_seed in choice.FUSED and len(index) <= 3 and all(isinstance(i, Tensor) and i.ndim <= 3 for i in index):
        from infogain.kernels.hashing_triton import noise as fused

        return fused(kind, stream, seed, *cast("tuple[Tensor, ...]", index))
    return _KINDS[kind](seed, stream, *index)


def _hash(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    h = _root(seed, stream)
    for i in index:
        h = _fold(h, i)
    return h if index else h.clone()


def _uniform(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    return _shift(_hash(seed, stream, *index), 12).double().add_(0.5).mul_(math.ldexp(1, -52))


def _gumbel(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
    return -(-_uniform(seed, stream, *index).log()).log()


_KINDS = {"hash": _hash, "uniform": _uniform, "gumbel": _gumbel}


def _root(seed: Tensor, stream: int) -> Tensor:
    """The first part of the hash. Rows have the same seeds at every step, so on a CPU it is looked up."""
    if seed.device.type == "cpu" and seed.numel() <= FEW:
        return _cached_root(tuple(seed.flatten().tolist()), stream).view(seed.shape)
    return _fold(mix(seed + _GOLDEN), stream)


@lru_cache(maxsize=256)
def _cached_root(seeds: tuple[int, ...], stream: int) -> Tensor:
    with torch.inference_mode(False):
        return _fold(mix(torch.tensor(seeds, dtype=torch.int64, device="cpu") + _GOLDEN), stream)


def _fold(h: Tensor, i: Tensor | int) -> Tensor:
    link = _wrapped(i * MIX_2 + GOLDEN) if isinstance(i, int) else i * _MIX_2 + _GOLDEN
    return mix(h + link)  # sums and products of 64-bit integers wrap, as the hash needs


def mix(x: Tensor) -> Tensor:
    """Scramble 64-bit integers (the finaliser of splitmix64); a bijection."""
    x = _shift(x, 30).bitwise_xor_(x).mul_(_MIX_1)
    x = _shift(x, 27).bitwise_xor_(x).mul_(_MIX_2)
    return _shift(x, 31).bitwise_xor_(x)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift: torch shifts signed integers arithmetically."""
    places, rest = _SHIFTS[bits]
    return (x >> places).bitwise_and_(rest)


def _wrapped(x: int) -> int:
    """A whole number wrapped to a signed 64-bit integer."""
    return (x + 2**63) % 2**64 - 2**63
