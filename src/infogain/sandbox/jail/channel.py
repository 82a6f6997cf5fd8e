"""The messages between judge and program: a line of JSON each, of plain values only.

A value arrives as a copy of a built-in type, so that no method of the program's ever runs in the judge. What is not
plain stays where it is, and a handle stands for it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from typing import Any

LONGEST = 16 << 20  # bytes of a message
CHUNK = 1 << 16
SMALL = 1 << 53


class ChannelClosed(Exception):
    """The other side has gone, or says what cannot be read."""


class Channel:
    """Messages to and from another process, through the descriptor it `reads` and the one it `writes`."""

    def __init__(self, reads: int, writes: int) -> None:
        self.reads, self.writes, self.arrived = reads, writes, bytearray()

    def send(self, message: object) -> None:
        self.write(encode(message))

    def write(self, encoded: bytes) -> None:
        data = memoryview(encoded)
        with contextlib.suppress(BrokenPipeError):  # the other side has gone; reading will tell
            while data:
                data = data[os.write(self.writes, data) :]

    def receive(self) -> Any:
        try:
            return json.loads(self._line())
        except (ValueError, RecursionError) as error:
            raise ChannelClosed from error

    def _line(self) -> bytes:
        """Read chunk by chunk, so that an alarm is served between two of them, whatever the other side sends."""
        searched = 0
        while (end := self.arrived.find(b"\n", searched)) < 0:
            searched = len(self.arrived)
            chunk = os.read(self.reads, CHUNK)
            if not chunk or searched + len(chunk) > LONGEST:
                raise ChannelClosed
            self.arrived += chunk
        line = bytes(self.arrived[:end])
        del self.arrived[: end + 1]
        return line


def encode(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def pack(value: object, handle: Callable[[object], int]) -> object:
    """A plain value as JSON; `handle` gives the number of any other."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value) if abs(value) < SMALL else ["int", hex(value)]
    if isinstance(value, bytes | bytearray):
        return ["bytes", value.hex()]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, dict):
        return ["dict", [[pack(key, handle), pack(item, handle)] for key, item in value.items()]]
    for name, kind in PLURAL.items():
        if isinstance(value, kind):
            return [name, [pack(item, handle) for item in value]]
    if type(value).__name__ in ("Decimal", "Fraction"):
        return [type(value).__name__, str(value)]
    return ["handle", handle(value)]


def unpack(value: Any, handle: Callable[[int], object]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "handle":
        return handle(int(rest[0]))
    if kind == "dict":
        return {unpack(key, handle): unpack(item, handle) for key, item in rest[0]}
    if kind in PLURAL:
        return PLURAL[kind](unpack(item, handle) for item in rest[0])
    return SINGLE[kind](*rest)


def _number(kind: str, text: str) -> object:
    module = {"Decimal": "decimal", "Fraction": "fractions"}[kind]
    return getattr(__import__(module), kind)(text)


PLURAL: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
SINGLE: dict[str, Callable[..., object]] = {
    "int": lambda text: int(text, 16),
    "bytes": bytes.fromhex,
    "complex": complex,
    "Decimal": lambda text: _number("Decimal", text),
    "Fraction": lambda text: _number("Fraction", text),
}
