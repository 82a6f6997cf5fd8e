"""Programs in answers: told from the words around them, put in their place, run by the sandbox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from infogain.evals.code import CodeTask, as_body, find_code
from infogain.evals.task import Item
from infogain.evals.tasks.humaneval import HumanEval, completed
from infogain.evals.tasks.mbpp import MBPP, function_of
from infogain.load import load

PROMPT = 'import math\n\ndef helper(x):\n    return x\n\ndef half(x):\n    """ Half of x. """\n'
TEST = "def check(candidate):\n    assert candidate(4) == 2\n    assert candidate(9) == 4.5\n"
ITEM = Item("HumanEval/0", PROMPT, "    return helper(x) / 2\n", {"test": TEST, "entry_point": "half"})
PROGRAM = "def half(x):\n    return x / 2\n"


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The sandbox's interface over a plain process."""

    def run_code(program: str, tests: str = "", *, unsafe: bool = False) -> SimpleNamespace:
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "tests.py").write_text(f"from program import *\n{tests}")
        done = subprocess.run([sys.executable, "-S", "tests.py"], cwd=tmp_path, capture_output=True, timeout=20)
        return SimpleNamespace(ok=done.returncode == 0, status="passed" if done.returncode == 0 else "failed")

    module = ModuleType("infogain.sandbox")
    module.__dict__.update(run_code=run_code, ready=lambda: None)
    monkeypatch.setitem(sys.modules, "infogain.sandbox", module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{PROGRAM}```",
        f"Sure! Here it is:\n```py\n{PROGRAM}```\nIt halves x. ```half(4)``` is 2.",
        f"First a sketch:\n```\nprint(1)\n```\nand now:\n```python\n{PROGRAM}```",
        f"```python\n{PROGRAM}",
        f"Sure, this works:\n\n{PROGRAM}\nIt halves x, you see.",
        PROGRAM,
    ],
)
def test_code_is_found_among_words(text: str) -> None:
    assert find_code(text, "half").strip() == PROGRAM.strip()


def test_where_no_block_defines_the_function_the_first_one_is_taken() -> None:
    assert find_code("```\na = 1\n```\n```\nb = 2\n```", "half") == "a = 1\n"
    assert find_code("not code at all, sorry!") == "not code at all, sorry!"


def test_a_body_is_indented_once() -> None:
    assert as_body("return 1\n") == "    return 1\n"
    assert as_body("\n    return 1\n") == "\n    return 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "    return x / 2\n",
        "    return helper(x) / 2\n\nThis is how one halves.",
        "```python\n    return x / 2\n```",
        "```python\nreturn x / 2\n```",
        f"```python\n{PROGRAM}```",
        "```python\ndef half(x):\n    return helper(x) / 2\n```",
        "```python\nimport math\n\ndef half(x):\n    return math.fsum([x]) / 2\n```",
    ],
)
def test_humaneval_takes_a_body_or_the_whole_function(text: str, sandbox: ModuleType) -> None:
    score = HumanEval().score(ITEM, text)
    assert score.right, score
    assert score.answer == completed(ITEM, text)
    assert score.answer is not None
    assert score.answer.startswith("import math\n\ndef helper(x):")


@pytest.mark.parametrize("text", ["", "    return x\n", "```python\ndef other(x):\n    return x / 2\n```", "I cannot."])
def test_humaneval_runs_the_tests(text: str, sandbox: ModuleType) -> None:
    score = HumanEval().score(ITEM, text)
    assert (score.right, score.note) == (False, "failed")


def test_mbpp_runs_the_code_with_imports_and_asserts(sandbox: ModuleType) -> None:
    tests = ["assert math.isclose(half(4), 2)", "assert half(9) == 4.5"]
    extra = {"tests": tests, "imports": ["import math"], "name": function_of("def half(x): ...", tests)}
    item = Item("11", "Write a function …", PROGRAM, extra)
    assert extra["name"] == "half"
    assert MBPP().score(item, f"Here:\n```python\n{PROGRAM}```\nDone.").right
    assert not MBPP().score(item, "```python\ndef half(x):\n    return x\n```").right


def test_without_a_sandbox_programs_are_refused_unless_somebody_says_so(sandbox: ModuleType) -> None:
    model = load("zoo:tiny-reason", device="cpu")
    assert "does not know the characters" in str(HumanEval().unfit(model))
    for kind in (HumanEval, MBPP):
        speaks = model._replace(tokenizer=SimpleNamespace())
        assert kind().unfit(speaks) is None
        sandbox.__dict__["ready"] = lambda: "no user namespaces"
        assert "cannot be used here: no user namespaces. " in str(kind().unfit(speaks))
        assert kind(unsafe=True).unfit(speaks) is None
        sandbox.__dict__["ready"] = lambda: None


def test_a_code_task_names_its_function_and_hands_the_permission_on(sandbox: ModuleType) -> None:
    asked: list[tuple[str, bool]] = []

    def run_code(program: str, tests: str, *, unsafe: bool) -> SimpleNamespace:
        asked.append((tests, unsafe))
        return SimpleNamespace(ok=True, status="passed")

    sandbox.__dict__["run_code"] = run_code
    tasks: list[CodeTask] = [HumanEval(), HumanEval(unsafe=True)]
    for task in tasks:
        task.run("", "sum", "assert sum(1) == 2")
    assert asked == [("from program import sum\nassert sum(1) == 2", unsafe) for unsafe in (False, True)]
