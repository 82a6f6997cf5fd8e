"""Fused operations, one function each: it runs a Triton kernel where one can work, and lines of torch elsewhere.

`layers.py` has the functions and their torch lines, `layers_triton.py` beside it the kernels, and so on.
Triton is imported when a kernel first runs.
"""

from infogain.kernels.attention import Keys, Shared, attend, attend_shared, places
from infogain.kernels.columns import (
    Spots,
    Statistics,
    at_least_float32,
    draw,
    number,
    of_columns,
    probability,
    rows_contiguous,
    spread,
    statistics,
    strike,
)
from infogain.kernels.hashing import noise
from infogain.kernels.layers import Angles, Heads, add_norm, gate, turn

__all__ = [
    "Angles",
    "Heads",
    "Keys",
    "Shared",
    "Spots",
    "Statistics",
    "add_norm",
    "at_least_float32",
    "attend",
    "attend_shared",
    "draw",
    "gate",
    "noise",
    "number",
    "of_columns",
    "places",
    "probability",
    "rows_contiguous",
    "spread",
    "statistics",
    "strike",
    "turn",
]
