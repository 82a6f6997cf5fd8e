"""Attention of a row's columns over its own K/V, or also over frozen K/V that it shares with other rows.

Letters: B query rows, Q query columns, C context rows, L context columns, H heads, K key-value heads, D head dimension.
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

WIDEST = 2048  # most columns of a window that the kernel takes
NEVER = -1e30  # a score that gets no share of a softmax; finite, so that a row that sees nothing gives no NaN


class KV(NamedTuple):
    """Keys and values of one layer. [C, K, L, D] each"""

    k: Tensor
    v: Tensor

    def fill(self, source: KV) -> None:
        """Copy as many columns of `source` as fit. Values behind them become 0, because 0 · NaN would show."""
        count = min(source.k.shape[2], self.k.shape[2])
        for target, new in zip(self, source, strict=True):
            target[:, :, :count] = new[:, :, :count]
        self.v[:, :, count:] = 0


@dataclass(frozen=True)
class Shared:
    """Frozen K/V that many query rows read: one copy, however many rows share it.

    A forward that appends to a context (`stored`) writes the new K/V to columns that this forward does not read.
    """

    layers: list[KV]
    first: Tensor  # [C] first column of the live window, whose K/V are the query rows' own
    last: Tensor  # [C] one past the live window
    limit: Tensor  # [C] one past the columns that may be read
    row: Tensor  # [B] the context row that each query row reads
    max_per_row: int  # at most so many query rows read the same context row
    block: int | None = None  # set: the query rows' own columns are block-causal, in blocks of this width
    stored: Tensor | None = None  # [B, S] columns to store the K/V of a query row's first S columns in

    def store(self, index: int, own: KV) -> None:
        """Write a query row's own K/V into layer `index`, at the columns of `stored`."""
        if self.stored is not None:
            for target, new in zip(self.layers[index], own, strict=True):
                target[self.row[:, None], :, self.stored] = new.transpose(1, 2)[:, : self.stored.shape[1]]

    @cached_property
    def window(self) -> Tensor:
        """The bounds of what each query row reads, as the kernel takes them: row, first, last, limit. [B, 4]"""
        bounds = (self.first, self.last, self.limit)
        return torch.stack([self.row, *(bound[self.row] for bound in bounds)], 1).int()

    @cached_property
    def frozen(self) -> Tensor:
        """Whether each context column is frozen and may be read. [C, L]"""
        first, last, limit = (x[:, None] for x in (self.first, self.last, self.limit))
        column = torch.arange(self.layers[0].k.shape[2], device=self.row.device)
        return (column < limit) & ((column < first) | (column >= last))

    @cached_property
    def slot(self) -> Tensor:
        """The slot of each query row, where every context row has `max_per_row` slots. [B]"""
        nth = (self.row[:, None] == self.row).tril(-1).sum(-1)  # rows before this one that read the same
        return self.row * self.max_per_row + nth

    @cached_property
    def grid(self) -> Tensor:
        """The query row in each slot; any row in slots that are left over. [C·max_per_row]"""
        grid = torch.zeros(len(self.limit) * self.max_per_row, dtype=torch.int64, device=self.row.device)
        return grid.scatter(0, self.slot, torch.arange(len(self.row), device=self.row.device))


