"""Answers in mathematics: found where the benchmarks look for them, equal when they are."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tools.answer_forms import RIGHT, WRONG, sweep

from infogain import InfoGainError
from infogain.evals import math_process
from infogain.evals.answers import boxed, equal
from infogain.evals.math_process import MathProcess, MathVerdict, compare
from infogain.evals.mathematics import judge
from infogain.evals.quantities import last_number, only_number
from infogain.evals.task import EvalTask, Item
from infogain.evals.tasks import load_task


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r"so \boxed{7}, or \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\left\{ x^{2}, \sqrt{3} \right\}}", r"\left\{ x^{2}, \sqrt{3} \right\}"),
        (r"\boxed {5} and then \boxed{cut short {", "5"),
        (r"\fbox{ 3 }", "3"),
        ("no box at all {5}", None),
    ],
)
def test_the_last_whole_box_counts_with_its_braces(text: str, inside: str | None) -> None:
    assert boxed(text) == inside


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("He pays $1,200. That is all.", "1200"),
        ("5, then 7, and so on", "7"),
        ("10-5", "5"),
        ("it fell to -3.50 degrees", "-3.50"),
        ("1,2,3", "3"),
        ("none", None),
    ],
)
def test_the_last_number_has_its_sign_and_no_commas(text: str, number: str | None) -> None:
    assert last_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (r"70{,}000\text{ dollars}", "70000"),
        (r"\$18.00", "18.00"),
        ("12.", "12"),
        (r"25\%", "25"),
        (r"\frac{1}{2}", None),
        (r"\sqrt{4}", None),
        ("3/4", "3/4"),
        ("2 1/2 hours", "5/2"),
        ("1.2 \\times 10^{3}", "1.2e3"),
        ("-$5", "-5"),
        ("5 or 6", None),
        ("3q = 60", None),
        ("1" * 101, None),
    ],
)
def test_a_short_answer_is_a_number_with_words_or_mathematics(text: str, number: str | None) -> None:
    assert only_number(text) == number


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("1200", "1,200"),
        (r"\frac{14}{3}", "14/3"),
        (r"\frac{14}{3}", r"4\frac{2}{3}"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3, \pi/2)"),
        ("[-2,7]", r"x \in [-2,7]"),
        (r"90^\circ", "90"),
        (r"15\mbox{ cm}^2", "15"),
        (r"\text{Evelyn}", "Evelyn"),
        ("1,-2", "-2,1"),
        ("5", "x=5"),
        ("4210_{5}", "4210_5"),
        ("2 \\sqrt{5}", "\\sqrt{20}"),
        ("p - q", "-q+p"),
    ],
)
def test_equal_answers_are_equal_however_written(gold: str, answer: str) -> None:
    assert equal(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("12", "1"),
        ("1200", "1"),
        ("[-2,7]", "(-2,7]"),
        ("(-2,1)", "-2,1"),
        ("40_9", "40"),
        ("0", "5x - 7y + 11z + 4 = 0"),
        (r"\text{Evelyn}", r"\text{Angela}"),
        (r"\frac{14}{3}", "4.6"),
        ("x^2", "x^3"),
        ("5", ""),
        ("5", "{"),
    ],
)
def test_other_answers_are_not(gold: str, answer: str) -> None:
    assert not equal(gold, answer)


# where answers are compared


def in_threads(*questions: tuple[str, str]) -> list[MathVerdict]:
    """What threads that ask at the same time are told, by their order here."""
    with ThreadPoolExecutor(len(questions)) as threads:
        return list(threads.map(lambda pair: compare(*pair), questions))


@pytest.mark.parametrize(
    ("gold", "question", "answer", "text"),
    [
        ("6", "", "AB = 6", ""),
        ("7", "What is $2a + b$?", "2a+b=7", ""),
        ("7", "Solve $2a + b = 7$.", "2a+b=7", ""),
        ("(3,4)", "", "x=3, y=4", ""),
        ("12", "", None, "It is **12**."),
        ("12", "", None, "I do not know."),
        ("x^3", "", "x^2", ""),
    ],
)
def test_the_process_says_what_its_function_says(gold: str, question: str, answer: str | None, text: str) -> None:
    assert compare(gold, answer, text, question)[:2] == judge(gold, question, answer, text)


def test_a_thread_can_compare_though_it_gets_no_signals() -> None:
    assert in_threads(("0.5", r"\frac12"), ("0.5", r"\frac13")) == [(True, r"\frac12", ""), (False, r"\frac13", "")]


@pytest.mark.parametrize("hostile", ["9^{9^{9^9}}", r"\binom{10^9}{10^8}"])
def test_no_expression_holds_a_thread_or_loses_what_others_ask(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math_process, "PATIENCE", 1)
    verdicts = in_threads(("5", hostile), ("5", "5"), ("6", "5"))
    assert verdicts[0] == (False, hostile, "comparing it takes more than 1 s of CPU, or too much memory")
    assert [verdict.right for verdict in verdicts[1:]] == [True, False]


@pytest.mark.parametrize("long", ["1+" * 5000 + "1", r"\begin{pmatrix}" + "1&" * 5000 + r"1\end{pmatrix}"])
def test_an_answer_of_any_length_gets_a_verdict(long: str) -> None:
    assert compare("5", long).note == f"an answer has at most 8000 characters; this one has {len(long)}"


def test_a_worker_that_somebody_kills_costs_no_answer() -> None:
    assert equal("5", "5")
    worker = math_process.MATH_PROCESS._worker
    assert worker is not None
    worker.kill()
    worker.wait()
    assert equal("5", "5")
    assert not equal("5", "6")
    assert math_process.MATH_PROCESS._worker is not worker


def test_a_late_reply_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a thread waits must not hand this question's reply to the next one."""

    def interrupted(line: str) -> int:
        raise KeyboardInterrupt

    assert equal("5", "5")
    worker = math_process.MATH_PROCESS._worker
    assert worker is not None
    assert worker.stdin is not None
    monkeypatch.setattr(worker.stdin, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        equal("5", "5")
    assert worker.poll() is not None
    assert not equal("5", "6")


def test_a_fork_leaves_its_parents_worker_alone() -> None:
    assert equal("5", "5")
    worker = math_process.MATH_PROCESS._worker
    forked = MathProcess()
    forked._worker = worker
    forked.forget()
    assert forked.close() is None
    assert worker is not None
    assert worker.poll() is None


def test_a_library_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "worker.py"
    for program, said in {"print('\"no sympy\"')": "no sympy", "raise SystemExit": "its process died"}.items():
        broken.write_text(program)
        monkeypatch.setattr(math_process, "WORKER", broken)
        with pytest.raises(InfoGainError, match=f"math-verify, which compares answers, cannot be used: .*{said}"):
            MathProcess().ask("{}")


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(InfoGainError, match=r"compared by math-verify: pip install 'infogain\[eval\]'"):
        equal("1", "1")


# where answers are found


def calls_made(text: str) -> int:
    """How many calls it takes to look for the box of a text."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(profile)
    try:
        boxed(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", [r"\boxed{", "{", r"\boxed{1}", r"\boxed{{"])
def test_boxes_are_found_in_time_that_grows_with_the_text(text: str) -> None:
    assert 100 < calls_made(text * 400) <= 2 * calls_made(text * 200)


@pytest.mark.parametrize("name", ["gsm8k", "math500"])
@pytest.mark.parametrize("text", [r"\boxed{", "{", "$", "1", "1 ", "111 ", "answer ", "=", "-", r"\boxed{1},"])
def test_200_kilobytes_of_anything_are_scored(name: str, text: str) -> None:
    """Within the comparison's CPU time, which a note would say otherwise."""
    score = load_task(name).score(Item("0", "?", "7"), text * (200_000 // len(text)))
    assert not score.right
    assert "CPU" not in score.note


FORMS = tomllib.loads((Path(__file__).parent.parent / "data" / "answer-forms.toml").read_text(encoding="utf-8"))[
    "forms"
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form['task']}-{form['gold']}")
def test_every_form_of_the_table_is_scored_as_it_says(form: dict[str, Any]) -> None:
    item = Item("0", form.get("question", "?"), form["gold"])
    assert load_task(form["task"]).score(item, form["text"]).right is form["right"], form["text"]


def test_the_table_has_right_and_wrong_forms_of_both_tasks() -> None:
    kinds = Counter((form["task"], form["right"]) for form in FORMS)
    assert min(kinds[task, right] for task in ("gsm8k", "math500") for right in (True, False)) >= 30


def right(task: EvalTask, gold: str, text: str) -> tuple[bool, str | None]:
    score = task.score(Item("0", "?", gold), text)
    return score.right is True, score.answer


def test_gsm8k_takes_the_box_then_the_mark_then_the_last_number() -> None:
    task = load_task("gsm8k")
    assert right(task, "18", r"9 * 2 = \boxed{18}. #### 5 and 7") == (True, "18")
    assert right(task, "70000", r"\boxed{\$70,000 \text{ dollars}}") == (True, "70000")
    assert right(task, "18", "so 9 * 2\n#### $18.00 each, 3 of them") == (False, "$18.00 each, 3 of them".rjust(23))
    assert right(task, "18", "so 9 * 2\n#### $18.00") == (True, "18.00")
    assert right(task, "1200", "She earns 1,200 dollars in all.") == (True, "1200")
    assert right(task, "1", "She earns 1,200 dollars in all.") == (False, "1200")
    assert right(task, "2", r"\boxed{\frac{1}{2}}") == (False, r"\frac{1}{2}")
    assert right(task, "5", "I do not know.") == (False, None)


def test_math500_takes_the_box_or_the_last_expression() -> None:
    task = load_task("math500")
    assert right(task, r"\frac{1}{2}", r"first $3$, so $\boxed{\dfrac{1}{2}}$.") == (True, r"\dfrac{1}{2}")
    assert right(task, "7", "first $3$, so the final answer is $7$.")[0]
    assert not right(task, "3", "first $3$, so the final answer is $7$.")[0]
    assert right(task, "7", "") == (False, None)


GOLDS = [
    "12",
    "-5",
    "2220",
    "0.15",
    r"\frac{3}{4}",
    "(3,-4)",
    "[2,7)",
    "6 - 5i",
    "x^2+1",
    "40_9",
    r"3\pi",
    r"\text{east}",
]


@pytest.mark.parametrize("name", ["gsm8k", "math500"])
def test_the_sweep_is_never_worse_than_math_verify_and_takes_nothing_wrong(name: str) -> None:
    golds = [Item(gold, "?", gold) for gold in (GOLDS if name == "math500" else GOLDS[:4])]
    right, wrong = (list(sweep(load_task(name), golds, forms)) for forms in (RIGHT, WRONG))
    assert [count for count in right if count.ours < count.golds or count.missed] == []
    assert [count for count in wrong if count.ours] == []
    assert any(count.alone < count.golds for count in right)
    assert any(count.alone for count in wrong)
