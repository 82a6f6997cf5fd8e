"""Fused operations, one function each: it runs a Triton kernel where one can work, and lines of torch elsewhere.

`layers.py` has the functions and their torch lines, `layers_triton.py` beside it the kernels, and so on.
Triton is imported when a kernel first runs.
"""

from infogain.kernels.attention import KV, Shared, attend, attend_shared, slots
from infogain.kernels.columns import (
    MaskedColumns,
    Statistics,
    at_least_float32,
    draw,
    exclude_mask_token,
    number_masked,
    of_columns,
    probability,
    rows_contiguous,
    spread,
    statistics,
)
from infogain.kernels.hashing import noise
from infogain.kernels.layers import Angles, Heads, add_norm, gate, rotate_heads

__all__ = [
    "KV",
    "Angles",
    "Heads",
    "MaskedColumns",
    "Shared",
    "Statistics",
    "add_norm",
    "at_least_float32",
    "attend",
    "attend_shared",
    "draw",
    "exclude_mask_token",
    "gate",
    "noise",
    "number_masked",
    "of_columns",
    "probability",
    "rotate_heads",
    "rows_contiguous",
    "slots",
    "spread",
    "statistics",
]
