"""The tasks of the zoo: right answers pass, everything else fails, and the splits never meet."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from infogain import InputError, UnknownName
from infogain.zoo import ALPHABET, SPLITS, TASKS, Alphabet, Problem, Task, figure_set, load_task
from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks import arithmetic, oneway, sudoku
from infogain.zoo.tasks.countdown import question
from infogain.zoo.tasks.problem import is_canvas, split_of
from tests.countdowns import COUNTDOWN_REPLIES

ALL = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
SPLIT = pytest.mark.parametrize("task", [task for task in TASKS.values() if not task.unconditional])


def drawn(task: Task, split: str, count: int = 300, seed: int = 0) -> list[Problem]:
    rng = Random(f"{split} {seed}")
    return [task.sample(rng, split) for _ in range(count)]


@ALL
def test_a_reference_solution_is_right_and_sound(task: Task) -> None:
    for problem in drawn(task, "train"):
        assert len(problem.canvas) == len(problem.solution) == task.width
        assert problem.canvas[0] == task.tag
        assert task.check(problem, problem.solution)
        assert task.sound(problem, problem.solution)
        assert ALPHABET.decode(ALPHABET.encode(problem.solution)) == problem.solution


@ALL
def test_a_canvas_that_was_changed_or_not_filled_is_wrong(task: Task) -> None:
    for problem in drawn(task, "train", 20):
        hole = problem.canvas.index(MASK)
        solution = problem.solution
        assert not task.check(problem, problem.canvas)
        assert not task.check(problem, solution[:hole] + MASK + solution[hole + 1 :])
        assert not task.check(problem, "x" + solution[1:])
        assert not task.check(problem, solution + EOS)
        assert not task.check(problem, "")
        assert not task.sound(problem, "x" + solution[1:])


@pytest.mark.parametrize("name", ["oneway", "sudoku", "countdown"])
def test_any_other_digit_makes_it_wrong_unless_it_is_another_right_answer(name: str) -> None:
    """A changed digit must fail: one digit never leads from one true text of these tasks to another."""
    task = load_task(name)
    for problem in drawn(task, "train", 40):
        for column, old in enumerate(problem.solution):
            if problem.canvas[column] == MASK and old.isdigit():
                new = str((int(old) + 1) % 10)
                assert not task.check(problem, problem.solution[:column] + new + problem.solution[column + 1 :])


@SPLIT
def test_splits_never_share_a_problem(task: Task) -> None:
    problems = {split: drawn(task, split, 1000) for split in SPLITS}
    identities = {split: {problem.identity for problem in problems[split]} for split in SPLITS}
    canvases = {split: {problem.canvas for problem in problems[split]} for split in SPLITS}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert identities[one].isdisjoint(identities[other])
        assert canvases[one].isdisjoint(canvases[other])


@SPLIT
def test_the_training_generator_never_emits_a_test_problem(task: Task) -> None:
    held_out = {problem.identity for problem in task.problems(200, "test")}
    emitted = {problem.identity for problem in drawn(task, "train", 3000, seed=1)}
    assert emitted.isdisjoint(held_out)
    assert all(task.split(problem) == "train" for problem in drawn(task, "train", 500, seed=2))


@ALL
def test_problems_come_from_their_seed_alone(task: Task) -> None:
    assert task.problems(20, "test", 3) == task.problems(20, "test", 3)
    assert task.problems(20, "test", 3) != task.problems(20, "test", 4)
    canvases = {problem.canvas for problem in task.problems(50, "test")}
    assert len(canvases) == (1 if task.unconditional else 50)


def test_the_seeds_mean_the_same_for_ever() -> None:
    """Published scores are of these problems: changing a generator must fail here."""
    first = {name: task.problems(1, "test")[0].solution.rstrip(EOS) for name, task in TASKS.items()}
    assert first == {
        "oneway": "W54*35=00011101100010",
        "judgement": "J8*5+2*6+6*6=089?8*5=40 2*6=12 6*6=36 088N",
        "sudoku": "S1432321423414123",
        "countdown": "C24,13,6=31:24+13=37,37-6=31",
        "arithmetic": "A9 kids share 72 pens. sam gets 6 more. has?  72/9=8, 8+6=14, answer 14",
    }


def test_a_split_that_is_used_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.zoo.tasks.problem.PATIENCE", 1)
    monkeypatch.setattr(sudoku, "FEWEST", 15)  # one hole: some hundred puzzles in all, so one comes twice
    monkeypatch.setattr(sudoku, "MOST", 15)
    with pytest.raises(InputError, match=r"sudoku has about \d+ test problems; got a call for 150"):
        load_task("sudoku").problems(150, "test")


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="countdown"):
        load_task("count-down")
    with pytest.raises(UnknownName, match="test"):
        load_task("countdown").problems(1, "tests")


def test_one_way_says_what_was_written_first() -> None:
    order = [*oneway.FACTORS, *oneway.PRODUCT]
    assert sorted(order) == [i for i, character in enumerate(oneway.CANVAS) if character == MASK]
    assert (oneway.first_written(order), oneway.finished_first(order)) == ("factors", "factors")
    order = [1, *oneway.PRODUCT, 2, 4, 5]
    assert (oneway.first_written(order), oneway.finished_first(order)) == ("factors", "product")
    assert oneway.first_written(order[::-1][4:]) == "product"


def test_one_way_takes_any_true_equation() -> None:
    task = load_task("oneway")
    problem = task.problems(1, "test")[0]
    assert task.check(problem, f"W10*11={110:014b}")
    assert not task.check(problem, f"W10*11={111:014b}")
    assert not task.check(problem, f"W05*22={110:014b}")


JUDGED = Problem("", "J3*7+8*2+4*5=057?" + MASK * 25, "")
DENIED = Problem("", "J3*7+8*2+4*5=058?" + MASK * 25, "")


@pytest.mark.parametrize(
    ("problem", "answer", "right", "sound"),
    [
        (JUDGED, "8*2=16 3*7=21 4*5=20 057Y", True, True),
        (JUDGED, "8*2=16 3*7=21 4*5=20 057N", False, False),
        (JUDGED, "8*2=16 3*7=22 4*5=20 057Y", True, False),
        (JUDGED, "8*2=16 3*7=21 3*7=21 057Y", True, False),
        (JUDGED, "8*2=16 3*7=21 4*5=20 058Y", True, False),
        (JUDGED, "8*2=16 3*7=21 4*5=20~057Y", True, False),
        (DENIED, "8*2=16 3*7=21 4*5=20 057N", True, True),
        (DENIED, "8*2=16 3*7=21 4*5=20 057Y", False, False),
    ],
)
def test_judgement(problem: Problem, answer: str, right: bool, sound: bool) -> None:
    task = load_task("judgement")
    text = problem.prompt + answer
    assert (task.check(problem, text), task.sound(problem, text)) == (right, sound)


def test_half_of_the_claims_are_true_and_false_ones_are_near() -> None:
    problems = drawn(load_task("judgement"), "train", 2000)
    assert 900 < sum(problem.solution[-1] == "Y" for problem in problems) < 1100
    off = {int(problem.solution[13:16]) - int(problem.solution[-4:-1]) for problem in problems}
    assert off == set(range(-10, 11))


def test_sudoku_has_288_grids_and_puzzles_of_a_split_fit_none_of_a_later_one() -> None:
    task = load_task("sudoku")
    assert len(set(sudoku.grids())) == 288
    assert all(sudoku.is_grid(grid) for grid in sudoku.grids())
    for place, split in enumerate(SPLITS):
        for problem in drawn(task, split, 50):
            cells = problem.canvas[1:]
            fitting = [g for g in sudoku.grids() if all(a in (MASK, b) for a, b in zip(cells, g, strict=True))]
            assert sudoku.solutions(cells).bit_count() == len(fitting)
            assert max(SPLITS.index(split_of("sudoku", grid)) for grid in fitting) == place
            assert all(task.check(problem, "S" + grid) for grid in fitting)
            assert 4 <= 16 - cells.count(MASK) <= 8


COUNTDOWN = Problem("", "C3,7,4=25:".ljust(30, MASK), "")


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
        ("3*7=21", False),
        ("7/0=25,25+0=25", False),
    ],
)
def test_countdown(answer: str, right: bool) -> None:
    assert load_task("countdown").check(COUNTDOWN, (COUNTDOWN.prompt + answer).ljust(30, EOS)) is right


def test_countdown_counts_numbers_as_a_multiset() -> None:
    task = load_task("countdown")
    problem = Problem("", "C5,5,2=12:".ljust(30, MASK), "")
    assert task.check(problem, "C5,5,2=12:5+5=10,10+2=12".ljust(30, EOS))
    assert not task.check(problem, "C5,5,2=12:5*2=10,10+2=12".ljust(30, EOS))
    assert task.check(Problem("", "C6,3,20=40:".ljust(30, MASK), ""), "C6,3,20=40:6/3=2,2*20=40".ljust(30, EOS))
    assert not task.check(Problem("", "C7,3,20=40:".ljust(30, MASK), ""), "C7,3,20=40:7/3=2,2*20=40".ljust(30, EOS))


def test_arithmetic_reads_the_final_answer_strictly() -> None:
    task = load_task("arithmetic")
    problem = task.problems(1, "test")[0]  # 9 kids share 72 pens. sam gets 6 more. has?

    def verdict(answer: str) -> tuple[bool, bool]:
        text = problem.prompt + answer.ljust(64, EOS)
        return task.check(problem, text), task.sound(problem, text)

    assert verdict("first 72/9=8, then 8+6=14, so answer 14") == (True, True)
    assert verdict("72/9=8, 8+6=15, answer 14") == (True, False)
    assert verdict("72/9=8, 8-9=1, answer 14") == (True, False)
    assert verdict("7/2=8, answer 14") == (True, False)
    assert verdict("answer 14") == (True, False)
    for wrong in ("answer 114", "answer 14 ", "answer 14, answer 15", "answer 1~4", "14", "~answer 14", "x" * 64):
        assert verdict(wrong) == (False, False), wrong


def test_the_figure_set_is_a_hundred_test_problems() -> None:
    task = load_task("arithmetic")
    problems = figure_set()
    assert len({problem.canvas for problem in problems}) == 100
    assert all(task.split(problem) == "test" and problem.canvas.count(MASK) == 64 for problem in problems)


CHATS = {
    "oneway": ("Here: 12 * 34 = 110011000.", "12*34=110011001"),
    "judgement": ("8*2=16 … The answer is (Yes/No): **No**.", "The answer is (Yes/No): Yes"),
    "sudoku": ("It is\n1 4 3 2\n3, 2, 1, 4\n| 2 | 3 | 4 | 1 |\n4123", "1432\n3214\n2341\n4132"),
    "countdown": ("Sure. 24 + 13 = 37, 37 - 6 = 31", "24+13=37,37-7=31"),
    "arithmetic": ("72/9 = 8, then 8+6 = 14. The answer is **14**.", "the answer is 114"),
}


@ALL
def test_chat_replies_are_checked_like_canvases(task: Task) -> None:
    problem = task.problems(1, "test")[0]
    right, wrong = CHATS[task.name]
    assert task.check_chat(problem, right)
    assert not task.check_chat(problem, wrong)
    assert not task.check_chat(problem, "I do not know.")
    assert len(task.chat(problem)) > 20


def test_the_last_answer_of_a_reply_counts() -> None:
    task = load_task("arithmetic")
    problem = task.problems(1, "test")[0]
    assert task.check_chat(problem, "answer 12? No: answer 14")
    assert not task.check_chat(problem, "answer 14, or rather answer 1,400")
    assert not task.check_chat(problem, "answer 14.5")


def test_an_alphabet_covers_every_text_and_refuses_the_rest() -> None:
    for task in TASKS.values():
        texts = [problem.solution for problem in drawn(task, "train", 200)]
        assert ALPHABET.tensor(texts).tolist() == [ALPHABET.encode(text) for text in texts]
    with pytest.raises(InputError, match="also has"):
        ALPHABET.encode("É")
    with pytest.raises(InputError, match="each character once"):
        Alphabet("aa_~")
    with pytest.raises(InputError, match="each character once"):
        Alphabet("ab~")


# what a canvas and a reply may hold


@ALL
def test_a_canvas_with_a_strange_character_is_wrong(task: Task) -> None:
    for problem in drawn(task, "train", 10):
        for column in (column for column, old in enumerate(problem.canvas) if old == MASK):
            strange = problem.solution[:column] + "\ufffd" + problem.solution[column + 1 :]
            assert not task.check(problem, strange)
            assert not task.sound(problem, strange)


@ALL
def test_a_canvas_stays_one_whatever_is_changed_and_a_reply_is_none(task: Task) -> None:
    for problem in drawn(task, "train", 10):
        for column, old in enumerate(problem.canvas):
            assert is_canvas(problem, problem.solution[:column] + "?" + problem.solution[column + 1 :]), old
        assert is_canvas(problem, problem.canvas)
        assert not any(is_canvas(problem, reply) for reply in CHATS[task.name])
        assert not is_canvas(problem, CHATS[task.name][0].ljust(task.width, "."))


REPLY = Problem("", "C15,44,79=50:".ljust(30, MASK), "")


@pytest.mark.parametrize(("reply", "right"), COUNTDOWN_REPLIES.items())
def test_countdown_reads_steps_as_people_write_them(reply: str, right: bool) -> None:
    assert load_task("countdown").check_chat(REPLY, reply) is right


@pytest.mark.parametrize(
    "reply", ["6÷3=2;2·20=40", "6÷3=2;2⋅20=40", "6÷3=2;2∗20=40", "6/3=2\n2×20=40", r"6 \div 3 = 2, 2 \cdot 20 = 40"]
)
def test_countdown_knows_every_sign(reply: str) -> None:
    problem = Problem("", "C6,3,20=40:".ljust(30, MASK), "")
    assert load_task("countdown").check_chat(problem, reply)
    assert not load_task("countdown").check_chat(problem, reply.replace("40", "41"))


def test_a_task_says_which_numbers_it_draws() -> None:
    numbers = [number for problem in drawn(load_task("countdown"), "train", 2000) for number in question(problem)[0]]
    assert (min(numbers), max(numbers)) == (1, 25)
    assert "three from 1 to 25" in load_task("countdown").numbers
    ends = [end for template in arithmetic.TEMPLATES for ends in template.ranges for end in ends]
    page = (Path(__file__).parents[2] / "docs" / "zoo.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | {task.numbers} |" in page for name, task in TASKS.items())
    assert load_task("arithmetic").numbers.endswith(f"from {min(ends)} to {max(ends)}")
