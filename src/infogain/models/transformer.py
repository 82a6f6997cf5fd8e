"""One bidirectional pre-norm RoPE transformer for every family; a Spec says which.

It knows tokens, columns and keys, and nothing of masks, blocks or candidates: `backbone.py` does.
Letters: B rows of queries, Q query columns, C context rows, L context columns, H heads, K key-value
heads, D head dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infogain.marginals import wide
from infogain.models.spec import Spec

NEVER = -1e30  # a score no softmax ever picks, and finite, so that a row without keys gives no NaN


class Keys(NamedTuple):
    """Keys and values of one layer. [C, K, L, D] each"""

    k: Tensor
    v: Tensor

    def after(self, earlier: Keys) -> Keys:
        return Keys(*(torch.cat(pair, 2) for pair in zip(earlier, self, strict=True)))


@dataclass(frozen=True)
class Shared:
    """Frozen columns that many rows of queries read: one copy, however many rows share it."""

    layers: list[Keys]
    frozen: Tensor  # [C, L] columns that may be read
    grid: Tensor  # [C, N] the query rows that share each context row; −1 where there are fewer
    place: Tensor  # [B] where in the flattened grid each query row stands


Merge = Callable[[int, Keys], tuple[Keys, Keys]]  # (layer, its own keys) -> what to attend over, what to keep


class Transformer(nn.Module):
    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        self.embed = nn.Embedding(spec.vocab_size, spec.hidden)
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.layers))
        self.norm = Norm(spec.hidden, spec)
        self.head = None if spec.tied else nn.Linear(spec.hidden, spec.vocab_size, bias=False)

    def forward(
        self, tokens: Tensor, column: Tensor, visible: Tensor | None = None, shared: Shared | None = None
    ) -> Tensor:
        """The last layer's activations. tokens, column [B, Q]; visible [B, Q or 1, Q], unset: all -> [B, Q, hidden]"""

        def mix(i: int, q: Tensor, own: Keys) -> Tensor:
            if shared is None:
                return attend(q, own, visible)
            assert visible is not None  # rows that share a context are ragged
            return attend_shared(q, own, visible, shared, i)

        return self._run(tokens, column, mix)

    def prefill(
        self, tokens: Tensor, column: Tensor, visible: Tensor, merge: Merge | None = None
    ) -> tuple[Tensor, list[Keys]]:
        """The same, and what is kept of every layer's keys and values. `visible` is over all that `merge` gives."""
        kept: list[Keys] = []

        def mix(i: int, q: Tensor, own: Keys) -> Tensor:
            every, keep = merge(i, own) if merge else (own, own)
            kept.append(keep)
            return attend(q, every, visible)

        return self._run(tokens, column, mix), kept

    def _run(self, tokens: Tensor, column: Tensor, mix: Callable[[int, Tensor, Keys], Tensor]) -> Tensor:
        x: Tensor = self.embed(tokens)
        angles = rotary_angles(column, self.spec, x.dtype)
        for i, layer in enumerate(self.layers):
            x = layer(x, angles, partial(mix, i))
        return x

    def logits(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        return F.linear(x, self.embed.weight if self.head is None else self.head.weight)


class Layer(nn.Module):
    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        queries, keys = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
        self.attn_norm = Norm(spec.hidden, spec)
        self.q = nn.Linear(spec.hidden, queries, bias=spec.qkv_bias)
        self.k = nn.Linear(spec.hidden, keys, bias=spec.qkv_bias)
        self.v = nn.Linear(spec.hidden, keys, bias=spec.qkv_bias)
        self.o = nn.Linear(queries, spec.hidden, bias=False)
        self.q_norm = Norm(spec.head_dim, spec) if spec.qk_norm else nn.Identity()
        self.k_norm = Norm(spec.head_dim, spec) if spec.qk_norm else nn.Identity()
        self.mlp_norm = Norm(spec.hidden, spec)
        self.gate = nn.Linear(spec.hidden, spec.intermediate, bias=False)
        self.up = nn.Linear(spec.hidden, spec.intermediate, bias=False)
        self.down = nn.Linear(spec.intermediate, spec.hidden, bias=False)

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], mix: Callable[[Tensor, Keys], Tensor]) -> Tensor:
        """`mix` attends with these queries over what it sees fit, the layer's own keys among it."""
        h = self.attn_norm(x)
        q, k, v = (project(h).unflatten(-1, (-1, self.spec.head_dim)) for project in (self.q, self.k, self.v))
        q, k = self.q_norm(q), self.k_norm(k)
        q, k = (rotate(y, angles, self.spec.wide_rope).transpose(1, 2) for y in (q, k))  # [B, heads, Q, D]
        x = x + self.o(mix(q, Keys(k, v.transpose(1, 2))).transpose(1, 2).flatten(2))
        h = self.mlp_norm(x)
        out: Tensor = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return out


