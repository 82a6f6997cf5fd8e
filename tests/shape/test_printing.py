"""One way to the terminal: what prints elsewhere could turn a model's text into colours, emoji or worse."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import infogain

SOURCE = Path(infogain.__file__).parent
# What makes of words more than words, and what to use in its place; all are free to be called in cli/terminal.py.
CALLS = {
    "Console": "Terminal",
    "TextColumn": "progress.Label",
    "from_markup": "literal",
    "render_markup": "literal",
    "get_console": "Terminal",
    "status": "busy",
    "secho": "say",
    "echo": "say",
}
ALLOWED = {
    "terminal.py": set(CALLS),
    "group.py": {"echo"},  # writes to a stream that click names
    "recipe.py": {"echo"},  # TOML, to be read back as it is
}


def called(path: Path) -> set[str]:
    functions = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return {getattr(function, "attr", getattr(function, "id", "")) for function in functions}


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.name)
def test_commands_print_through_the_terminal(path: Path) -> None:
    strange = (called(path) & set(CALLS)) - ALLOWED.get(path.name, set())
    assert not strange, "; ".join(f"{path.name} calls {name}: use {CALLS[name]}" for name in strange)
    assert "print" not in {name.id for name in ast.walk(ast.parse(path.read_text())) if isinstance(name, ast.Name)}


def test_nothing_outside_the_command_line_prints_with_rich() -> None:
    found = [str(path) for path in SOURCE.rglob("*.py") if "cli" not in path.parts and "rich" in imported(path)]
    assert found == []


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}
