"""One bidirectional pre-norm RoPE transformer for every family; a Spec says which.

It knows tokens, columns and K/V; `backbone.py` knows masks, blocks and candidates.
Letters: B rows, Q columns of each, T tokens in all, H heads, K key-value heads, D head dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infogain import kernels
from infogain.kernels import KV, Angles, Heads, Shared, attend, attend_shared
from infogain.models.families.spec import Spec


class Transformer(nn.Module):
    """Embedding, layers and head. `forward` and `prefill` return what the head reads, `logits` runs the head."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        # Whoever makes one writes its weights. Initialising them on the meta device would import torch._dynamo: 1.4 s.
        weight = torch.empty(spec.vocab_size, spec.hidden)
        self.embed = nn.Embedding.from_pretrained(weight, freeze=False)  # type: ignore[no-untyped-call]
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.layers))
        self.norm = Norm(spec.hidden, spec)
        self.head = None if spec.tied else nn.Linear(spec.hidden, spec.vocab_size, bias=False)
        self.most_tokens: int | None = None  # tokens that run through an MLP at once; None: all
        self.weights_version = 0  # counts moves of the weights in memory: recorded graphs read the old addresses

    def forward(
        self,
        tokens: Tensor,
        column: Tensor,
        visible: Tensor | None = None,
        shared: Shared | None = None,
        needed: Tensor | None = None,
    ) -> Tensor:
        """Activations for the head. tokens, column [B, Q]; visible [B, Q or 1, Q], None: all -> [B, Q, hidden]

        `shared`: frozen K/V that the rows attend to as well. `needed` [B, W]: return the activations of these
        columns alone, counted from a row's first. -> [B, W, hidden]
        """

        def mix(i: int, q: Tensor, own: KV) -> Tensor:
            if shared is None:
                return attend(q, own, visible)
            assert visible is not None  # rows that share a context are ragged
            shared.store(i, own)
            return attend_shared(q, own, visible, shared, i)

        return self._run(tokens, column, mix, needed)

    def prefill(self, tokens: Tensor, column: Tensor, visible: Tensor, into: list[KV], needed: Tensor) -> Tensor:
        """`forward` without frozen K/V, which also stores every layer's K/V in `into`, as far as they fit.

        Nothing is stored where `into` has no layers.
        """

        def mix(i: int, q: Tensor, own: KV) -> Tensor:
            if into:
                into[i].fill(own)
            return attend(q, own, visible)

        return self._run(tokens, column, mix, needed)

    def empty_layers(self, rows: int, columns: int) -> list[KV]:
        """Uninitialised K/V of every layer, for `prefill` to store in."""
        shape, like = (rows, self.spec.kv_heads, columns, self.spec.head_dim), self.norm.weight
        return [KV(like.new_empty(shape), like.new_empty(shape)) for _ in self.layers]

    def _run(
        self, tokens: Tensor, column: Tensor, mix: Callable[[int, Tensor, KV], Tensor], needed: Tensor | None
    ) -> Tensor:
        """Run all layers, with `mix` as their attention. -> [B, Q or W, hidden]

        Between attentions every token is on its own: rows and columns are one axis there. [T, hidden], T = B·Q
        """
        rows, columns = tokens.shape
        x: Tensor = self.embed(tokens.flatten())
        angles = rotary_angles(column.expand(rows, columns).flatten(), self.spec, x.dtype)
        more: Tensor | None = None  # the output of the layer before: the next norm adds it
        step = self.most_tokens or len(x)
        for i, layer in enumerate(cast("Iterable[Layer]", self.layers)):
            x, *parts = layer.project(x, more, angles)
            q, k, v = (y.view(rows, columns, *y.shape[1:]).transpose(1, 2) for y in parts)  # [B, heads, Q, D]
            mixed = mix(i, q, KV(k, v)).transpose(1, 2).reshape(len(x), -1)
            if needed is not None and i == len(self.layers) - 1:  # others end at the last attention
                x, mixed = (_picked(y.view(rows, columns, -1), needed).flatten(0, 1) for y in (x, mixed))
            if len(x) <= step:
                x, more = layer.finish(x, mixed)
            else:
                pieces = zip(torch.split(x, step), torch.split(mixed, step), strict=True)
                x, more = (torch.cat(y) for y in zip(*(layer.finish(*piece) for piece in pieces), strict=True))
        return self.norm.after(x, more)[1].view(rows, -1, self.spec.hidden)

    def logits(self, x: Tensor, capacity: int | None = None, ids: slice | None = None) -> Tensor:
        """Run the head, for all ids or for a range of them. [..., hidden] -> [..., V]

        With `capacity`, for [X, hidden] on a GPU, memory is allocated for this many rows and the first X are returned.
        """
        weight = self.embed.weight if self.head is None else self.head.weight
        weight = weight if ids is None else weight[ids]
        if capacity is None or not x.is_cuda or torch.is_grad_enabled():
            return F.linear(x, weight)
        out = x.new_empty(capacity, len(weight))[: len(x)]
        return torch.mm(x, weight.T, out=out)

    def fuse(self) -> None:
        """Join matrices that read the same activations into one. Not for training: the parts become views."""
        for layer in self.layers:
            cast("Layer", layer).fuse()
        self.weights_version += 1

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Transformer:
        """Move to another device or precision."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.weights_version += 1
        return self


class Layer(nn.Module):
    """Attention and MLP, each behind a norm. `project` runs up to attention, `finish` all that follows it."""

    qkv: Linear | None
    gate_up: Linear | None
    zero_bias: Tensor | None

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        self.heads = Heads(spec.heads, spec.kv_heads, spec.norm_eps, spec.norm_scales_in_float32, spec.rope_in_float32)
        queries, keys = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
        self.attn_norm = Norm(spec.hidden, spec)
        self.q = nn.Linear(spec.hidden, queries, bias=spec.qkv_bias)
        self.k = nn.Linear(spec.hidden, keys, bias=spec.qkv_bias)
        self.v = nn.Linear(spec.hidden, keys, bias=spec.qkv_bias)
        self.o = nn.Linear(queries, spec.hidden, bias=False)
        self.q_norm = Norm(spec.head_dim, spec) if spec.qk_norm else None
        self.k_norm = Norm(spec.head_dim, spec) if spec.qk_norm else None
        self.mlp_norm = Norm(spec.hidden, spec)
        self.gate = nn.Linear(spec.hidden, spec.intermediate, bias=False)
        self.up = nn.Linear(spec.hidden, spec.intermediate, bias=False)
        self.down = nn.Linear(spec.intermediate, spec.hidden, bias=False)
        self.qkv = self.gate_up = None
        self.register_buffer("zero_bias", None, persistent=False)

    def project(self, x: Tensor, more: Tensor | None, angles: Angles) -> tuple[Tensor, ...]:
        """x + more, and its queries, keys and values after RoPE. -> [T, hidden], and three [T, heads, D]"""
        x, h = self.attn_norm.after(x, more)
        together = F.linear(h, *self.qkv) if self.qkv else torch.cat([self.q(h), self.k(h), self.v(h)], -1)
        return x, *self._rotated(together.view(len(x), -1, self.spec.head_dim), angles)

    def finish(self, x: Tensor, mixed: Tensor) -> tuple[Tensor, Tensor]:
        """x with the output of attention added, and the output of the MLP. -> [T, hidden] each"""
        x, h = self.mlp_norm.after(x, F.linear(mixed, self.o.weight, self.zero_bias))
        both = F.linear(h, *self.gate_up) if self.gate_up else torch.cat([self.gate(h), self.up(h)], -1)
        return x, F.linear(kernels.gate(both), self.down.weight, self.zero_bias)

    def _rotated(self, heads: Tensor, angles: Angles) -> tuple[Tensor, ...]:
        """Queries, keys and values after RoPE, in the memory of `heads`. [T, H + 2K, D] -> three [T, heads, D]"""
        q, k = self.q_norm, self.k_norm
        return kernels.rotate_heads(heads, self.heads, angles, None if q is None or k is None else (q.weight, k.weight))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Layer:
        """Move to another device or precision. This takes the parts one by one, so they are joined again."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.qkv and self.qkv.weight.data_ptr() != self.q.weight.data_ptr():
            self.fuse()
        return self

    def fuse(self) -> None:
        """Join q, k and v into one matrix, gate and up into another."""
        self.qkv, self.gate_up = fused(self.q, self.k, self.v), fused(self.gate, self.up)
        if self.o.weight.is_cuda:  # cuBLAS has faster kernels for products with a bias, so it gets one
            self.zero_bias = torch.zeros_like(self.o.weight[:, 0])


