"""Limits of the device, measured beside what it does: reading every weight once, and a large matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor

from infogain.bench.clock import repeat_ms
from infogain.models.backbone.transformer import Layer, Transformer
from infogain.models.families.spec import Spec
from infogain.options import Plain

PRODUCT = {"cuda": 8192, "cpu": 768}  # side of the square matrices
BUFFER = {"cuda": 4 << 30, "cpu": 64 << 20}  # bytes read at one go


def measure_limits(transformer: Transformer) -> Plain:
    """What the device can do at best with these weights.

    `reading_ms` is the least time in which a forward's weights were read: each weight in a kernel of its own, or as
    many bytes of one large buffer, whichever was faster.
    """
    device = transformer.norm.weight.device
    weights = forward_weights(transformer)
    size = sum(weight.numel() * weight.element_size() for weight in weights)
    each = repeat_ms(captured(lambda: [as_float32(weight).sum() for weight in weights], device), device, 9)
    buffer = torch.zeros(BUFFER[device.type] // 4, device=device)
    whole = repeat_ms(captured(buffer.sum, device), device, 9)
    rate = 4 * buffer.numel() / whole * 1e3  # bytes per second
    del buffer
    return {
        "weight_bytes": size,
        "read_bytes_per_s": rate,
        "reading_each_ms": each,
        "reading_ms": min(each, 1e3 * size / rate),
        "matmul_flops_per_s": matmul_rate(device, transformer.norm.weight.dtype),
        "dtype": str(transformer.norm.weight.dtype).removeprefix("torch."),
    }


def forward_weights(transformer: Transformer) -> list[Tensor]:
    """The matrices that a forward reads. Vectors are small; of an embedding that is no head few rows are looked up."""
    head = transformer.embed if transformer.head is None else transformer.head
    found = [head.weight]
    for layer in cast("Iterable[Layer]", transformer.layers):
        if not layer.qkv:
            layer.fuse()
        assert layer.qkv
        assert layer.gate_up
        found += [layer.qkv.weight, layer.o.weight, layer.gate_up.weight, layer.down.weight]
    return found


def as_float32(weight: Tensor) -> Tensor:
    """The bytes of a weight seen as float32, which a sum reads in the widest loads; an odd number of them stays."""
    flat = weight.detach().flatten()
    return flat.view(torch.float32) if flat.numel() * flat.element_size() % 4 == 0 else flat


def captured(action: Callable[[], object], device: torch.device) -> Callable[[], object]:
    """The action as one CUDA graph, so that launching it takes no time; on a CPU itself."""
    if device.type != "cuda":
        return action
    action()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        action()
    return graph.replay


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Operations per second of a large square product."""
    side = PRODUCT[device.type]
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return 2 * side**3 / repeat_ms(lambda: a @ b, device, 9) * 1e3


def operations(spec: Spec, columns: float, read: float, keys: int, ids: int | None = None) -> float:
    """Operations of a forward: products of the layers, of the head, and attention over `keys` columns each.

    columns  that run through the layers, all rows together
    read     of them, those whose logits are made: after the last attention they alone run on
    ids      that have logits; unset: all
    """
    head = spec.vocab_size * spec.hidden
    layers = spec.parameters - head * (1 if spec.tied else 2)
    attention = 2 * spec.layers * spec.heads * spec.head_dim * keys
    last = spec.hidden * (spec.heads * spec.head_dim + 3 * spec.intermediate)  # of a layer, what follows attention
    logits = spec.hidden * (ids or spec.vocab_size)
    return 2.0 * (columns * (layers + attention - last) + read * (last + logits))


def columns_in_balance(spec: Spec, limits: Plain) -> float:
    """Columns of a forward up to which reading the weights takes longer than the products: look-ahead is free."""
    per_column = operations(spec, 1, 1, 0)
    return float(limits["reading_ms"] * 1e-3 * limits["matmul_flops_per_s"] / per_column)
