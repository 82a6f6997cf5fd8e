"""Try the table of code forms, tests/data/code-forms.jsonl: in how many texts is a right program lost?

python tools/code_forms.py                              each form with a solution of its own, right and wrong ones
python tools/code_forms.py --data FOLDER [--limit 20]   each right form filled with all solutions of HumanEval and MBPP
python tools/code_forms.py [--data FOLDER] --evalplus   as EvalPlus's sanitizer reads them, where it is installed

FOLDER holds humaneval.jsonl and sanitized-mbpp.json, as for `infogain eval`. Programs run in the sandbox.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from infogain.evals.code import CodeTask
from infogain.evals.task import Item
from infogain.evals.tasks.humaneval import HumanEval
from infogain.evals.tasks.mbpp import MBPP
from infogain.sandbox import run_many

TABLE = Path(__file__).parent.parent / "tests" / "data" / "code-forms.jsonl"
TASKS: dict[str, CodeTask] = {"humaneval": HumanEval(), "mbpp": MBPP()}
PART = re.compile(r"<<(\w+)(?:\|(\w+))?>>")
FILTERS: dict[str, Callable[[str], str]] = {
    "console": lambda code: ">>> " + code.replace("\n", "\n... "),
    "crlf": lambda code: code.replace("\n", "\r\n"),
    "dedent": textwrap.dedent,
    "half": lambda code: code[: len(code) // 2],
    "indent": lambda code: textwrap.indent(code, "    "),
    "lstrip": str.lstrip,
    "nbsp": lambda code: re.sub("^ +", lambda spaces: "\u00a0" * len(spaces[0]), code, flags=re.MULTILINE),
    "quote": lambda code: textwrap.indent(code, "> ", lambda _: True),
    "tabs": lambda code: re.sub("^ +", lambda spaces: "\t" * len(spaces[0]), code, flags=re.MULTILINE),
}
SIGNATURE = "def spread(numbers: List[int]) -> int:\n"
DOCSTRING = '    """ The largest number less the smallest.\n    >>> spread([3, 9, 4])\n    6\n    """\n'
BODY = "    if not numbers:\n        return 0\n    return max(numbers) - min(numbers)\n"
WRONG = "    if not numbers:\n        return 0\n    return max(numbers) + min(numbers)\n"
CASES = {"[3, 9, 4]": 6, "[5]": 0, "[]": 0, "[-2, 2, 0]": 4}
CHECK = "def check(candidate):\n" + "".join(f"    assert candidate({given}) == {due}\n" for given, due in CASES.items())


@dataclass(frozen=True)
class Form:
    """One line of the table.

    task      humaneval, whose prompt is a signature, or mbpp
    form      its name
    text      what the model wrote; <<part>> and <<part|filter>> are filled in from the problem
    right     is there a right program to be read?
    evalplus  does what EvalPlus's sanitizer makes of it pass?
    """

    task: str
    form: str
    text: str
    right: bool
    evalplus: bool | None = None

    @property
    def template(self) -> bool:
        """Can it be filled in from any problem?"""
        parts = {part for part, _ in PART.findall(self.text)}
        return bool(parts & {"function", "body"}) and "wrong" not in parts and "spread" not in self.text

    def fill(self, parts: dict[str, str]) -> str:
        return PART.sub(lambda found: FILTERS.get(found[2], str)(parts[found[1]]), self.text)


Cells = list[tuple[Form, Item, bool]]  # a form of a solution: does it pass?


def read_table() -> list[Form]:
    return [Form(**json.loads(line)) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def problem(task: str, body: str = BODY) -> tuple[Item, dict[str, str]]:
    """The table's own problem, and its parts, with a right or a wrong solution."""
    if task == "humaneval":
        prompt = f"from typing import List\n\n\n{SIGNATURE}{DOCSTRING}"
        return _with_parts(Item("0", prompt, body, {"test": CHECK, "entry_point": "spread"}), WRONG)
    tests = [f"assert spread({given}) == {due}" for given, due in CASES.items()]
    code = "def spread(numbers):\n"
    item = Item("0", "", code + body, {"tests": tests, "imports": [], "name": "spread"})
    return _with_parts(item, code + WRONG)


