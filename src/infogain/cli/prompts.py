"""Prompts from the command line, a file or a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from infogain.errors import InputError
from infogain.job import Prompt, is_message

FILE = click.option(
    "--file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help='a prompt per line: plain text, or JSON with "prompt" or "messages"; - is the standard input',
)


def read_prompts(given: Sequence[str], file: Path | None, what: str = "prompt") -> list[Prompt]:
    """Those given, those of the file, or those that are piped in."""
    if given and file:
        raise InputError(f"{what}s come from the command line or from a file; got both. Drop one of them.")
    if given:
        return list(given)
    if file is None and sys.stdin.isatty():
        raise InputError(f"there must be a {what}: as an argument, in a --file, or through a pipe.")
    piped = file is None or str(file) == "-"
    name = "standard input" if piped else str(file)
    text = sys.stdin.read() if piped else _read(Path(str(file)))
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise InputError(f"{name} must hold a {what} per line; it is empty.")
    return [_parse(line, f"{name}, line {number}") for number, line in lines]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8 text; it is not: {error}.") from error


def _parse(line: str, where: str) -> Prompt:
    if not line.lstrip().startswith("{"):
        return line
    try:
        value: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: a line that begins with {{ must be JSON; it is not: {error}.") from error
    if isinstance(value.get("prompt"), str):
        return str(value["prompt"])
    messages = value.get("messages")
    if isinstance(messages, list) and messages and all(map(is_message, messages)):
        return messages
    raise InputError(f'{where}: needs "prompt" (a text) or "messages" (each with role and content); it has neither.')