class Norm(nn.Module):
    """RMSNorm in float32, in the family's order of rounding."""

    def __init__(self, size: int, spec: Spec) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps, self.wide = spec.norm_eps, spec.wide_norm

    def forward(self, x: Tensor) -> Tensor:
        y = wide(x)
        y = y * (y.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        return (y * self.weight).to(x.dtype) if self.wide else y.to(x.dtype) * self.weight


def rotary_angles(column: Tensor, spec: Spec, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """cos and sin for each column, the half-rotation layout. [B, Q, 1, D] each"""
    power = torch.arange(0, spec.head_dim, 2, device=column.device).float() / spec.head_dim
    angle = column[..., None].float() / spec.rope_theta**power
    angle = torch.cat([angle, angle], -1)[:, :, None]
    cos, sin = angle.cos(), angle.sin()
    return (cos, sin) if spec.wide_rope else (cos.to(dtype), sin.to(dtype))


def rotate(x: Tensor, angles: tuple[Tensor, Tensor], in_float32: bool) -> Tensor:
    """RoPE: the two halves of each head turn against each other. [B, Q, heads, D]"""
    cos, sin = angles
    y = x.float() if in_float32 else x
    first, second = y.chunk(2, -1)
    return (y * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


def attend(q: Tensor, keys: Keys, visible: Tensor | None) -> Tensor:
    """Attention of a row's columns over keys of its own. [B, H, Q, D]

    Heads that share a key head are folded into the query axis: no fused kernel takes both groups and a mask.
    """
    rows, heads, columns, dim = q.shape
    kv = keys.k.shape[1]
    folded = q.reshape(rows, kv, -1, dim)
    if visible is not None and visible.shape[1] > 1:
        visible = visible.repeat(1, heads // kv, 1)
    mask = None if visible is None else visible[:, None]
    return F.scaled_dot_product_attention(folded, *keys, attn_mask=mask).reshape(rows, heads, columns, dim)


def attend_shared(q: Tensor, own: Keys, visible: Tensor, shared: Shared, index: int) -> Tensor:
    """Attention over a row's own columns, visible [B, 1, Q], and the frozen ones it shares with others. [B, H, Q, D]

    The two parts are computed apart and merged by their log-sum-exp. For the frozen part the rows that
    share a context row are folded into its query axis: its keys are read once and never copied.
    """
    rows, heads, columns, dim = q.shape
    context, places = shared.grid.shape
    kv = own.k.shape[1]
    q = (q * dim**-0.5).reshape(rows, kv, heads // kv, columns, dim)
    near, near_mass = _softmax_parts(q.flatten(2, 3), own, visible[:, None])
    packed = q[shared.grid.clamp(min=0).flatten()]  # [C·N, K, H/K, Q, D]
    packed = packed.reshape(context, places, kv, -1, dim).transpose(1, 2).flatten(2, 3)  # [C, K, N·H/K·Q, D]
    far, far_mass = _softmax_parts(packed, shared.layers[index], shared.frozen[:, None, None])
    far, far_mass = (_unpack(part, places, shared.place) for part in (far, far_mass))
    share = torch.sigmoid(far_mass - near_mass)  # of the frozen columns in the whole softmax
    return (far * share + near * (1 - share)).to(own.v.dtype).reshape(rows, heads, columns, dim)


def _softmax_parts(q: Tensor, keys: Keys, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Attention and its log-sum-exp. [B, K, X, D] over [B, K, Y, D] -> [B, K, X, D], [B, K, X, 1]"""
    score = wide(q @ keys.k.transpose(-1, -2)).masked_fill(~visible, NEVER)
    mass = score.logsumexp(-1, keepdim=True)
    return (score - mass).exp().to(keys.v.dtype) @ keys.v, mass


def _unpack(part: Tensor, places: int, place: Tensor) -> Tensor:
    """From [C, K, N·X, D] back to the query rows. -> [B, K, X, D]"""
    context, kv, _, dim = part.shape
    return part.reshape(context, kv, places, -1, dim).transpose(1, 2).flatten(0, 1)[place]
