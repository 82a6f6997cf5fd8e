"""The rows of a cell once they are decoded, and as text: for those that another machine judges."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from infogain.zoo.tasks import Problem


class CellRow(NamedTuple):
    """A row to decode: a problem from a seed."""

    number: int  # of the problem
    turn: int  # of the seed
    problem: Problem
    seed: int  # of the row


class Decoded(NamedTuple):
    """Rows that were decoded together: of each its text and H̃, and numbers by name."""

    done: list[tuple[CellRow, str, float]]
    numbers: dict[str, Tensor]


def pack(parts: Iterable[Decoded]) -> str:
    """Everything that is to be judged, in few characters."""
    plain = [
        [
            [(row.number, row.turn, row.seed, text, entropy) for row, text, entropy in part.done],
            {name: values.double().tolist() for name, values in part.numbers.items()},
        ]
        for part in parts
    ]
    return b64encode(zlib.compress(json.dumps(plain).encode(), 9)).decode()


def unpack(packed: str, problems: Sequence[Problem]) -> Iterator[Decoded]:
    """What `pack` was given; `problems` are those of the cell."""
    for rows, numbers in json.loads(zlib.decompress(b64decode(packed))):
        done = [
            (CellRow(number, turn, problems[number], seed), text, entropy) for number, turn, seed, text, entropy in rows
        ]
        yield Decoded(done, {name: torch.tensor(values, dtype=torch.float64) for name, values in numbers.items()})
