"""Attention: of a row's columns over its own, or also over frozen ones that it shares with other rows.

Letters: B rows of queries, Q query columns, C context rows, L context columns, H heads, K key-value heads, D head
dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infogain.kernels import choice
from infogain.kernels.columns import at_least_float32

WIDEST = 2048  # columns of a window that the kernel takes
NEVER = -1e30  # a score no softmax ever picks, and finite, so that a row without keys gives no NaN


class Keys(NamedTuple):
    """Keys and values of one layer. [C, K, L, D] each"""

    k: Tensor
    v: Tensor

    def fill(self, own: Keys) -> None:
        """Copy the first columns of other keys; where those are fewer, the rest becomes 0, for 0 · NaN would show."""
        count = min(own.k.shape[2], self.k.shape[2])
        for kept, new in zip(self, own, strict=True):
            kept[:, :, :count] = new[:, :, :count]
        self.v[:, :, count:] = 0


@dataclass(frozen=True)
class Shared:
    """Frozen columns that many rows of queries read: one copy, however many rows share it.

    Where rows of queries go on from a context (`stored`), what they add to its keys is written where it reads none.
    """

    layers: list[Keys]
    first: Tensor  # [C] of the live window, whose keys are the query rows' own
    last: Tensor  # [C] one past it
    limit: Tensor  # [C] one past what may be read
    row: Tensor  # [B] the context row each query row reads
    most: int  # query rows that read the same one, at most
    block: int | None = None  # the query rows' own columns are block-causal, in blocks so wide from the first on
    stored: Tensor | None = None  # [B, S] where the keys of a query row's first S columns are put

    def store(self, index: int, own: Keys) -> None:
        """Into the layer's keys, at columns that no row reads of them."""
        if self.stored is not None:
            for kept, new in zip(self.layers[index], own, strict=True):
                kept[self.row[:, None], :, self.stored] = new.transpose(1, 2)[:, : self.stored.shape[1]]

    @cached_property
    def window(self) -> Tensor:
        """What each query row reads, in the order kernels take it. [B, 4]"""
        bounds = (self.first, self.last, self.limit)
        return torch.stack([self.row, *(bound[self.row] for bound in bounds)], 1).int()

    @cached_property
    def frozen(self) -> Tensor:
        """Columns that may be read. [C, L]"""
        first, last, limit = (x[:, None] for x in (self.first, self.last, self.limit))
        column = torch.arange(self.layers[0].k.shape[2], device=self.row.device)
        return (column < limit) & ((column < first) | (column >= last))

    @cached_property
    def place(self) -> Tensor:
        """Where each query row stands among `most` places for every context row. [B]"""
        nth = (self.row[:, None] == self.row).tril(-1).sum(-1)  # rows before this one that read the same
        return self.row * self.most + nth

    @cached_property
    def grid(self) -> Tensor:
        """The query rows in their places; any where there are fewer. [C·most]"""
        grid = torch.zeros(len(self.limit) * self.most, dtype=torch.int64, device=self.row.device)
        return grid.scatter(0, self.place, torch.arange(len(self.row), device=self.row.device))


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
    """Attention over a row's own columns, visible [B, 1, Q], and the frozen ones it shares with others. [B, H, Q, D]"""
    if _kernel_takes(q, q.shape[2]):
        return _attend_by_kernel(q, own, visible, shared, index)
    return _attend_in_parts(q, own, visible, shared, index)


def places(keys: Tensor, columns: int, rows: int, most: int) -> int:
    """Query rows of one context row that a forward of `rows` windows, so many columns wide, must have places for.

    Torch packs them, so there are `most`; the kernel reads each by itself, and any forward of `rows` serves.
    """
    return rows if _kernel_takes(keys, columns) else most


def _kernel_takes(keys: Tensor, columns: int) -> bool:
    dim = keys.shape[-1]
    return choice.forward_only(keys) and columns <= WIDEST and dim >= 16 and dim & (dim - 1) == 0


def _attend_by_kernel(q: Tensor, own: Keys, visible: Tensor, shared: Shared, index: int) -> Tensor:
    from infogain.kernels.attention_triton import attend_candidates

    columns = q.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, *own))  # [B, Q, heads, D]
    far, block = shared.layers[index], shared.block or columns
    return attend_candidates(q, Keys(k, v), far, shared.window, visible[:, 0], block).transpose(1, 2)


def _attend_in_parts(q: Tensor, own: Keys, visible: Tensor, shared: Shared, index: int) -> Tensor:
    """The two parts are computed apart and merged by their log-sum-exp.

    For the frozen part the rows that share a context row are folded into its query axis: its keys are read once and
    never copied.
    """
    rows, heads, columns, dim = q.shape
    context, places = len(shared.limit), shared.most
    kv = own.k.shape[1]
    if shared.block:
        block = torch.arange(columns, device=q.device) // shared.block
        visible = (visible & (block <= block[:, None])).repeat(1, heads // kv, 1)
    q = (q * dim**-0.5).reshape(rows, kv, heads // kv, columns, dim)
    near, near_mass = _softmax_parts(q.flatten(2, 3), own, visible[:, None])
    packed = q[shared.grid]  # [C·N, K, H/K, Q, D]
    packed = packed.reshape(context, places, kv, -1, dim).transpose(1, 2).flatten(2, 3)  # [C, K, N·H/K·Q, D]
    far, far_mass = _softmax_parts(packed, shared.layers[index], shared.frozen[:, None, None])
    far, far_mass = (_unpack(part, places, shared.place) for part in (far, far_mass))
    share = torch.sigmoid(far_mass - near_mass)  # of the frozen columns in the whole softmax
    return (far * share + near * (1 - share)).to(own.v.dtype).reshape(rows, heads, columns, dim)


def _softmax_parts(q: Tensor, keys: Keys, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Attention and its log-sum-exp. [B, K, X, D] over [B, K, Y, D] -> [B, K, X, D], [B, K, X, 1]"""
    score = at_least_float32(q @ keys.k.transpose(-1, -2)).masked_fill(~visible, NEVER)
    mass = score.logsumexp(-1, keepdim=True)
    return (score - mass).exp().to(keys.v.dtype) @ keys.v, mass


def _unpack(part: Tensor, places: int, place: Tensor) -> Tensor:
    """From [C, K, N·X, D] back to the query rows. -> [B, K, X, D]"""
    context, kv, _, dim = part.shape
    return part.reshape(context, kv, places, -1, dim).transpose(1, 2).flatten(0, 1)[place]
