"""What an engine has done so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class EngineCounts:
    """What has happened since the engine began."""

    requests: int = 0
    answered: int = 0
    failed: int = 0
    cancelled: int = 0
    late: int = 0
    turned_away: int = 0
    rows: int = 0  # finished
    tokens: int = 0  # committed
    steps: int = 0
    token_forwards: int = 0
    seconds_per_row: float = 0.0  # between two rows that finish, as of late
