"""The kernels choose by themselves: whoever calls one does not know whether Triton or torch does the work."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import infogain

SOURCE = Path(infogain.__file__).parent
KERNELS = sorted((SOURCE / "kernels").glob("*.py"))
QUESTION = re.compile(r"\b(if|not|and|or|while) kernels\.|\bkernels\.(choice|usable)\b|\b(forward_only|can_attend)\b")
TRITON = re.compile(r"^triton\b|_triton$")


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, node.module or ""
            yield from ((node, alias.name) for alias in node.names)


def test_nobody_else_asks_where_a_kernel_runs() -> None:
    asking = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path not in KERNELS
        for line in path.read_text(encoding="utf-8").splitlines()
        if QUESTION.search(line)
    ]
    assert asking == []


def test_nobody_else_imports_triton_or_what_is_written_in_it() -> None:
    others = [path for path in sorted(SOURCE.rglob("*.py")) if path not in KERNELS]
    found = {str(path) for path in others for _, name in imports(ast.parse(path.read_text())) if TRITON.search(name)}
    assert found == set()


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_triton_is_imported_by_its_own_files_alone_and_those_when_a_kernel_first_runs(path: Path) -> None:
    tree = ast.parse(path.read_text())
    at_once = {name for node, name in imports(tree) if node in tree.body and TRITON.search(name)}
    assert bool(at_once) == path.stem.endswith("_triton"), at_once
    written_in_torch = path.with_name(path.name.replace("_triton", ""))
    assert written_in_torch.exists()
