"""The tasks of the zoo one by one: which answers each takes, on canvases and in replies, and which it does not."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import permutations, product
from random import Random

import pytest

from infogain.zoo import TASKS, Problem, load_task
from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks import arithmetic, oneway, sudoku
from infogain.zoo.tasks.problem import fits
from tests.countdowns import COUNTDOWN_REPLIES
from tests.unit.test_zoo_tasks import drawn

# one-way multiplication


def test_one_way_is_two_factors_and_a_product() -> None:
    holes = [column for column, character in enumerate(oneway.CANVAS) if character == MASK]
    assert sorted([*oneway.FACTORS, *oneway.PRODUCT]) == holes
    assert [column for number in oneway.NUMBERS for column in number] == holes


def test_one_way_takes_any_true_equation() -> None:
    task = load_task("oneway")
    problem = task.problems(1, "test")[0]
    assert task.check(problem, f"W10*11={110:014b}")
    assert not task.check(problem, f"W10*11={111:014b}")
    assert not task.check(problem, f"W05*22={110:014b}")


EQUATIONS = [oneway.written(a, b, a * b) for a, b in product(range(10, 100), repeat=2)]


def test_one_way_may_give_one_digit_of_each_number() -> None:
    """Any true equation that keeps them is right, of which there are many, and any other is wrong."""
    task = load_task("oneway-given")
    for problem in task.problems(20, "test"):
        given = [column for column, old in enumerate(problem.canvas) if old != MASK]
        assert [sum(column in number for column in given) for number in oneway.NUMBERS] == [1, 1, 1]
        assert [problem.canvas[column] for column in (0, 3, 6)] == ["W", "*", "="]
        assert problem.identity == problem.canvas
        right = [text for text in EQUATIONS if task.check(problem, text)]
        assert right == [text for text in EQUATIONS if all(text[column] == problem.canvas[column] for column in given)]
        assert len(right) > 10
        assert problem.solution in right


GIVEN = Problem("", "W_9*_2=________1_____", "")


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("69*22=00010111101110", True),
        ("It is 69 × 22 = 10111101110.", True),  # without the zeros before it
        ("69x22=0000010111101110", True),
        ("12*34=00000110011000, or rather 69*22=00010111101110", True),
        ("69*22=00010111101110, or rather 12*34=00000110011000", False),  # true, but another pattern
        ("69*22=00010111101111", False),
        ("22*69=00010111101110", False),
        ("169*22=00010111101110", False),
        ("69*22=000101111011102", False),
        ("W_9*_2=________1_____", False),
        ("", False),
    ],
)
def test_a_reply_with_an_equation_must_fit_the_givens(reply: str, right: bool) -> None:
    assert load_task("oneway-given").check_chat(GIVEN, reply) is right
    assert "?9*?2=????????1?????" in load_task("oneway-given").chat(GIVEN)


# judgement

JUDGED = Problem("", "J23*7+18*2+40*5=0397?" + MASK * 31 + " answer:" + MASK, "")
DENIED = Problem("", "J23*7+18*2+40*5=0398?" + MASK * 31 + " answer:" + MASK, "")


@pytest.mark.parametrize(
    ("problem", "answer", "right", "sound"),
    [
        (JUDGED, "18*2=036 23*7=161 40*5=200 0397 answer:Y", True, True),
        (JUDGED, "23*7=161 18*2=036 40*5=200 0397 answer:Y", True, True),
        (JUDGED, "18*2=036 23*7=161 40*5=200 0397 answer:N", False, False),
        (JUDGED, "18*2=036 23*7=162 40*5=200 0397 answer:Y", True, False),
        (JUDGED, "18*2=036 23*7=161 23*7=161 0397 answer:Y", True, False),
        (JUDGED, "18*2=036 23*7=161 40*5=200 0398 answer:Y", True, False),
        (JUDGED, "18*2=036 23*7=161 40*5=200~0397 answer:Y", True, False),
        (JUDGED, "18*2=036 23*7=161 40*5=200 0397 answer,Y", False, False),
        (JUDGED, "18*2=036 23*7=161 40*5=200 0397 answer:1", False, False),
        (DENIED, "18*2=036 23*7=161 40*5=200 0397 answer:N", True, True),
        (DENIED, "18*2=036 23*7=161 40*5=200 0397 answer:Y", False, False),
    ],
)
def test_judgement(problem: Problem, answer: str, right: bool, sound: bool) -> None:
    task = load_task("judgement")
    text = problem.prompt + answer
    assert len(text) == task.width
    assert (task.check(problem, text), task.sound(problem, text)) == (right, sound)


def test_half_of_the_claims_are_true_and_false_ones_are_near() -> None:
    problems = drawn(load_task("judgement"), "train", 2000)
    assert 900 < sum(problem.solution[-1] == "Y" for problem in problems) < 1100
    off = {int(problem.solution[16:20]) - int(problem.solution[48:52]) for problem in problems}
    assert off == set(range(-10, 11))


# Sudoku

ROWS = ["".join(row) for row in permutations("1234")]


@cache
def brute_grids() -> list[str]:
    """The 4×4 grids in 1 to 4, from four rows in every combination."""

    def legal(cells: str) -> bool:
        columns = [cells[i::4] for i in range(4)]
        boxes = [cells[i : i + 2] + cells[i + 4 : i + 6] for i in (0, 2, 8, 10)]
        return all(len(set(unit)) == 4 for unit in [*columns, *boxes])

    return [cells for rows in product(ROWS, repeat=4) if legal(cells := "".join(rows))]


def test_4x4_grids_are_288_and_any_of_them_is_drawn() -> None:
    grids = brute_grids()
    assert len(grids) == 288
    assert all(map(sudoku.is_grid, grids))
    rng = Random(0)
    assert {sudoku.random_grid(rng, 4, "1234") for _ in range(5000)} == set(grids)


def test_rows_columns_and_boxes_of_both_sizes() -> None:
    for side in (4, 6):
        units = sudoku.units(side)
        assert len(units) == 3 * side
        assert all(len(set(unit)) == side for unit in units)
        assert sorted(cell for unit in units for cell in unit) == sorted([*range(side * side)] * 3)
        assert units[0] == list(range(side))
        assert units[side] == list(range(0, side * side, side))
    assert [sudoku.units(4)[unit] for unit in (8, 9, 11)] == [[0, 1, 4, 5], [2, 3, 6, 7], [10, 11, 14, 15]]
    assert [sudoku.units(6)[unit] for unit in (12, 13)] == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]
    assert sudoku.units(6)[17] == [27, 28, 29, 33, 34, 35]


@pytest.mark.parametrize("name", ["sudoku", "sudoku6"])
def test_a_drawn_grid_keeps_all_rules(name: str) -> None:
    task = load_task(name)
    assert isinstance(task, sudoku.Sudoku)
    side, rng = task.side, Random(1)
    for _ in range(200):
        cells = sudoku.random_grid(rng, side, task.digits)
        rows = [cells[i * side : (i + 1) * side] for i in range(side)]
        bands = [rows[i : i + 2] for i in range(0, side, 2)]
        boxes = [a[j : j + side // 2] + b[j : j + side // 2] for a, b in bands for j in (0, side // 2)]
        assert {frozenset(unit) for unit in [*rows, *zip(*rows, strict=True), *boxes]} == {frozenset(cells)}
        assert len(set(cells)) == side
        assert set(cells) <= set(task.digits)
        assert sudoku.is_grid(cells, side)


def test_a_grid_is_complete_and_in_one_set_of_digits() -> None:
    assert sudoku.is_grid("9842428989242498")
    for wrong in ("984242898924249", "98424289892424988", "9842428989242489", "1111" * 4, "9842428989241498", ""):
        assert not sudoku.is_grid(wrong), wrong
    latin = "123456234561345612456123561234612345"  # rows and columns hold, boxes do not
    assert not sudoku.is_grid(latin, 6)
    assert sudoku.is_grid("123456456123234561561234345612612345", 6)
    assert not sudoku.is_grid("9842428989242498", 6)


def test_a_sudoku_takes_every_grid_that_keeps_its_givens() -> None:
    """Any four digits will do if the givens are among them, but no grid with a fifth digit or with 0."""
    task = load_task("sudoku")
    base = brute_grids()
    for problem in drawn(task, "test", 5):
        given = {digit for digit in problem.canvas[1:] if digit != MASK}
        for digits in map("".join, permutations("0123456789", 4)):
            if list(digits) == sorted(digits) and given <= set(digits):
                texts = ["S" + grid.translate(str.maketrans("1234", digits)) for grid in base]
                fitting = [text for text in texts if fits(problem.canvas, text, MASK)]
                assert [text for text in texts if task.check(problem, text)] == (fitting if "0" not in digits else [])
                assert fitting
    problem = Problem("", "S12".ljust(17, MASK), "")
    assert task.check(problem, "S1289891221989821")
    assert not task.check(problem, "S1289891221989827")


def test_the_larger_sudoku_has_the_digits_1_to_6() -> None:
    task = load_task("sudoku6")
    problem = task.problems(1, "test")[0]
    assert task.check(problem, problem.solution)
    for digit in set("12346"):
        assert not task.check(problem, problem.solution.replace(digit, "7"))
    assert "1 to 6" in task.chat(problem)
    assert "the same 4 different digits" in load_task("sudoku").chat(load_task("sudoku").problems(1, "test")[0])


def test_the_larger_sudoku_has_one_solution_and_no_given_to_spare() -> None:
    """If any one of its givens is taken away another grid fits, and none as long as all are there."""
    for problem in drawn(load_task("sudoku6"), "test", 20):
        cells = [None if mark == MASK else int(mark) - 1 for mark in problem.canvas[1:]]
        assert sudoku.solutions(cells, 6, most=2) == 1
        for cell in (cell for cell, digit in enumerate(cells) if digit is not None):
            assert sudoku.solutions([*cells[:cell], None, *cells[cell + 1 :]], 6, most=2) == 2


def test_solutions_are_counted_as_far_as_asked() -> None:
    empty: list[int | None] = [None] * 16
    assert sudoku.solutions(empty, 4, most=1000) == 288
    assert sudoku.solutions(empty, 4, most=5) == 5
    assert sudoku.solutions([0, 0, *empty[2:]], 4, most=5) == 0
    grid: list[int | None] = [int(digit) - 1 for digit in brute_grids()[0]]
    assert sudoku.solutions(grid, 4, most=9) == 1
    for holes in ((0,), (0, 5, 10), range(8)):
        cut = [None if cell in holes else digit for cell, digit in enumerate(grid)]
        fitting = [g for g in brute_grids() if all(d is None or int(c) - 1 == d for c, d in zip(g, cut, strict=True))]
        assert sudoku.solutions(cut, 4, most=1000) == len(fitting)


def test_a_sudoku_in_a_reply_is_its_last_rows() -> None:
    for name in ("sudoku", "sudoku6"):
        task = load_task(name)
        assert isinstance(task, sudoku.Sudoku)
        problem = task.problems(1, "test")[0]
        side = task.side
        rows = [problem.solution[1 + i * side : 1 + (i + 1) * side] for i in range(side)]
        assert task.check_chat(problem, "\n".join(["1" * side, *rows, "Done."]))
        assert not task.check_chat(problem, "\n".join([*rows, "1" * side]))
        assert not task.check_chat(problem, "\n".join(rows[1:]))
        assert not task.check_chat(problem, "\n".join(row[1:] for row in rows))


# countdown

COUNTDOWN = Problem("", "C3,7,4=25:".ljust(34, MASK), "")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("3*7=21,21+4=25", True),
        ("7*3=21,4+21=25", True),
        ("3*7=21,21+4=25~~~~~~x", False),
        ("3*7=21~,21+4=25", False),
        ("3*7=21,21+4=26", False),
        ("3*7=22,22+3=25", False),
        ("3*7=21,7*3=21", False),
        ("7*7=49,49-24=25", False),
        ("3*7=21,25*1=25", False),
        ("03*7=21,21+4=25", False),
        ("3*7=21,21+4=25,25", False),
        ("3*7=21,21+4=25,", False),
        ("3*7=21", False),
        ("7/0=25,25+0=25", False),
    ],
)
def test_countdown(answer: str, right: bool) -> None:
    assert load_task("countdown").check(COUNTDOWN, (COUNTDOWN.prompt + answer).ljust(34, EOS)) is right


FOUR = Problem("", "C50,55,77,30=52:".ljust(48, MASK), "")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("77-30=47,50-47=3,55-3=52", True),  # one number after the other
        ("77-50=27,55-30=25,27+25=52", True),  # two pairs
        ("55-30=25,77-50=27,25+27=52", True),
        ("77-50=27,27+25=52,55-30=25", False),  # 25 is not there yet
        ("77-30=47,50-47=3,55-3=53", False),
        ("77-30=47,50-47=3,55-3=52,52+0=52", False),
        ("77-30=47,55-3=52", False),
        ("77-55=22,22+30=52", False),  # 50 is left over
        ("77-55=22,22+30=52,52+50=102", False),
        ("77-30=47;50-47=3;55-3=52", False),
    ],
)
def test_countdown_with_four_numbers(answer: str, right: bool) -> None:
    task = load_task("countdown4")
    assert task.check(FOUR, (FOUR.prompt + answer).ljust(48, EOS)) is right
    assert task.check_chat(FOUR, f"So: {answer}") is (right or ";" in answer)
    assert "the three steps" in task.chat(FOUR)


def test_countdown_counts_numbers_as_a_multiset() -> None:
    task = load_task("countdown")
    problem = Problem("", "C5,5,2=12:".ljust(34, MASK), "")
    assert task.check(problem, "C5,5,2=12:5+5=10,10+2=12".ljust(34, EOS))
    assert not task.check(problem, "C5,5,2=12:5*2=10,10+2=12".ljust(34, EOS))
    assert task.check(Problem("", "C6,3,20=40:".ljust(34, MASK), ""), "C6,3,20=40:6/3=2,2*20=40".ljust(34, EOS))
    assert not task.check(Problem("", "C7,3,20=40:".ljust(34, MASK), ""), "C7,3,20=40:7/3=2,2*20=40".ljust(34, EOS))


def test_countdown_has_room_for_its_longest_answer() -> None:
    for name, longest in {
        "countdown": "C99,99,99=99:999-900=99,999-900=99",
        "countdown4": "C99,99,99,99=99:999-900=99,999-900=99,999-900=99",
    }.items():
        assert load_task(name).width == len(longest)


REPLY = Problem("", "C15,44,79=50:".ljust(34, MASK), "")


@pytest.mark.parametrize(("reply", "right"), COUNTDOWN_REPLIES.items())
def test_countdown_reads_steps_as_people_write_them(reply: str, right: bool) -> None:
    assert load_task("countdown").check_chat(REPLY, reply) is right


@pytest.mark.parametrize(
    "reply", ["6÷3=2;2·20=40", "6÷3=2;2⋅20=40", "6÷3=2;2∗20=40", "6/3=2\n2×20=40", r"6 \div 3 = 2, 2 \cdot 20 = 40"]
)
def test_countdown_knows_every_sign(reply: str) -> None:
    problem = Problem("", "C6,3,20=40:".ljust(34, MASK), "")
    assert load_task("countdown").check_chat(problem, reply)
    assert not load_task("countdown").check_chat(problem, reply.replace("40", "41"))


# arithmetic


def test_arithmetic_reads_the_final_answer_strictly() -> None:
    task = load_task("arithmetic")
    problem = task.problems(1, "test")[0]  # eva has 90 figs, zac 7 times that, ida 119. total?

    def verdict(answer: str) -> tuple[bool, bool]:
        text = problem.prompt + answer.ljust(64, EOS)
        return task.check(problem, text), task.sound(problem, text)

    assert verdict("90*7=630; 90+630=720; 720+119=839; so answer 839") == (True, True)
    assert verdict("90*7=630, 90+630=720, 720+119=849, answer 839") == (True, False)
    assert verdict("90*7=630, 63-90=27, answer 839") == (True, False)
    assert verdict("9/7=1, answer 839") == (True, False)
    assert verdict("answer 839") == (True, False)
    for wrong in ("answer 1839", "answer 839 ", "answer 839, answer 9", "answer 8~39", "839", "~answer 839", "x" * 64):
        assert verdict(wrong) == (False, False), wrong


def test_the_last_answer_of_a_reply_counts() -> None:
    task = load_task("arithmetic")
    problem = task.problems(1, "test")[0]
    assert task.check_chat(problem, "answer 12? No: answer 839")
    assert not task.check_chat(problem, "answer 839, or rather answer 1,839")
    assert not task.check_chat(problem, "answer 839.5")


@pytest.mark.parametrize("template", arithmetic.TEMPLATES, ids=lambda template: template.question)
def test_arithmetic_has_room_for_its_longest_question_and_answer(template: arithmetic.Template) -> None:
    """Numbers at the ends of their ranges make the longest texts; names and things are all equally long."""
    assert {len(word) for word in arithmetic.NAMES} == {3}
    assert {len(word) for word in arithmetic.THINGS} == {4}
    for numbers in product(*template.ranges):
        question = template.question.format(*numbers, who="tom", what="pens")
        answer = arithmetic.write(template.steps(*numbers), wordy=True)
        assert len("A" + question) <= arithmetic.PROMPT
        assert len(answer) <= arithmetic.ANSWER


@pytest.mark.parametrize("kind", range(len(arithmetic.TEMPLATES)))
def test_steps_that_need_no_other_come_in_any_order_and_the_rest_in_theirs(kind: int) -> None:
    template = arithmetic.TEMPLATES[kind]
    problems = [p for p in drawn(TASKS["arithmetic"], "train", 1500) if p.identity.startswith(f"{kind} ")]
    orders = set()
    for problem in problems:
        steps = [f"{a}{sign}{b}" for a, sign, b in template.steps(*json.loads(problem.identity[2:]))]
        written = [left + sign + right for left, sign, right, _ in re.findall(arithmetic.STEP, problem.solution)]
        assert sorted(written[: template.free]) == sorted(steps[: template.free])
        assert written[template.free :] == steps[template.free :]
        orders.add(written == steps)
    assert orders == ({True} if template.free == 1 else {True, False})
    assert {"; so answer" in problem.solution for problem in problems} == {True, False}
