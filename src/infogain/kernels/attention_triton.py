"""Attention of candidate windows over their own K/V, and over frozen K/V that the candidates of a row share.

One kernel does both parts. Where one program for each row and key head would leave the GPU idle, the frozen columns
are cut into pieces that different programs read, and a second kernel merges them by their log-sum-exp. No K/V are
copied.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from infogain.kernels.attention import KV

PROGRAMS = 264  # as many as keep a large GPU busy: two for each multiprocessor
MOST_PIECES = 16
KEYS = 64  # columns that a program looks at together
FEW = 2048  # with fewer queries, one program for each keeps more of the GPU busy than one for eight
LOG2_E = 1.4426950408889634  # powers of two are quicker than powers of e


@triton.jit
def _look(q, k, v, seen, scale, m, mass, acc, PRECISION: tl.constexpr):
    """Add one tile of keys to a running softmax. Scores that are not seen lie below the first maximum."""
    score = tl.where(seen, tl.dot(q, tl.trans(k), input_precision=PRECISION), -1e38)
    top = tl.maximum(m, tl.max(score, 1) * scale)
    p = tl.exp2(score * scale - top[:, None])
    fade = tl.exp2(m - top)
    acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
    return top, mass * fade + tl.sum(p, 1), acc


@triton.jit
def _attend(
    q, k, v, far_k, far_v, window, live, out, log_mass, scale,
    q_row, q_column, q_head, k_row, k_column, k_head, v_row, v_column, v_head,
    far_row, far_head, far_column, rows, columns, pieces, each,
    Q: tl.constexpr, OWN: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    TILE: tl.constexpr, KEYS: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr, SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    b, kv, piece = tl.program_id(0) // KV_HEADS, tl.program_id(0) % KV_HEADS, tl.program_id(2)
    row, first = tl.load(window + b * 4), tl.load(window + b * 4 + 1)
    last, limit = tl.load(window + b * 4 + 2), tl.load(window + b * 4 + 3)
    if WIDE:
        limit = tl.where(last >= limit, tl.minimum(first, limit), limit)  # one that runs to the end: nothing behind it
    else:
        columns = Q
    line = tl.program_id(1) * TILE + tl.arange(0, TILE)  # a query: a head of the group, and a column
    head, column = kv * GROUP + line // Q, line % Q
    real = (line < GROUP * Q) & (column < columns)
    d = tl.arange(0, D)
    at = b.to(tl.int64) * q_row + column[:, None] * q_column + head[:, None] * q_head + d[None]
    query = tl.load(q + at, mask=real[:, None], other=0.0)
    m = tl.full((TILE,), -1e30, tl.float32)
    mass = tl.zeros((TILE,), tl.float32)
    acc = tl.zeros((TILE, D), tl.float32)

    tiles = tl.cdiv(limit, KEYS) + 1  # the last one: the row's own columns
    base = row.to(tl.int64) * far_row + kv * far_head
    begin = ((piece * tiles + 0.5) * each).to(tl.int32)  # piece · tiles / pieces: a division takes longer
    end = (((piece + 1) * tiles + 0.5) * each).to(tl.int32)
    for tile in range(begin, tl.minimum(tiles - 1, end)):
        far = tile * KEYS + tl.arange(0, KEYS)
        seen = (far < limit) & ((far - first).to(tl.uint32) >= (last - first).to(tl.uint32))  # outside first to last
        offset = far[:, None] * far_column + d[None]
        keys = tl.load(far_k + base + offset, mask=(far < limit)[:, None], other=0.0)
        values = tl.load(far_v + base + offset, mask=(far < limit)[:, None], other=0.0)
        m, mass, acc = _look(query, keys, values, seen[None], scale, m, mass, acc, PRECISION)
    if piece == pieces - 1:
        for begin in range(0, Q, OWN):
            own = begin + tl.arange(0, OWN)
            seen = tl.load(live + b * columns + own, mask=own < columns, other=0) != 0
            k_at = b.to(tl.int64) * k_row + own[:, None] * k_column + kv * k_head + d[None]
            v_at = b.to(tl.int64) * v_row + own[:, None] * v_column + kv * v_head + d[None]
            keys = tl.load(k + k_at, mask=seen[:, None], other=0.0)
            values = tl.load(v + v_at, mask=seen[:, None], other=0.0)
            seen_by = seen[None] & (own[None] // BLOCK <= column[:, None] // BLOCK)
            m, mass, acc = _look(query, keys, values, seen_by, scale, m, mass, acc, PRECISION)

    safe = tl.maximum(mass, 1e-30)
    spot = ((piece * rows + b).to(tl.int64) * columns + column) * (KV_HEADS * GROUP) + head  # [pieces, B, Q, H]
    mixed = (acc * (1 / safe)[:, None]).to(out.dtype.element_ty)
    tl.store(out + spot[:, None] * D + d[None], mixed, mask=real[:, None])
    if SPLIT:
        tl.store(log_mass + spot, m + tl.log2(safe), mask=real)


@triton.jit
def _merge(parts, log_mass, out, total, pieces, ROOM: tl.constexpr, LINES: tl.constexpr, D: tl.constexpr):
    """Merge the pieces of a few queries: each counts as much as the softmax has mass there."""
    line = tl.program_id(0) * LINES + tl.arange(0, LINES)
    d = tl.arange(0, D)
    top = tl.full((LINES,), -1e30, tl.float32)
    for piece in tl.static_range(ROOM):
        real = (line < total) & (piece < pieces)
        top = tl.maximum(top, tl.load(log_mass + piece * total + line, mask=real, other=-2e30))
    mixed = tl.zeros((LINES, D), tl.float32)
    whole = tl.zeros((LINES,), tl.float32)
    for piece in tl.static_range(ROOM):
        real = (line < total) & (piece < pieces)
        spot = piece * total + line
        share = tl.exp2(tl.load(log_mass + spot, mask=real, other=-2e30) - top)
        part = tl.load(parts + spot[:, None].to(tl.int64) * D + d[None], mask=real[:, None], other=0.0)
        mixed += share[:, None] * part.to(tl.float32)
        whole += share
    offset = line[:, None].to(tl.int64) * D + d[None]
    tl.store(out + offset, (mixed * (1 / whole)[:, None]).to(out.dtype.element_ty), mask=(line < total)[:, None])


def plan(groups: int, lines: int, columns: int) -> tuple[int, int, int]:
    """How to cut the work: queries per program, programs for a group's `lines` of queries, pieces of frozen columns."""
    tile = min(64, max(16, triton.next_power_of_2(lines)))
    tiles = triton.cdiv(lines, tile)
    most = max(1, triton.cdiv(columns, KEYS))
    return tile, tiles, min(most, MOST_PIECES, max(1, PROGRAMS // (groups * tiles)))


def stages(q: Tensor) -> int:
    """How many tiles of K/V are loaded ahead: as many as shared memory has room for, at most three."""
    if not q.is_cuda:
        return 1
    device: Any = torch.cuda.get_device_properties(q.device)
    size = q.element_size() * q.shape[-1]
    free = int(device.shared_memory_per_block_optin) - size * (64 + KEYS)
    return max(1, min(3, free // (2 * KEYS * size)))


def attend_candidates(q: Tensor, own: KV, far: KV, window: Tensor, live: Tensor, block: int) -> Tensor:
    """Attention of q [B, Q, H, D] over own K/V [B, Q, K, D], live [B, Q], and far K/V [C, K, L, D]. -> [B, Q, H, D]

    `window` [B, 4], int32, says which context row each reads (`row, first, last, limit`): its columns before `limit`,
    except those from `first` to `last`. Own columns see their own block and the blocks before it, each `block` wide.
    """
    live = live.contiguous()
    rows, columns, heads, dim = q.shape
    (k, v), (far_k, far_v) = own, far
    assert far_k.stride() == far_v.stride()  # the kernel is given one set for both
    kv = k.shape[2]
    # A wide window is compiled for whole tiles: one that shrinks from block to block has few kernels.
    own = min(KEYS, max(16, triton.next_power_of_2(columns)))
    width = columns if columns <= KEYS else triton.cdiv(columns, KEYS) * KEYS
    tile, tiles, pieces = plan(rows * kv, heads // kv * width, far_k.shape[2])
    out = torch.empty((rows, columns, heads, dim), dtype=q.dtype, device=q.device)
    parts = out.new_empty((pieces, *out.shape)) if pieces > 1 else out
    log_mass = out.new_empty(parts.shape[:-1] if pieces > 1 else (1,), dtype=torch.float32)
    _attend[(rows * kv, tiles, pieces)](
        q, k, v, far_k, far_v, window, live, parts, log_mass, dim**-0.5 * LOG2_E,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *far_k.stride()[:3], rows, columns, pieces, 1 / pieces,
        Q=width, OWN=own, KV_HEADS=kv, GROUP=heads // kv, D=dim, TILE=tile, KEYS=KEYS,
        BLOCK=block if block < columns else width, WIDE=columns > KEYS, SPLIT=pieces > 1,
        PRECISION="ieee" if q.dtype == torch.float32 else "tf32",
        num_warps=4, num_stages=stages(q),
    )  # fmt: skip
    if pieces > 1:
        total = rows * columns * heads
        lines, warps = (1, 1) if total < FEW else (8, 4)
        room = triton.next_power_of_2(pieces)
        _merge[(triton.cdiv(total, lines),)](
            parts, log_mass, out, total, pieces, ROOM=room, LINES=lines, D=dim, num_warps=warps
        )
    return out