def _with_parts(item: Item, wrong: str = "") -> tuple[Item, dict[str, str]]:
    """The pieces of a solution that forms are made of; none ends with a newline."""
    if name := item.extra.get("entry_point"):
        begin = item.question.rindex(f"def {name}")
        head, solutions = item.question[begin:], {"function": item.gold, "wrong": wrong}
        parts = {key: head + body for key, body in solutions.items()}
        parts |= {"prompt": item.question, "body": item.gold.strip("\n"), "stub": f"{head}    pass"}
    else:
        name = item.extra["name"]
        parts = {"function": item.gold.replace("\r", ""), "wrong": wrong, "stub": f"def {name}(*given):\n    pass"}
    return item, {"name": name, **{key: part.rstrip() for key, part in parts.items()}}


def sanitizer() -> Callable[[str, str], str]:
    """EvalPlus's, which reads nothing from a text that it cannot encode."""
    try:
        from evalplus.sanitize import sanitize  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"--evalplus reads texts with EvalPlus, and {error.name} is not installed: pip install evalplus==0.3.1"
        ) from None

    def read(text: str, name: str) -> str:
        try:
            return str(sanitize(text, name))
        except UnicodeEncodeError:
            return ""

    return read


def sanitized(item: Item, text: str) -> list[str]:
    """What EvalPlus makes of a text: by itself, behind the prompt, and by itself behind the prompt's imports."""
    sanitize = sanitizer()
    if name := item.extra.get("entry_point"):
        prompt = item.question.strip() + "\n"
        imports = prompt[: prompt.rindex(f"def {name}")]
        return [sanitize(text, name), sanitize(prompt + text, name), imports + sanitize(text, name)]
    return [sanitize(text, item.extra["name"])]


def passed(jobs: Sequence[tuple[str, str]]) -> list[bool]:
    """Do these programs pass these tests? Each pair is run once."""
    distinct = list(dict.fromkeys(jobs))
    verdicts = dict(zip(distinct, (outcome.ok for outcome in run_many(distinct)), strict=True))
    return [verdicts[job] for job in jobs]


def jobs_of(task: CodeTask, item: Item, text: str, evalplus: bool) -> list[tuple[str, str]]:
    """Programs of which one must pass, with their tests."""
    programs = sanitized(item, text) if evalplus else [task.program(item, text)]
    return [(program, task.tests(item)) for program in programs]


def verdicts(
    name: str, problems: Sequence[tuple[Item, dict[str, str]]], forms: Sequence[Form], evalplus: bool
) -> Cells:
    """Is each form of each problem's solution read as a program that passes?"""
    cells = [
        (form, item, jobs_of(TASKS[name], item, form.fill(parts), evalplus))
        for form in forms
        for item, parts in problems
    ]
    each = iter(passed([job for _, _, jobs in cells for job in jobs]))
    return [(form, item, sum(next(each) for _ in jobs) > 0) for form, item, jobs in cells]


def report(name: str, cells: Cells, right: bool) -> int:
    """Print of which forms texts are read wrongly, and return how many texts in all."""
    amiss = [(form.form, item.id) for form, item, ok in cells if ok != right]
    forms, solutions = (
        len(set(column)) for column in zip(*((form.form, item.id) for form, item, _ in cells), strict=True)
    )
    what = "fail" if right else "are taken for right, and hold nothing right"
    print(f"{name}: {forms} forms of {solutions} solutions; {len(amiss)} of {len(cells)} texts {what}")
    for form, count in Counter(form for form, _ in amiss).most_common():
        print(f"  {form}: {count} ({', '.join([item for at, item in amiss if at == form][:5])})")
    return len(amiss)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with humaneval.jsonl and sanitized-mbpp.json")
    parser.add_argument("--limit", type=int, help="solutions of each benchmark; unset: all")
    parser.add_argument("--evalplus", action="store_true", help="read the texts with EvalPlus's sanitizer instead")
    options = parser.parse_args()
    amiss = 0
    for name, task in TASKS.items():
        forms = [form for form in read_table() if form.task == name]
        if options.data:
            problems = [_with_parts(item) for item in task.items(options.data)[1][: options.limit]]
            forms = [form for form in forms if form.template and form.right]
        else:
            problems = [problem(name)]
        cells = verdicts(name, problems, forms, options.evalplus)
        for right in (True, False):
            if some := [cell for cell in cells if cell[0].right == right]:
                amiss += report(name, some, right)
        if options.evalplus and not options.data:
            stale = [form.form for form, _, ok in cells if ok != form.evalplus]
            print(f"  the table's column `evalplus` differs: {'; '.join(stale) or 'nowhere'}")
    return int(amiss > 0)


if __name__ == "__main__":
    raise SystemExit(main())
