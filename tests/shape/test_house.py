"""How the code is cut: short functions, short files, few parameters, and every name once.

Each list of exceptions names what is there already. It may only shrink: one that no longer holds fails too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import infogain

SOURCE = Path(infogain.__file__).parent
LINES_OF_A_FUNCTION, LINES_OF_A_MODULE, LINES_OF_A_SAMPLER, PARAMETERS = 50, 300, 70, 7
Definition = ast.FunctionDef | ast.ClassDef

LONG_FUNCTIONS = {"kernels.attention_triton._attend"}
LONG_MODULES: set[str] = set()
MANY_PARAMETERS = {  # public calls and options; a Triton kernel is given every number by itself, and is left out
    "generate.decode_job",
    "generate.generate",
    "generate.stream",
    "images.generate_images.generate_images",
    "images.image_model.load_image_model",
    "load.load",
    "options.option",
}
TWICE = {  # classes
    "Countdown",
    "Sudoku",
}
FILES_TWICE = {  # a command, a study or a task may be called as what it is about
    "countdown.py",
    "demo.py",
    "drift.py",
    "frequencies.py",
    "generate.py",
    "judge.py",
    "judgement.py",
    "oneway.py",
    "recipe.py",
    "reproduce.py",
    "samplers.py",
    "sudoku.py",
    "threshold.py",
    "writing.py",
}
LEANING: set[str] = set()  # docstrings that do not stand alone


def modules() -> Iterator[tuple[str, Path]]:
    """Every module by its name within the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"), path


def definitions() -> Iterator[tuple[str, Definition]]:
    """Every function and class, by the name of its module and its own."""
    for module, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Definition):
                yield f"{module}.{node.name}", node


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    return ((name, node) for name, node in definitions() if isinstance(node, ast.FunctionDef))


def parameters(node: ast.FunctionDef) -> int:
    named = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")])


def decorators(node: ast.FunctionDef) -> str:
    return " ".join(map(ast.unparse, node.decorator_list))


def test_functions_are_short() -> None:
    assert {name for name, node in functions() if _lines(node) > LINES_OF_A_FUNCTION} == LONG_FUNCTIONS


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_are_short() -> None:
    long = {name for name, path in modules() if len(path.read_text(encoding="utf-8").splitlines()) > LINES_OF_A_MODULE}
    assert long == LONG_MODULES


@pytest.mark.parametrize("name", list(infogain.samplers.SAMPLERS))
def test_a_sampler_is_on_a_page(name: str) -> None:
    path = SOURCE / "samplers" / f"{name.replace('-', '_')}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES_OF_A_SAMPLER


def test_functions_take_few_parameters() -> None:
    """Commands, which are given every flag, and kernels of Triton are exempt."""
    many = {name for name, node in functions() if parameters(node) > PARAMETERS and not _given_by_name(node)}
    assert many == MANY_PARAMETERS


def _given_by_name(node: ast.FunctionDef) -> bool:
    return any(word in decorators(node) for word in ("click.command", "triton.jit"))


def test_every_class_has_a_name_of_its_own() -> None:
    places = defaultdict(set)
    for name, node in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name].add(name)
    assert {name for name, found in places.items() if len(found) > 1} == TWICE


def test_every_file_has_a_name_of_its_own() -> None:
    places = defaultdict(set)
    for _, path in modules():
        if not path.name.startswith("__"):
            places[path.name].add(path)
    assert {name for name, found in places.items() if len(found) > 1} == FILES_TWICE


def test_docstrings_stand_alone() -> None:
    assert {name for name, node in definitions() if (ast.get_docstring(node) or "").startswith("The same")} == LEANING
