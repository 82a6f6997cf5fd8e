"""Text that is printed steers nothing, and nothing else of it changes."""

from __future__ import annotations

import sys
import unicodedata
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from infogain.cli.terminal import Terminal, harmless, literal, write

STEERING = "\x1b\x07\x08\r\x7f\x9b\x9d\u202e\u2066\u200f"
CODES = "x[1:100:2] [bold]a[/bold] :smile: [link=https://example.org]b[/link]"


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "40")
    shown = Terminal()
    shown.file = StringIO()
    return shown


def shown(console: Terminal) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_every_character_that_steers_is_replaced_by_one_sign_and_no_other_is() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    replaced = {sign for sign, shown in zip(everything, harmless(everything), strict=True) if sign != shown}
    controls = {sign for sign in everything if unicodedata.category(sign) == "Cc" or is_bidi_control(sign)}
    assert replaced == controls - {"\n", "\t"}
    assert harmless(harmless(everything)) == harmless(everything)


def is_bidi_control(sign: str) -> bool:
    """What Unicode calls a Bidi_Control: marks are told by their name, the others by their class."""
    mark = unicodedata.name(sign, "") in ("LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK")
    return mark or unicodedata.bidirectional(sign) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_controls_are_shown_as_what_they_are() -> None:
    assert harmless("\x1b]0;title\x07 ✓\xa0x\n\ty\x9b2J\x7f") == "␛]0;title␇ ✓\xa0x\n\ty�2J␡"


@given(st.text())
def test_a_text_is_written_as_it_is(text: str) -> None:
    console = Terminal()
    console.file = StringIO()
    write(console, text)
    assert shown(console) == harmless(text) + "\n"


@pytest.mark.parametrize("text", ["a\tb" + " " * 60, " " * 90, "x" * 200 + "\n\n", CODES, STEERING])
def test_long_lines_tabs_and_spaces_at_an_end_stay(text: str, console: Terminal) -> None:
    write(console, text)
    assert shown(console) == harmless(text) + "\n"


@pytest.mark.parametrize("make", [str, Text, literal])
def test_whatever_is_printed_or_stands_in_a_table_steers_nothing(make: type[str], console: Terminal) -> None:
    table = Table()
    for title in (f"{STEERING}title", ":smile:"):
        table.add_column(make(title))
    table.add_row(make(f"{STEERING}cell"), make("[b]a[/b]"))
    console.print(make(STEERING), make(CODES), soft_wrap=True)
    console.print(table)
    words, *rows = shown(console).splitlines()
    assert not set(shown(console)) & set(STEERING)
    assert "␛" in words
    assert words.endswith(CODES)
    assert ":smile:" in rows[1]
    assert "[b]a[/b]" in "".join(rows)
    assert len({len(row) for row in rows}) == 1, "rows keep their width"


def test_colours_stay_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console = Terminal()
    console.file = StringIO()
    console.print(Text("a\x1bb") + Text("c", "bold"))
    assert shown(console) == "a␛b\x1b[1mc\x1b[0m\n"
