"""How numbers are written: rounded, with a true minus sign, a dash for what is not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

NONE = "–"  # a number that is not known, or does not exist


def number(x: float | None, digits: int = 1, scale: float = 1.0, signed: bool = False) -> str:
    """A rounded number such as `1.5`, `+1.5` or `−1.5`; zero has no sign unless it is asked for."""
    return NONE if x is None else f"{scale * x:{'+z' if signed else 'z'}.{digits}f}".replace("-", "−")


def grouped(x: float | None, digits: int = 0, scale: float = 1.0) -> str:
    """A rounded number with commas between thousands: `12,345`."""
    return NONE if x is None else f"{scale * x:,.{digits}f}"


def percent(share: float | None) -> str:
    """A share in per cent, without the sign: `.5` is `50.0`."""
    return number(share, scale=100)


def bounds(low: float, high: float, digits: int = 1, scale: float = 1.0, signed: bool = False) -> str:
    """Both ends of an interval, such as `[84.7, 99.5]`; `[–]` where nothing tells them."""
    if math.isnan(low + high):
        return f"[{NONE}]"
    return f"[{number(low, digits, scale, signed)}, {number(high, digits, scale, signed)}]"


def six_digits(value: Any) -> Any:
    """A value for JSON with every float in it rounded to six digits, which are enough for a file."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: six_digits(part) for key, part in value.items()}
    return [six_digits(part) for part in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
