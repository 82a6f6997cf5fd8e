"""How tasks score what a model wrote: Countdown's steps, Sudoku's grids, and canvases of the zoo."""

from __future__ import annotations

import pytest

from infogain.evals.task import Item, ItemScore
from infogain.evals.tasks import TASKS, load_task
from infogain.evals.tasks.countdown import draw
from infogain.evals.tasks.sudoku import lines
from infogain.zoo.characters import MASK
from tests.countdowns import COUNTDOWN_REPLIES
from tests.unit.test_evals_tasks import COUNTDOWN, SOLUTION


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("44-15=29,79-29=50", True),
        ("The steps: 44 - 15 = 29, 79 - 29 = 50.", True),
        ("79-29=50,44-15=29", False),  # 29 is not there yet
        ("44-15=30,79-29=50", False),  # a false step
        ("15+44=59,79-29=50", False),  # 29 from nowhere
        ("79-29=50", False),  # not all numbers
        ("44-15=29,79-29=50,50+0=50", False),
        ("44-15=29,79-29=50.5", False),
        ("44-15=29,79-29=500", False),
        ("50", False),
        ("", False),
    ],
)
def test_countdown_checks_numbers_and_steps(text: str, right: bool) -> None:
    assert load_task("countdown").score(Item("0", COUNTDOWN["input"], COUNTDOWN["output"]), text).right is right


@pytest.mark.parametrize(("text", "right"), COUNTDOWN_REPLIES.items())
def test_countdown_reads_steps_as_people_write_them(text: str, right: bool) -> None:
    assert load_task("countdown").score(Item("0", COUNTDOWN["input"], COUNTDOWN["output"]), text).right is right


def test_countdown_joins_no_numbers_over_a_space_and_knows_every_sign() -> None:
    task = load_task("countdown")
    assert not task.score(Item("0", "12,3,5,20", ""), "1 2+3=15,15+5=20").right
    assert task.score(Item("0", "12,3,5,20", ""), "12+3=15,15+5=20").right
    for times in "·⋅∗×*":
        assert task.score(Item("0", "6,3,20,40", ""), f"6÷3=2;2{times}20=40") == ItemScore(True, "6/3=2,2*20=40")


def test_countdown_of_more_numbers_joins_any_two() -> None:
    item = Item("0", "1,2,3,4,21", "1+2=3,3+4=7,7*3=21")
    assert load_task("countdown4").score(item, "1+2=3,3+4=7,7*3=21").right
    assert load_task("countdown4").score(item, "3+4=7,1+2=3,7*3=21").right
    assert not load_task("countdown4").score(item, "3+4=7,7*3=21").right
    assert not load_task("countdown5").score(item, "3+4=7,7*3=21").right


@pytest.mark.parametrize("count", [3, 4, 5])
def test_drawn_countdowns_are_solved_by_their_golds_and_by_no_other(count: int) -> None:
    task = load_task("countdown" if count == 3 else f"countdown{count}")
    items = [Item(str(i), shot.question, shot.answer) for i, shot in enumerate(draw(count, 40, "golds"))]
    for item in items:
        assert [other.id for other in items if task.score(item, other.gold).right] == [item.id]


def test_a_sudoku_may_have_several_solutions_and_keeps_its_givens() -> None:
    task = load_task("sudoku")
    item = Item("0", "1234341200000000", "1234341221434321")
    for grid, right in {"1234341221434321": True, "1234341243212143": True, "2143341212344321": False}.items():
        assert task.score(item, f"Puzzle …\nSolution:\n{lines(SOLUTION)}\n\nSolution:\n{lines(grid)}").right is right
    assert not task.score(item, "Solution:\n1234\n3412\n2143\n432").right
    assert not task.score(item, "").right


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("zoo:")])
def test_the_zoos_golds_are_right_as_canvases_and_scored_as_chat_otherwise(name: str) -> None:
    task = load_task(name)
    _, items = task.items()
    assert len(items) == 500
    for item in items[:20]:
        problem = item.extra
        assert task.score(item, problem["solution"]).right
        assert task.score(item, problem["solution"]).answer == item.gold
        assert not task.score(item, "I do not know.").right
        assert task.build(item, [], "infill") == problem["canvas"]
        assert task.build(item, [], "chat") != problem["canvas"]


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("zoo:")])
def test_a_canvas_of_the_zoo_with_other_givens_or_masks_is_wrong(name: str) -> None:
    """It must not be read as a chat either, in which the answer alone counts."""
    task = load_task(name)
    for item in task.items()[1][:5]:
        canvas, solution = item.extra["canvas"], item.extra["solution"]
        for column, given in enumerate(canvas):
            for other in {MASK, "?", "7"} - {solution[column]}:
                changed = solution[:column] + other + solution[column + 1 :]
                assert given == MASK != other or not task.score(item, changed).right, changed


@pytest.mark.parametrize("given", ["C93,3,63=99:", "C1,2,3=4:", "X93,3,63=33:", "C93,3,63=3_:", "C3,93,63=33:"])
def test_a_countdown_canvas_with_a_right_answer_to_other_givens_is_wrong(given: str) -> None:
    task, answer = load_task("zoo:countdown"), "93-63=30,30+3=33"
    item = task.items()[1][0]
    assert item.question.startswith("C93,3,63=33:")
    assert task.score(item, f"C93,3,63=33:{answer}".ljust(34, "~")).right
    assert task.score(item, f"So {answer}").right
    assert not task.score(item, f"{given}{answer}".ljust(34, "~")).right


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("zoo:")])
def test_what_was_asked_for_as_a_canvas_is_judged_as_one_and_a_short_or_long_one_is_wrong(name: str) -> None:
    task = load_task(name)
    for item in task.items()[1][:20]:
        solution = item.extra["solution"]
        for text, right in ((solution, True), (solution[:-1], False), (solution + "~", False), ("", False)):
            assert task.score(item, text).right is right, text
            assert [score.right for score in task.scores([(item, text)], "infill")] == [right], text


OTHER = ["X11,99,7=88:93-63=30,30+3=33      ", "C93,3,63=33:93-63=30,30+3=33     ", "93-63=30,30+3=33"]


@pytest.mark.parametrize("text", OTHER)
def test_a_right_answer_on_another_canvas_is_wrong(text: str) -> None:
    task = load_task("zoo:countdown")
    item = task.items()[1][0]
    assert [score.right for score in task.scores([(item, text)], "infill")] == [False]
    assert task.score(item, text).right is (text == OTHER[-1])  # a reply, where nobody says how it was asked
    assert [score.right for score in task.scores([(item, "93-63=30\n30+3=33")], "chat")] == [True]


def test_the_benchmarks_sudoku_takes_the_digits_1_to_4_alone() -> None:
    """Puzzles of the zoo may have any four digits; those of the benchmark may not, and are drawn without."""
    task = load_task("sudoku")
    item = Item("0", "1200000000000000", "1234341221434321")
    for digits, right in {"1234": True, "1243": True, "1235": False, "1289": False}.items():
        grid = "1234341221434321".translate(str.maketrans("1234", digits))
        assert task.score(item, f"Solution:\n{lines(grid)}").right is right, grid
        assert (
            load_task("zoo:sudoku")
            .score(Item("0", "", "", {"identity": "", "canvas": "S12".ljust(17, MASK), "solution": ""}), f"S{grid}")
            .right
        )
    _, items = task.items()
    assert len(items) == len({item.question for item in items}) == 500
    for item in items:
        assert set(item.question) <= set("01234")
        assert 4 <= 16 - item.question.count("0") <= 8
        assert task.score(item, f"Solution:\n{lines(item.gold)}").right