def _picked(x: Tensor, columns: Tensor) -> Tensor:
    """Some columns of each row. [B, Q, D], [B, W] -> [B, W, D]"""
    return x.gather(1, columns[..., None].expand(-1, -1, x.shape[2]))


class Linear(NamedTuple):
    weight: Tensor
    bias: Tensor | None


@torch.no_grad()
def fused(*parts: nn.Linear) -> Linear:
    """Join several matrices into one; the parts keep their names and become views of it."""
    weight = torch.cat([part.weight for part in parts])
    bias = torch.cat([part.bias for part in parts]) if parts[0].bias is not None else None
    at = 0
    for part in parts:
        size = part.weight.shape[0]
        part.weight = nn.Parameter(weight[at : at + size], requires_grad=False)
        if bias is not None:
            part.bias = nn.Parameter(bias[at : at + size], requires_grad=False)
        at += size
    return Linear(nn.Parameter(weight, requires_grad=False), bias)


class Norm(nn.Module):
    """RMSNorm in float32; its weight multiplies before or after the cast back, as the family does it."""

    def __init__(self, size: int, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps, self.scale_in_float32 = spec.norm_eps, spec.norm_scales_in_float32

    def after(self, x: Tensor, more: Tensor | None) -> tuple[Tensor, Tensor]:
        """The sum x + more, and its norm. [T, hidden] each"""
        return kernels.add_norm(x, more, self.weight, self.eps, self.scale_in_float32)


def rotary_angles(column: Tensor, spec: Spec, dtype: torch.dtype) -> Angles:
    """The cos and sin of each column, in the half-rotation layout. [T] -> [T, 1, D] each"""
    power = torch.arange(0, spec.head_dim, 2, device=column.device).float() / spec.head_dim
    angle = column[..., None].float() / spec.rope_theta**power
    angle = torch.cat([angle, angle], -1)[:, None]
    cos, sin = angle.cos(), angle.sin()
    return (cos, sin) if spec.rope_in_float32 else (cos.to(dtype), sin.to(dtype))
