"""Prompts from the command line, a file or a pipe, each with its own length, seed and id where it has them."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from infogain.cli.terminal import is_text
from infogain.errors import InputError, UnknownName
from infogain.options import Plain
from infogain.text.prompts import Prompt, is_message

PATH = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
REST = "(docs/use.md says what else it may hold); - is the standard input"
FILE = click.option(
    "--file", type=PATH, help=f'a prompt per line: plain text, or JSON with "prompt" or "messages" {REST}'
)
TEXT_FILE = click.option("--file", type=PATH, help=f'a text per line, as it is or as JSON with "prompt" {REST}')
SOURCES = ("prompt", "messages")
SEED_BITS = 63


@dataclass(frozen=True)
class PromptLine:
    """A prompt, and the settings of its own that its JSON line may hold."""

    prompt: Prompt
    id: str | int | None = None  # carried into the output
    length: int | None = None  # tokens to write
    seed: int | None = None


def read_prompts(
    given: Sequence[str], file: Path | None, what: str = "prompt", fields: Collection[str] = ()
) -> list[PromptLine]:
    """The prompts given, those of the file, or those piped in; a JSON line may set these `fields` of its own."""
    if given and file:
        raise InputError(f"{what}s come from the command line or from a file; got both. Drop one of them.")
    if given:
        return [PromptLine(prompt) for prompt in given]
    if file is None and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError(f"there must be a {what}: as an argument, in a --file, or through a pipe.")
    piped = file is None or str(file) == "-"
    name = "standard input" if piped else str(file)
    text = _text(sys.stdin.buffer.read() if piped else Path(name).read_bytes(), name)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError(f"{name} must hold a {what} per line; it is empty.")
    return [_parse(line, f"{name}, line {number}", fields) for number, line in lines]


def _text(raw: bytes, name: str) -> str:
    """UTF-8, whatever the terminal's encoding is; the mark that some editors put before it is no part of it."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} must be UTF-8 text; it is not: {error}. Convert it with iconv.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parse(line: str, where: str, fields: Collection[str]) -> PromptLine:
    if not line.lstrip().startswith("{"):
        return PromptLine(line)
    try:
        value: Plain = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: a line that begins with {{ must be JSON; it is not: {error}.") from error
    for name in value:
        if name not in (*SOURCES, *fields):
            raise UnknownName("field of a prompt", name, (*SOURCES, *fields), f" in {where}")
    return PromptLine(
        _prompt(value, where), **{name: _field(name, value[name], where) for name in fields if name in value}
    )


def _prompt(value: Plain, where: str) -> Prompt:
    text, messages = value.get("prompt"), value.get("messages")
    if isinstance(text, str) and messages is None:
        return _whole(text, where)
    if isinstance(messages, list) and messages and all(map(is_message, messages)) and text is None:
        for message in messages:
            _whole(message["content"], where)
        return messages
    found = "both" if text is not None and messages is not None else "neither"
    raise InputError(f'{where}: needs "prompt" (a text) or "messages" (each with role and content); it has {found}.')


def _whole(text: str, where: str) -> str:
    """JSON can spell half of a character ("\\ud83d"), which is no text."""
    if is_text(text):
        return text
    raise InputError(f"{where}: a text must be Unicode; it holds half of a surrogate pair: {text!r:.80}.")


RULES: dict[str, tuple[str, Any]] = {
    "id": ("a text or a whole number", lambda x: is_text(x) if isinstance(x, str) else _is_int(x)),
    "length": ("a whole number of at least 1", lambda x: _is_int(x) and x >= 1),
    "seed": ("a whole number of 64 bits", lambda x: _is_int(x) and -(2**SEED_BITS) <= x < 2**SEED_BITS),
}


def _field(name: str, value: Any, where: str) -> Any:
    rule, holds = RULES[name]
    if not holds(value):
        raise InputError(f"{where}: {name} must be {rule}; got {value!r:.80}.")
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
