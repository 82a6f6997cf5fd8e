"""A protocol: how a task is posed and how often, as one value that is stored with the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from infogain.errors import OptionError
from infogain.options import MOST, Options, Plain, option, plain

STYLES = ("chat", "plain", "infill")


@dataclass(frozen=True)
class Protocol(Options):
    name: ClassVar[str] = "protocol"

    style: str = option("plain", "chat template, plain text to go on with, or text with holes", choices=STYLES)
    shots: int = option(0, "worked examples before each problem", low=0, high=MOST)
    length: int | None = option(None, "tokens to write; an infilled text has its holes", low=1, high=MOST)
    seeds: int = option(5, "times each problem is decoded", low=1, high=MOST)
    limit: int | None = option(None, "problems, from the first on; unset: all", low=1, high=MOST)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.style == "infill") != (self.length is None):
            raise OptionError(
                f"protocol: a text with holes (style infill) has no length, all others have one; got style "
                f"{self.style!r} and length {self.length}. {'Drop' if self.length else 'Give'} --length."
            )

    def plain(self) -> Plain:
        table = plain(self)
        del table["name"]
        return table
