"""Answers in mathematics: found where the benchmarks look for them, equal when they are."""

from __future__ import annotations

import sys
from threading import Thread

import pytest

from infogain import InfoGainError
from infogain.evals.answers import boxed, equal, last_number, only_number
from infogain.evals.task import Item, Task
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
        ("3/4", None),
        ("5 or 6", None),
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


def test_a_thread_can_compare_though_it_gets_no_signals() -> None:
    found: list[bool] = []
    thread = Thread(target=lambda: found.append(equal("0.5", r"\frac12")))
    thread.start()
    thread.join()
    assert found == [True]


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(InfoGainError, match=r"compared by math-verify: pip install 'infogain\[eval\]'"):
        equal("1", "1")


def right(task: Task, gold: str, text: str) -> tuple[bool, str | None]:
    score = task.score(Item("0", "?", gold), text)
    return score.right, score.answer


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
