"""Attention of candidate windows: over their own columns, and over frozen ones that candidates of a row share.

One kernel does both parts. The frozen columns are cut into pieces that different programs read, so that a
single row keeps the whole GPU busy; a second kernel merges the pieces by their log-sum-exp. No key is copied.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

PROGRAMS = 264  # that keep a large GPU busy: two for each multiprocessor
KEYS = 64  # columns a program looks at together


@triton.jit
def _look(q, k, v, seen, scale, m, mass, acc, PRECISION: tl.constexpr):
    """One tile of keys, taken into a running softmax."""
    score = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    score = tl.where(seen, score, -1e30)
    top = tl.maximum(m, tl.max(score, 1))
    p = tl.where(seen, tl.exp(score - top[:, None]), 0.0)
    fade = tl.exp(m - top)
    acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
    return top, mass * fade + tl.sum(p, 1), acc


@triton.jit
def _attend(
    q, k, v, far_k, far_v, frozen, row, live, reach, out, log_mass, scale, columns,
    q_row, q_column, q_head, k_row, k_column, k_head, v_row, v_column, v_head,
    far_row, far_head, far_column, frozen_row, rows, heads,
    Q: tl.constexpr, OWN: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, KEYS: tl.constexpr,
    PIECES: tl.constexpr, HAS_REACH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, kv = tl.program_id(0) // (heads // GROUP), tl.program_id(0) % (heads // GROUP)
    piece = tl.program_id(2)
    line = tl.program_id(1) * TILE + tl.arange(0, TILE)  # a query: a head of the group, and a column
    head, column = kv * GROUP + line // Q, line % Q
    real = line < GROUP * Q
    d = tl.arange(0, D)
    at = b.to(tl.int64) * q_row + column[:, None] * q_column + head[:, None] * q_head + d[None]
    query = tl.load(q + at, mask=real[:, None], other=0.0)
    m = tl.full((TILE,), -1e30, tl.float32)
    mass = tl.zeros((TILE,), tl.float32)
    acc = tl.zeros((TILE, D), tl.float32)

    c = tl.load(row + b)
    if HAS_REACH:
        columns = tl.load(reach)
    span = tl.cdiv(tl.cdiv(columns, KEYS), PIECES) * KEYS
    base = c.to(tl.int64) * far_row + kv * far_head
    for start in range(piece * span, tl.minimum(columns, piece * span + span), KEYS):
        far = start + tl.arange(0, KEYS)
        seen = tl.load(frozen + c * frozen_row + far, mask=far < columns, other=0) != 0
        place = base + far[:, None].to(tl.int64) * far_column + d[None]
        keys = tl.load(far_k + place, mask=seen[:, None], other=0.0)
        values = tl.load(far_v + place, mask=seen[:, None], other=0.0)
        m, mass, acc = _look(query, keys, values, seen[None], scale, m, mass, acc, PRECISION)
    if piece == PIECES - 1:
        own = tl.arange(0, OWN)
        seen = tl.load(live + b * Q + own, mask=own < Q, other=0) != 0
        k_at = b.to(tl.int64) * k_row + own[:, None] * k_column + kv * k_head + d[None]
        v_at = b.to(tl.int64) * v_row + own[:, None] * v_column + kv * v_head + d[None]
        keys = tl.load(k + k_at, mask=seen[:, None], other=0.0)
        values = tl.load(v + v_at, mask=seen[:, None], other=0.0)
        m, mass, acc = _look(query, keys, values, seen[None], scale, m, mass, acc, PRECISION)

    safe = tl.maximum(mass, 1e-30)
    spot = ((piece * rows + b).to(tl.int64) * Q + column) * heads + head  # [PIECES, B, Q, H]
    tl.store(out + spot[:, None] * D + d[None], (acc / safe[:, None]).to(out.dtype.element_ty), mask=real[:, None])
    if PIECES > 1:
        tl.store(log_mass + spot, m + tl.log(safe), mask=real)


@triton.jit
def _merge(parts, log_mass, out, total, PIECES: tl.constexpr, D: tl.constexpr, LINES: tl.constexpr):
    line = tl.program_id(0) * LINES + tl.arange(0, LINES)
    real = line < total
    d = tl.arange(0, D)
    m = tl.full((LINES,), -1e30, tl.float32)
    for piece in range(PIECES):
        m = tl.maximum(m, tl.load(log_mass + piece * total + line, mask=real, other=-1e30))
    mass = tl.zeros((LINES,), tl.float32)
    acc = tl.zeros((LINES, D), tl.float32)
    for piece in range(PIECES):
        spot = piece * total + line
        share = tl.exp(tl.load(log_mass + spot, mask=real, other=-1e30) - m)
        acc += share[:, None] * tl.load(parts + spot[:, None].to(tl.int64) * D + d[None], mask=real[:, None], other=0.0)
        mass += share
    place = line[:, None].to(tl.int64) * D + d[None]
    tl.store(out + place, (acc / mass[:, None]).to(out.dtype.element_ty), mask=real[:, None])


def attend_shared(
    q: Tensor, k: Tensor, v: Tensor, far_k: Tensor, far_v: Tensor, frozen: Tensor, row: Tensor, live: Tensor,
    reach: Tensor | None,
) -> Tensor:  # fmt: skip
    """q [B, Q, H, D] over own k, v [B, Q, K, D], live [B, Q], and over far_k, far_v [C, K, L, D], frozen [C, L].

    `row` [B] says which context row each reads; `reach` holds the number of
    frozen columns in use; unset: all. -> [B, Q, H, D]
    """
    rows, columns, heads, dim = q.shape
    assert far_k.stride() == far_v.stride()
    kv = k.shape[2]
    lines = heads // kv * columns
    tile = min(64, max(16, triton.next_power_of_2(lines)))
    tiles = triton.cdiv(lines, tile)
    most = max(1, triton.cdiv(far_k.shape[2], KEYS))
    pieces = min(most, 8, max(1, PROGRAMS // (rows * kv * tiles)))
    out = torch.empty((rows, columns, heads, dim), dtype=q.dtype, device=q.device)
    split = pieces > 1
    parts = torch.empty((pieces, *out.shape), dtype=torch.float32, device=q.device) if split else out
    log_mass = torch.empty(parts.shape[:-1] if split else (1,), dtype=torch.float32, device=q.device)
    _attend[(rows * kv, tiles, pieces)](
        q, k, v, far_k, far_v, frozen, row, live, row if reach is None else reach, parts, log_mass, dim**-0.5,
        far_k.shape[2], *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *far_k.stride()[:3], frozen.stride(0),
        rows, heads,
        Q=columns, OWN=max(16, triton.next_power_of_2(columns)), GROUP=heads // kv, D=dim, TILE=tile, KEYS=KEYS,
        PIECES=pieces, HAS_REACH=reach is not None, PRECISION="ieee" if q.dtype == torch.float32 else "tf32",
        num_warps=4,
    )  # fmt: skip
    if split:
        total = rows * columns * heads
        _merge[(triton.cdiv(total, 8),)](parts, log_mass, out, total, PIECES=pieces, D=dim, LINES=8)
    return out
