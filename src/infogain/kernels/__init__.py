"""Fused operations, one function each: it runs a Triton kernel where one can work, and lines of torch elsewhere.

`stats.py` has the function and its torch lines, `stats_triton.py` beside it the kernels, and so on for the others.
Triton is imported when a kernel first runs.
"""

from infogain.kernels.attention import Keys, Shared, attend, attend_shared, places
from infogain.kernels.drawing import draw, of_columns, probability
from infogain.kernels.hashing import noise
from infogain.kernels.layers import Angles, Heads, add_norm, gate, turn
from infogain.kernels.stats import Statistics, number, spread, statistics, strike
from infogain.kernels.tensors import at_least_float32, rows_contiguous

__all__ = [
    "Angles",
    "Heads",
    "Keys",
    "Shared",
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
