"""Programs in answers: told from the words around them, put in their place, run by the sandbox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from infogain.errors import SandboxError
from infogain.evals.evaluate import check
from infogain.evals.snippets import bodies, read_program
from infogain.evals.task import Item
from infogain.evals.tasks.humaneval import HumanEval
from infogain.evals.tasks.mbpp import MBPP, function_of

PROMPT = 'import math\n\ndef helper(x):\n    return x\n\ndef half(x):\n    """ Half of x. """\n'
TEST = "def check(candidate):\n    assert candidate(4) == 2\n    assert candidate(9) == 4.5\n"
ITEM = Item("HumanEval/0", PROMPT, "    return helper(x) / 2\n", {"test": TEST, "entry_point": "half"})
PROGRAM = "def half(x):\n    return x / 2\n"


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The sandbox's interface over a plain process."""

    def run_code(program: str, tests: str) -> SimpleNamespace:
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "tests.py").write_text(f"from program import *\n{tests}")
        done = subprocess.run([sys.executable, "-S", "tests.py"], cwd=tmp_path, capture_output=True, timeout=20)
        return SimpleNamespace(ok=done.returncode == 0, status="passed" if done.returncode == 0 else "failed")

    def run_many(programs: list[tuple[str, str]], *, unsafe: bool) -> list[SimpleNamespace]:
        return [run_code(*pair) for pair in programs]

    module = ModuleType("infogain.sandbox")
    module.__dict__.update(run_many=run_many)
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
    assert read_program(text, "half").strip() == PROGRAM.strip()


def test_where_no_block_defines_the_function_the_first_one_is_taken() -> None:
    assert read_program("```\na = 1\n```\n```\nb = 2\n```", "half") == "a = 1"
    assert read_program("not code at all, sorry!", None) == "not code at all, sorry!"


def test_what_the_function_needs_is_taken_with_it_and_nothing_else() -> None:
    needs = "import math\n\nTWO = 2\n\n\ndef half(x):\n    return math.fsum([x]) / TWO"
    assert read_program(f"{needs}\n\n\nprint(half(TWO))\n", "half") == needs
    assert read_program(f"THREE = 3\n{PROGRAM}", "half") == PROGRAM.strip()


def test_a_body_is_indented_once() -> None:
    assert set(bodies("return 1\n")) == {"    return 1\n", "    return 1"}
    assert set(bodies("\n    return 1\n")) == {"    return 1\n", "    return 1"}


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
    assert score.answer == HumanEval().program(ITEM, text)
    assert score.answer is not None
    assert score.answer.startswith("import math\n\ndef helper(x):")


def test_what_the_prompts_helpers_need_comes_before_them_though_the_answer_has_it_too(sandbox: ModuleType) -> None:
    helper = "def same(x: List) -> List:\n    return x"
    prompt = f"from typing import List\n\n{helper}\n\ndef half(x):\n    ''' Half. '''\n"
    item = Item("HumanEval/0", prompt, "", {"test": TEST, "entry_point": "half"})
    imports = "from __future__ import annotations\nfrom typing import List"
    answer = f"```python\n{imports}\n\ndef half(x):\n    return same(x) / 2\n```"
    assert HumanEval().score(item, answer).right


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


def test_a_program_cannot_redefine_what_the_tests_take_from_the_prompt(sandbox: ModuleType) -> None:
    test = "def check(candidate):\n    assert helper(candidate(4)) == 2\n"
    item = Item("HumanEval/0", PROMPT, "", {"test": test, "entry_point": "half"})
    assert HumanEval().score(item, f"```python\n{PROGRAM}```").right
    lie = "def helper(x):\n    return 2\n\ndef half(x):\n    return 0\n"
    assert not HumanEval().score(item, f"```python\n{lie}```").right


def test_without_a_sandbox_programs_are_refused_unless_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.sandbox.ready", lambda: "no user namespaces")
    monkeypatch.setattr(sys, "platform", "linux")
    for kind in (HumanEval, MBPP):
        with pytest.raises(SandboxError, match=r"refuses: no user namespaces\. .* pass --allow-unsafe"):
            kind().demand()
        kind(unsafe=True).demand()
    with pytest.raises(SandboxError):
        check([MBPP()], None)


def test_texts_are_run_together_and_the_permission_is_handed_on(sandbox: ModuleType) -> None:
    asked: list[tuple[list[tuple[str, str]], bool]] = []

    def run_many(programs: list[tuple[str, str]], *, unsafe: bool) -> list[SimpleNamespace]:
        asked.append((programs, unsafe))
        return [SimpleNamespace(ok=not i, status="timeout") for i in range(len(programs))]

    sandbox.__dict__["run_many"] = run_many
    item = Item("11", "", "", {"tests": ["assert sum(1) == 2"], "imports": [], "name": "sum"})
    for unsafe in (False, True):
        scores = MBPP(unsafe).scores([(item, "x = 1"), (item, "x = 2")])
        assert [(score.right, score.answer, score.note) for score in scores] == [
            (True, "x = 1", ""),
            (False, "x = 2", "timeout"),
        ]
    tests = "from program import sum\nassert sum(1) == 2\n"
    assert asked == [([("x = 1", tests), ("x = 2", tests)], unsafe) for unsafe in (False, True)]