def attend(q: Tensor, own: KV, visible: Tensor | None) -> Tensor:
    """Attention of a row's columns over its own K/V; visible [B, Q or 1, Q], None: all. [B, H, Q, D]

    Heads that share a key head are folded into the query axis: no fused kernel takes both groups and a mask.
    """
    rows, heads, columns, dim = q.shape
    kv_heads = own.k.shape[1]
    folded = q.reshape(rows, kv_heads, -1, dim)
    if visible is not None and visible.shape[1] > 1:
        visible = visible.repeat(1, heads // kv_heads, 1)
    mask = None if visible is None else visible[:, None]
    return F.scaled_dot_product_attention(folded, *own, attn_mask=mask).reshape(rows, heads, columns, dim)


def attend_shared(q: Tensor, own: KV, visible: Tensor, shared: Shared, index: int) -> Tensor:
    """Attention over a row's own K/V, visible [B, 1, Q], and the frozen K/V of layer `index`. [B, H, Q, D]"""
    if _kernel_takes(q, q.shape[2]):
        return _attend_by_kernel(q, own, visible, shared, index)
    return _attend_in_parts(q, own, visible, shared, index)


def slots(k: Tensor, columns: int, rows: int, max_per_row: int) -> int:
    """Slots per context row (`Shared.max_per_row`) for a recorded forward of `rows` windows, `columns` wide.

    Torch packs query rows into slots, so there are `max_per_row`; the kernel needs none, and one recording serves any.
    """
    return rows if _kernel_takes(k, columns) else max_per_row


def _kernel_takes(x: Tensor, columns: int) -> bool:
    """Whether the kernel can attend with queries or keys like these, in windows of this many columns."""
    dim = x.shape[-1]
    return choice.forward_only(x) and columns <= WIDEST and dim >= 16 and dim & (dim - 1) == 0


def _attend_by_kernel(q: Tensor, own: KV, visible: Tensor, shared: Shared, index: int) -> Tensor:
    from infogain.kernels.attention_triton import attend_candidates

    columns = q.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, *own))  # [B, Q, heads, D]
    far, block = shared.layers[index], shared.block or columns
    return attend_candidates(q, KV(k, v), far, shared.window, visible[:, 0], block).transpose(1, 2)


def _attend_in_parts(q: Tensor, own: KV, visible: Tensor, shared: Shared, index: int) -> Tensor:
    """Attention over own and over frozen K/V, computed apart and merged by their log-sum-exp.

    For the frozen part, query rows that share a context row are folded into its query axis: its K/V are read once and
    never copied.
    """
    rows, heads, columns, dim = q.shape
    contexts, slots = len(shared.limit), shared.max_per_row
    kv_heads = own.k.shape[1]
    if shared.block:
        block = torch.arange(columns, device=q.device) // shared.block
        visible = (visible & (block <= block[:, None])).repeat(1, heads // kv_heads, 1)
    q = (q * dim**-0.5).reshape(rows, kv_heads, heads // kv_heads, columns, dim)
    near, near_mass = _softmax_parts(q.flatten(2, 3), own, visible[:, None])
    packed = q[shared.grid]  # [C·N, K, H/K, Q, D]
    packed = packed.reshape(contexts, slots, kv_heads, -1, dim).transpose(1, 2).flatten(2, 3)  # [C, K, N·H/K·Q, D]
    far, far_mass = _softmax_parts(packed, shared.layers[index], shared.frozen[:, None, None])
    far, far_mass = (_unpack(part, slots, shared.slot) for part in (far, far_mass))
    share = torch.sigmoid(far_mass - near_mass)  # of the frozen columns in the whole softmax
    return (far * share + near * (1 - share)).to(own.v.dtype).reshape(rows, heads, columns, dim)


def _softmax_parts(q: Tensor, kv: KV, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Attention and its log-sum-exp. [B, K, X, D] over [B, K, Y, D] -> [B, K, X, D], [B, K, X, 1]"""
    score = at_least_float32(q @ kv.k.transpose(-1, -2)).masked_fill(~visible, NEVER)
    mass = score.logsumexp(-1, keepdim=True)
    return (score - mass).exp().to(kv.v.dtype) @ kv.v, mass


def _unpack(part: Tensor, slots: int, slot: Tensor) -> Tensor:
    """Pick each query row's slot. [C, K, N·X, D] -> [B, K, X, D]"""
    contexts, kv_heads, _, dim = part.shape
    return part.reshape(contexts, kv_heads, slots, -1, dim).transpose(1, 2).flatten(0, 1)[slot]
