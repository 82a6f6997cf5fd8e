"""Printing on a terminal: nothing in a text becomes a colour, an emoji or an order to the terminal.

A model may write anything, and so may the author of a file name, a prompt or a checkpoint's config.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment, Segments
from rich.status import Status
from rich.text import Text

PICTURES, DELETE, UNSHOWN = 0x2400, 0x7F, 0xFFFD  # ␀ and those that follow it, ␡ in place of DEL, �
BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # they reorder what stands around them
VISIBLE: dict[int, int] = {
    **{code: PICTURES + code for code in range(0x20) if chr(code) not in "\n\t"},
    DELETE: 0x2421,
    **dict.fromkeys([*range(0x80, 0xA0), *BIDI], UNSHOWN),
}


def is_text(text: str) -> bool:
    """Whether it has no half of a surrogate pair, which Python puts where bytes were no UTF-8."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def harmless(text: str) -> str:
    """The text with a visible sign for each control character but newlines and tabs: ␛ for ESC, � where none is."""
    return text.translate(VISIBLE)


def literal(text: str, style: str = "") -> Text:
    """A text for a table or a live display, with control characters shown, which rich drops in silence."""
    return Text(harmless(text), style)


class Terminal(Console):
    """The console of every command: neither markup nor emoji codes nor control characters mean anything to it."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(harmless(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        if isinstance(renderable, Text):
            renderable = renderable.copy()
            renderable.plain = harmless(renderable.plain)  # sign for sign, so that its colours stay where they were
        return super().render(renderable, options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # for the command group to end on, as it does where we print without rich


def write(console: Console, text: str, style: str | None = None) -> None:
    """Print a text and a newline as they are; rich would turn tabs into spaces and drop spaces at the end of lines."""
    console.print(Segments([Segment(f"{harmless(text)}\n")]), style=style, soft_wrap=True)


def say(text: str = "", err: bool = False, nl: bool = True) -> None:
    """Print a line of ours, in which names that others chose may stand."""
    click.echo(harmless(text), err=err, nl=nl)


def busy(words: str) -> Status:
    """A spinner on the error stream, as a context manager, that says what is going on."""
    return Terminal(stderr=True).status(literal(words))
