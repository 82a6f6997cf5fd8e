"""The table of forms: right programs are read from all of them, wrong ones from none, in time that grows evenly."""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from types import ModuleType

import pytest
from tools.code_forms import TASKS, WRONG, Form, main, problem, read_table

from infogain.evals.snippets import read_program, snippets

FORMS = read_table()
RIGHT = [form for form in FORMS if form.right]
FILLED = [form for form in RIGHT if "<<function" in form.text or "<<body" in form.text]
PROMPT = 'from typing import List\n\ndef half(x):\n    """ Half of x. """\n'
HOSTILE = {
    "words": "It's a word, from here on.\n",
    "words that begin as code does": "from the above\n",
    "decorators of nothing": "@a\n",
    "brackets that never close": "x = (\n",
    "strings that never close": "x = '''\n",
    "lines that go on": "x = \\\n",
    "empty fences": "```\n",
    "blocks that are never filled": "def f():\n if x:\n",
    "attempts at nothing": "try:\n",
    "one definition after the other": "def half(x):\n    return x\n",
    "definitions that break off": "def half(x):\n    return (\n",
    "stubs": "def half(x):\n    pass\n",
    "null bytes": "\0",
    "halves of a character": "\ud800\n",
}


def names(forms: list[Form]) -> list[str]:
    return [f"{form.task}: {form.form}" for form in forms]


def passes(form: Form, solution: str | None = None) -> bool:
    """Is the form, with another solution filled in where one is given, read as a program that passes the tests?"""
    item, parts = problem(form.task, solution) if solution else problem(form.task)
    task = TASKS[form.task]
    program, tests = task.program(item, form.fill(parts)), task.tests(item)
    module, limit = ModuleType("program"), sys.getrecursionlimit()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.setitem(sys.modules, "program", module)
        patch.setattr(sys, "stdin", None)
        try:
            exec(compile(program, "program", "exec", dont_inherit=True), module.__dict__)
            exec(compile(tests, "tests", "exec", dont_inherit=True), {"__name__": "tests"})
        except (Exception, SystemExit):
            return False
        finally:
            sys.setrecursionlimit(limit)
    return True


@pytest.mark.parametrize("form", RIGHT, ids=names(RIGHT))
def test_a_right_program_passes_in_every_form(form: Form) -> None:
    assert passes(form)


@pytest.mark.parametrize("form", FILLED, ids=names(FILLED))
def test_a_wrong_program_fails_in_every_form(form: Form) -> None:
    assert not passes(form, WRONG)


@pytest.mark.parametrize(
    "form", [form for form in FORMS if not form.right], ids=lambda form: f"{form.task}: {form.form}"
)
def test_nothing_right_is_read_where_there_is_nothing_right(form: Form) -> None:
    assert not passes(form)


def test_a_form_has_one_line_in_the_table() -> None:
    assert [name for name, count in Counter(names(FORMS)).items() if count > 1] == []


def test_only_what_python_would_redefine_passes_with_evalplus_and_not_here() -> None:
    """EvalPlus keeps the first of two definitions in a program; Python, and so this reader, the last."""
    anew = ["defined anew, wrong", "set to something else", "its helper is defined anew, wrong"]
    differ = {form.form for form in FORMS if form.evalplus and not form.right}
    assert differ == {f"right, then {what}" for what in anew}


def test_the_table_can_be_run_as_a_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tools.code_forms.passed", lambda jobs: ["min(numbers)" in program for program, _ in jobs])
    monkeypatch.setattr("tools.code_forms.read_table", lambda: [FORMS[0], Form("mbpp", "empty", "", right=True)])
    monkeypatch.setattr(sys, "argv", ["code_forms"])
    assert main() == 1
    assert capsys.readouterr().out == (
        "humaneval: 1 forms of 1 solutions; 0 of 1 texts fail\nmbpp: 1 forms of 1 solutions; 1 of 1 texts fail\n"
        "  empty: 1 (0)\n"
    )


def test_the_table_shows_what_is_taken_for_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.code_forms.passed", lambda jobs: [True for _ in jobs])
    monkeypatch.setattr("tools.code_forms.read_table", lambda: [FORMS[0], Form("mbpp", "empty", "", right=False)])
    monkeypatch.setattr(sys, "argv", ["code_forms"])
    assert main() == 1
    assert "mbpp: 1 forms of 1 solutions; 1 of 1 texts are taken for right" in capsys.readouterr().out


def test_a_text_that_evalplus_cannot_encode_is_one_that_it_does_not_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = ModuleType("evalplus.sanitize")
    stand_in.__dict__["sanitize"] = lambda text, _: text.encode().decode()
    monkeypatch.setitem(sys.modules, "evalplus", ModuleType("evalplus"))
    monkeypatch.setitem(sys.modules, "evalplus.sanitize", stand_in)
    monkeypatch.setattr("tools.code_forms.passed", lambda jobs: ["min(numbers)" in program for program, _ in jobs])
    forms = [form for form in FORMS if form.form in ("nothing but the function", "a lone surrogate behind it")]
    monkeypatch.setattr("tools.code_forms.read_table", lambda: [form for form in forms if form.task == "mbpp"])
    monkeypatch.setattr("tools.code_forms.TASKS", {"mbpp": TASKS["mbpp"]})
    monkeypatch.setattr(sys, "argv", ["code_forms", "--evalplus"])
    assert main() == 1
    assert capsys.readouterr().out == (
        "mbpp: 2 forms of 1 solutions; 1 of 2 texts fail\n  a lone surrogate behind it: 1 (0)\n"
        "  the table's column `evalplus` differs: nowhere\n"
    )


def test_without_evalplus_the_tool_says_in_a_line_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evalplus", None)
    monkeypatch.setattr(sys, "argv", ["code_forms", "--evalplus"])
    with pytest.raises(SystemExit, match=r"^--evalplus reads texts with EvalPlus.*pip install evalplus==0\.3\.1$"):
        main()


@pytest.mark.parametrize("line", HOSTILE.values(), ids=list(HOSTILE))
def test_a_text_twice_as_long_takes_the_parser_twice_as_long(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is longer than the longest piece, which is made short here."""
    monkeypatch.setattr("infogain.evals.snippets.LONGEST", 30)
    short, long = (characters_parsed(line * count) for count in (300, 600))
    assert long < 2.5 * short


def characters_parsed(text: str) -> int:
    parse, read = ast.parse, list[int]()

    def counted(source: str) -> ast.Module:
        read.append(len(source))
        return parse(source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ast, "parse", counted)
        read_program(text, "half", PROMPT)
    return sum(read)


@pytest.mark.parametrize(
    "rest", ["(" * 10_000, "-" * 10_000 + "1", "a " * 10_000, "[" * 150 + "]" * 150, "lambda: " * 900 + "1"]
)
def test_what_no_parser_can_bear_is_left_out(rest: str) -> None:
    program = "def half(x):\n    return x / 2"
    assert read_program(f"{program}\n\n\nx = {rest}\n", "half") == program


def test_a_piece_is_the_longest_run_of_lines_that_parses() -> None:
    text = (
        "Words.\n\n    import math\n    TWO = 2\n\nMore words.\ndef half(x):\n    if x:\n        return x / 2\n    else"
    )
    assert [[s.source.strip() for s in piece.statements] for piece in snippets(text)] == [
        ["import math", "TWO = 2"],
        ["def half(x):\n    if x:\n        return x / 2"],
    ]
    assert [piece.broken for piece in snippets(text)] == [False, True]
