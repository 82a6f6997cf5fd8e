"""What holds for every task of the zoo: right answers pass, everything else fails, and the splits never meet."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from random import Random

import pytest

from infogain import InputError, UnknownName
from infogain.studies.run import MASKS
from infogain.zoo import ALPHABET, SPLITS, TASKS, Alphabet, Problem, Task, load_task
from infogain.zoo.characters import EOS, MASK
from infogain.zoo.tasks import arithmetic, countdown, judgement
from infogain.zoo.tasks.problem import _problems, fits, is_canvas
from infogain.zoo.tasks.sudoku import Sudoku

ALL = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
HELD_OUT = {name: task for name, task in TASKS.items() if not task.unconditional}
SPLIT = pytest.mark.parametrize("task", HELD_OUT.values(), ids=HELD_OUT)


def drawn(task: Task, split: str, count: int = 300, seed: int = 0, posed: bool = True) -> list[Problem]:
    rng = Random(f"{split} {seed}")
    return [task.sample(rng, split, posed) for _ in range(count)]


@ALL
@pytest.mark.parametrize("split", SPLITS)
def test_a_reference_solution_is_right_and_sound(task: Task, split: str) -> None:
    for problem in drawn(task, split, 100):
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


@ALL
def test_a_given_column_may_not_change_wherever_it_stands(task: Task) -> None:
    """Not before the first mask alone: judgement gives a lead behind masks, Sudoku and one-way digits among them."""
    for problem in drawn(task, "train", 20):
        for column, given in enumerate(problem.canvas):
            if given != MASK:
                for other in {"1", "2", " "} - {given}:
                    changed = problem.solution[:column] + other + problem.solution[column + 1 :]
                    assert not task.check(problem, changed)
                    assert not task.sound(problem, changed)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.many])
def test_any_other_digit_makes_it_wrong_unless_it_is_another_right_answer(name: str) -> None:
    """A changed digit must fail: one digit never leads from one true text of these tasks to another."""
    task = load_task(name)
    for problem in drawn(task, "train", 40):
        for column, old in enumerate(problem.solution):
            if problem.canvas[column] == MASK and old.isdigit():
                new = str((int(old) + 1) % 10)
                assert not task.check(problem, problem.solution[:column] + new + problem.solution[column + 1 :])


SECOND = {
    "oneway": "W10*11=00000001101110",
    "oneway-given": "W19*12=00000011100100",
    "sudoku": "S2918819218299281",
    "countdown": "C93,3,63=33:93-63=30,30+3=33~~~~~~",
    "countdown4": "C50,55,77,30=52:77-50=27,55-30=25,27+25=52~~~~~~",
}


def test_tasks_that_have_many_right_answers_say_so() -> None:
    assert {name for name, task in TASKS.items() if task.many} == set(SECOND)
    for name, text in SECOND.items():
        task = load_task(name)
        problem = task.problems(1, "test")[0]
        assert text != problem.solution
        assert task.check(problem, text)


@SPLIT
def test_splits_never_share_a_problem(task: Task) -> None:
    """Nor a canvas, except that the few givens of `sudoku` fit grids of all splits: there the grid is held out."""
    count = 100 if task.name == "sudoku6" else 1000  # its grids take long to draw
    problems = {split: drawn(task, split, count) for split in SPLITS}
    identities = {split: {problem.identity for problem in problems[split]} for split in SPLITS}
    canvases = {split: {problem.canvas for problem in problems[split]} for split in SPLITS}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert identities[one].isdisjoint(identities[other])
        assert task.name == "sudoku" or canvases[one].isdisjoint(canvases[other])


@SPLIT
def test_the_training_generator_never_emits_a_test_problem(task: Task) -> None:
    held_out = {problem.identity for problem in task.problems(200, "test")}
    emitted = {problem.identity for problem in drawn(task, "train", 3000, seed=1, posed=False)}
    assert emitted.isdisjoint(held_out)
    assert all(task.split(problem) == "train" for problem in drawn(task, "train", 500, seed=2, posed=False))


@ALL
def test_problems_come_from_their_seed_alone(task: Task) -> None:
    first = task.problems(20, "test", 3)
    first.clear()  # a caller's list is its own
    first = task.problems(20, "test", 3)
    _problems.cache_clear()
    assert task.problems(20, "test", 3) == first
    assert task.problems(20, "test", 3) != task.problems(20, "test", 4)
    canvases = {problem.canvas for problem in task.problems(50, "test")}
    assert len(canvases) == (1 if task.unconditional else 50)


def test_the_seeds_mean_the_same_for_ever() -> None:
    """Published scores are of these problems: changing a generator must fail here."""
    first = {name: task.problems(1, "test")[0] for name, task in TASKS.items()}
    assert {name: problem.solution.rstrip(EOS) for name, problem in first.items()} == {
        "oneway": "W54*35=00011101100010",
        "oneway-given": "W69*22=00010111101110",
        "judgement": "J38*8+96*9+52*4=1376?38*8=304 52*4=208 96*9=864 1376 answer:Y",
        "sudoku": "S2938839238299283",
        "sudoku6": "S613524452631524163361245235416146352",
        "countdown": "C93,3,63=33:3+93=96,96-63=33",
        "countdown4": "C50,55,77,30=52:77-30=47,50-47=3,55-3=52",
        "arithmetic": "Aeva has 90 figs, zac 7 times that, ida 119. total?".ljust(60)
        + "90*7=630, 90+630=720, 720+119=839, answer 839",
    }
    assert {name: problem.canvas for name, problem in first.items() if problem.canvas[0] in "SW"} == {
        "oneway": "W__*__=______________",
        "oneway-given": "W_9*_2=________1_____",
        "sudoku": "S___8_______9____",
        "sudoku6": "S6______526__5_____3___4______6_4__5_",
    }


@ALL
def test_training_masks_what_is_posed_or_more(task: Task) -> None:
    """All else that is written may be masked too where a model learns from complete texts."""
    rng = Random(0)
    for lesson in [task.sample(rng, "train", posed=False) for _ in range(50)]:
        assert task.split(lesson) == "train" or task.unconditional
        assert fits(lesson.canvas, lesson.solution, MASK)
        assert task.check(lesson, lesson.solution)
        assert lesson.canvas.count(MASK) == task.width - 1 or not isinstance(task, Sudoku)


def test_a_task_that_another_teaches_looks_like_it() -> None:
    taught = {name: task.taught_by for name, task in TASKS.items() if task.taught_by}
    assert taught == {"oneway-given": "oneway"}
    for name, teacher in taught.items():
        task, other = load_task(name), load_task(teacher)
        assert other.taught_by is None
        blank = other.problems(1, "test")[0].canvas
        for problem in task.problems(20, "test"):
            assert all(new in (MASK, old) for old, new in zip(problem.canvas, blank, strict=True))
        assert all(other.check(other.problems(1, "test")[0], problem.solution) for problem in drawn(task, "test", 50))


def test_canvases_of_different_texts_can_be_told_apart() -> None:
    kinds = {(task.tag, task.width) for task in TASKS.values() if task.taught_by is None}
    assert len(kinds) == len([task for task in TASKS.values() if task.taught_by is None])


def test_a_split_that_is_used_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.zoo.tasks.problem.PATIENCE", 1)
    one_hole = Sudoku("sudoku", 4, "1234", givens=(15, 15))  # some hundred puzzles in all, so one comes twice
    with pytest.raises(InputError, match=r"sudoku has about \d+ test problems; got a call for 150"):
        one_hole.problems(150, "test")


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="countdown"):
        load_task("count-down")
    with pytest.raises(UnknownName, match="test"):
        load_task("countdown").problems(1, "tests")


CHATS = {
    "oneway": ("Here: 12 * 34 = 110011000.", "12*34=110011001"),
    "oneway-given": ("Here: 69 * 22 = 00010111101110.", "12*34=00000110011000"),
    "judgement": ("38*8=304 … The answer is (Yes/No): **Yes**.", "The answer is (Yes/No): No"),
    "sudoku": ("It is\n2 9 3 8\n8, 3, 9, 2\n| 3 | 8 | 2 | 9 |\n9283", "2938\n8392\n3829\n9238"),
    "sudoku6": (
        "It is\n6 1 3 5 2 4\n4, 5, 2, 6, 3, 1\n| 5 | 2 | 4 | 1 | 6 | 3 |\n361245\n235416\n146352",
        "613524\n452631\n524163\n361245\n235416\n146325",
    ),
    "countdown": ("Sure. 93 - 63 = 30, 30 + 3 = 33", "93-63=30,30+4=33"),
    "countdown4": ("Sure. 77 - 50 = 27, 55 - 30 = 25, 27 + 25 = 52", "55+30=85,85-33=52"),
    "arithmetic": ("90*7 = 630, then … = 839. The answer is **839**.", "the answer is 1839"),
}


@ALL
def test_chat_replies_are_checked_like_canvases(task: Task) -> None:
    problem = task.problems(1, "test")[0]
    right, wrong = CHATS[task.name]
    assert task.check_chat(problem, right)
    assert not task.check_chat(problem, wrong)
    assert not task.check_chat(problem, "I do not know.")
    assert len(task.chat(problem)) > 20


def test_an_alphabet_covers_every_text_and_refuses_the_rest() -> None:
    for task in TASKS.values():
        texts = [problem.solution for problem in drawn(task, "train", 200)]
        assert ALPHABET.tensor(texts).tolist() == [ALPHABET.encode(text) for text in texts]
    with pytest.raises(InputError, match="also has"):
        ALPHABET.encode("É")
    with pytest.raises(InputError, match="each symbol once"):
        Alphabet("aa_~")
    with pytest.raises(InputError, match="each symbol once"):
        Alphabet("ab~")


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


def test_a_task_says_which_numbers_it_draws() -> None:
    for name, count in (("countdown", "three"), ("countdown4", "four")):
        asked = [countdown.question(problem) for problem in drawn(load_task(name), "train", 2000)]
        numbers = [number for numbers, _ in asked for number in numbers]
        targets = [target for _, target in asked]
        assert (min(numbers), max(numbers), min(targets), max(targets)) == (1, 99, 10, 99)
        told = f"{count} from 1 to 99, results below 1000, targets from 10 to 99"
        assert load_task(name).numbers == told
    pairs = [pair for problem in drawn(load_task("judgement"), "train", 500) for pair in judgement.question(problem)[0]]
    ends = [(min(factor), max(factor)) for factor in zip(*pairs, strict=True)]
    assert ends == [(10, 99), (2, 9)]
    assert load_task("judgement").numbers.startswith("factors from 10 to 99 and from 2 to 9,")
    task = load_task("sudoku")
    givens = {task.width - problem.canvas.count(MASK) - 1 for problem in drawn(task, "train")}
    assert (min(givens), max(givens)) == (2, 4)
    assert task.numbers.startswith("2 to 4 givens of 16")
    ends = [end for template in arithmetic.TEMPLATES for end in template.ranges]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    assert load_task("arithmetic").numbers.endswith(f"from {least} to {most}")


def test_a_plan_of_studies_knows_how_much_each_task_writes() -> None:
    planned = {name: load_task(name) for name in (*TASKS, "tale", "molecule", "scaffold")}
    assert set(MASKS) == set(planned)
    for name, task in planned.items():
        masks = [problem.canvas.count(MASK) for problem in task.problems(100, "test")]
        assert MASKS[name] == pytest.approx(sum(masks) / len(masks), abs=1)


PAGE = (Path(__file__).parents[2] / "docs" / "zoo.md").read_text(encoding="utf-8")


def test_the_page_on_the_zoo_tells_the_numbers_of_every_task() -> None:
    assert all(f"| `{name}` | {task.numbers} |" in PAGE for name, task in TASKS.items())


def test_the_page_on_the_zoo_poses_test_problems() -> None:
    """As canvases with right answers, and as commands that leave as many columns as the task does."""
    shown = {
        name: codes.split("`")
        for name, codes in re.findall(r"^\| `([\w-]+)` \| (`.*) \| .* \|$", PAGE, re.MULTILINE)
        if name in TASKS
    }
    asked = dict(re.findall(r"^\| `([\w-]+)` \| `infogain (.+?)`.*\|$", PAGE, re.MULTILINE))
    assert set(shown) == set(asked) == set(TASKS)
    for name, task in TASKS.items():
        problems = task.problems(2, "test")
        command, text, *length = shlex.split(asked[name])
        canvas = re.sub(r"\[MASK:(\d+)\]", lambda hole: MASK * int(hole[1]), text)
        if command == "generate":
            assert length[0] == "--length"
            canvas += MASK * int(length[1])
        assert canvas in [problem.canvas for problem in problems]
        answers = [problem.solution.rstrip(EOS) for problem in problems]
        assert any(answer.endswith(shown[name][-2].rstrip("~…")) for answer in answers)
        assert canvas.startswith(shown[name][1].rstrip(MASK))
