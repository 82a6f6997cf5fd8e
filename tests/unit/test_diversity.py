"""Quality beside diversity: what counts, what intervals are over, who is on the frontier, how a preset is chosen."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, permutations, product
from pathlib import Path
from typing import Any

import pytest

from infogain import InputError
from infogain.studies import STUDIES, frontier, preset, run_cells
from infogain.studies.cell import Cell, CellResult
from infogain.studies.decoding import lines
from infogain.studies.diversity import (
    ALONE,
    MANY,
    DiversityScores,
    diversity_cell,
    drawn,
    more_distinct,
    on_frontier,
    right_and_different,
)
from infogain.studies.methods import METHODS, PRESET, VARIANTS, method_recipe, recipe
from infogain.studies.store import Store
from infogain.studies.study_files import save
from infogain.studies.subject import Subject
from infogain.studies.what_counts import column, lead, mean_lead, mean_measured, measured, measuring_cell
from infogain.zoo.tasks import TASKS, Problem, load_task
from infogain.zoo.tasks.countdown import question
from infogain.zoo.tasks.sudoku import units

PROBLEM = Problem("", "_", "")
GREEDY = recipe(METHODS["entropy"], 1)


def scored(cell: Cell, texts: list[tuple[int, str]]) -> dict[str, Any]:
    """The numbers of rows of which those that begin with `r` are right."""
    scores = DiversityScores(cell, lambda problem, text: (text.startswith("r"),) * 2)
    for group, text in texts:
        scores.check(group, PROBLEM, text, 2.0)
    return scores.numbers()


def test_a_text_counts_once_in_its_group_and_again_in_another() -> None:
    cell = Cell("sudoku", GREEDY, 2, kind="diversity", draws=4)
    texts = [(0, "r1"), (0, "r1"), (0, "r2"), (0, "w"), (1, "r1"), (1, "w"), (1, "w"), (1, "w")]
    for order in (texts, texts[::-1]):
        found = scored(cell, order)
        assert found["right_by_group"] == [3, 1]
        assert found["distinct_by_group"] == [2, 1]
        assert (found["accuracy"], found["distinct"], found["entropy"]) == (0.5, 0.375, 2.0)
        low, high = found["distinct_95"]
        assert 0 <= low < 0.375 < high <= 1


def test_repetitions_make_right_answers_and_no_different_ones() -> None:
    cell = Cell("oneway", GREEDY, 5, kind="diversity", draws=300)
    found = scored(cell, [(group, "r") for group in range(5) for _ in range(300)])
    assert (found["accuracy"], found["distinct"]) == (1.0, pytest.approx(1 / 300))
    assert found["accuracy_95"][0] > 0.99, "1,500 draws of a single canvas are independent"


def test_intervals_are_over_groups() -> None:
    cell = Cell("sudoku", GREEDY, 4, kind="diversity", draws=2)
    alike = scored(cell, [(g, f"r{i}") for g in range(4) for i in range(2)])
    assert alike["distinct_95"] == [1.0, 1.0]
    apart = scored(cell, [(g, f"{'r' if g < 2 else 'w'}{i}") for g in range(4) for i in range(2)])
    assert apart["distinct_95"][0] == 0.0, "half the prompts have none"


def test_one_group_tells_no_interval() -> None:
    found = scored(Cell("oneway", GREEDY, 1, kind="diversity", draws=2), [(0, "r"), (0, "w")])
    assert (found["distinct"], found["distinct_95"]) == (0.5, None)


def test_full_cells_are_as_large_as_they_must_be() -> None:
    for task in MANY:
        cell = diversity_cell(task, GREEDY, "full")
        assert (cell.problems, cell.draws) == ((5, 300) if task in ALONE else (50, 32))
        rows = lines(cell)
        assert len({row.seed for row in rows}) == len(rows) == cell.problems * cell.draws
        assert len({row.problem.canvas for row in rows}) == (1 if task in ALONE else 50)
    assert ALONE == ["oneway", "molecule"]
    assert drawn(diversity_cell("oneway", GREEDY, "full")) == "5 batches of 300 draws"


@pytest.mark.parametrize("task", MANY)
def test_no_draw_of_the_search_is_one_of_the_test(task: str) -> None:
    """A setting may not be tested on what it was chosen by: another canvas, or another seed."""
    chosen, tested = (lines(diversity_cell(task, GREEDY, "full", split)) for split in ("validation", "test"))
    pairs = [{(row.problem.canvas, row.seed) for row in rows} for rows in (chosen, tested)]
    assert pairs[0].isdisjoint(pairs[1])


def test_a_cell_without_draws_decodes_what_it_did_before_there_were_any() -> None:
    cell = Cell("sudoku", GREEDY, 2, (0, 1))
    many = replace(cell, seeds=(0,), draws=2, kind="diversity")
    assert [row.seed for row in lines(cell)[:2]] == [row.seed for row in lines(many)[:2]]
    assert [row.turn for row in lines(many)] == [0, 0, 1, 1]


# every prompt that diversity is measured on has several right answers


def answers(problem: Problem) -> Iterator[str]:
    """The right answers of a problem, found by trying everything."""
    if problem.canvas[0] == "W":
        return equations(problem.canvas)
    return grids(problem.canvas[1:]) if problem.canvas[0] == "S" else countdowns(*question(problem))


def equations(canvas: str) -> Iterator[str]:
    pattern = re.compile(canvas.replace("*", r"\*").replace("_", "."))
    every = (f"W{a}*{b}={a * b:014b}" for a, b in product(range(10, 100), repeat=2))
    return (text for text in every if pattern.fullmatch(text))


def grids(cells: str) -> Iterator[str]:
    """Complete 4×4 grids in any four digits that keep the givens."""
    if "_" not in cells:
        yield cells
        return
    at = cells.index("_")
    seen = {cells[i] for unit in units(4) if at in unit for i in unit}
    for digit in "123456789":
        if digit not in seen and len({*cells, digit} - {"_"}) <= 4:
            yield from grids(cells[:at] + digit + cells[at + 1 :])


def countdowns(numbers: list[int], target: int) -> Iterator[str]:
    if len(numbers) == 1:
        yield from [""] * (numbers == [target])
    for i, j in permutations(range(len(numbers)), 2):
        a, b, rest = numbers[i], numbers[j], [x for k, x in enumerate(numbers) if k not in (i, j)]
        results = {"+": a + b, "*": a * b, "-": a - b, "/": a // b if b and a % b == 0 else -1}
        for sign, value in results.items():
            if value >= 0:
                yield from (f"{a}{sign}{b}={value},{more}" for more in countdowns([*rest, value], target))


@pytest.mark.parametrize("task", [name for name in MANY if name not in ALONE])
def test_prompts_have_several_right_answers(task: str) -> None:
    cell = diversity_cell(task, GREEDY, "full")
    assert [each.canvas for each in cell.load_problems() if len({*islice(answers(each), 20)}) < 2] == []


def test_countdowns_with_a_single_answer_are_left_out() -> None:
    problems = load_task("countdown").problems(110, "test")
    single = [each for each in problems if len({*answers(each)}) == 1]
    assert single
    assert not any(load_task("countdown").several(each) for each in single)
    assert {each.canvas for each in single}.isdisjoint(
        row.problem.canvas for row in lines(diversity_cell("countdown", GREEDY, "full"))
    )


def test_a_task_whose_problems_have_one_answer_is_refused() -> None:
    with pytest.raises(InputError, match="more than one right answer; sudoku6 has 0 among 30"):
        Cell("sudoku6", GREEDY, 10, kind="diversity", draws=2).load_problems()
    posed = Problem("", "S1".ljust(17, "_"), "S1234341221434321")
    assert load_task("sudoku").several(posed)
    assert not load_task("sudoku").several(replace(posed, canvas="S123434122143432_"))


@pytest.mark.parametrize(
    ("task", "replies", "answer"),
    [
        ("countdown", ["So 93 - 63 = 30, 30 + 3 = 33.", "First\n93-63=30\n30+3=33"], "93-63=30,30+3=33"),
        ("oneway", ["Here: 12 × 34 = 110011000", "12*34=00000110011000"], "W12*34=00000110011000"),
        ("sudoku", ["1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "Done:\n1234\n3412\n2143\n4321"], "1234341221434321"),
    ],
)
def test_replies_with_the_same_answer_are_one(task: str, replies: list[str], answer: str) -> None:
    assert {load_task(task).answer_in(reply) for reply in replies} == {answer}
    assert load_task(task).answer_in("I do not know.") == ""
    cell = Cell("sudoku", GREEDY, 1, kind="diversity", draws=2)
    scores = DiversityScores(cell, lambda problem, text: (True, True), load_task(task).answer_in)
    for reply in replies:
        scores.check(0, PROBLEM, reply, 1.0)
    assert scores.numbers()["distinct_by_group"] == [1]


# the frontier


def row(label: str, right: list[int], different: list[int], draws: int = 10, **labels: Any) -> CellResult:
    cell = Cell(labels.get("task", "sudoku"), GREEDY, len(right), kind="diversity", draws=draws)
    numbers = {
        "right_by_group": right,
        "distinct_by_group": different,
        "accuracy": sum(right) / draws / len(right),
        "accuracy_95": [0.0, 1.0],
        "distinct": sum(different) / draws / len(right),
        "distinct_95": [0.0, 1.0],
        "token_forwards": 100.0,
    }
    return CellResult({"sampler": label, "task": "sudoku", "K": 1, **labels}, cell, numbers)


def test_the_frontier_leaves_out_what_another_beats() -> None:
    rows = [
        row("sure", [9, 9], [2, 2]),
        row("varied", [5, 5], [5, 5]),
        row("between", [7, 7], [4, 4]),
        row("beaten", [7, 7], [3, 3]),
        row("beaten in both", [4, 4], [4, 4]),
        row("twin", [9, 9], [2, 2]),
    ]
    assert [each["sampler"] for each in on_frontier(rows, right_and_different)] == ["sure", "varied", "between", "twin"]
    places = frontier.frontier_places([*rows, row("sure", [9, 9], [2, 2], task="oneway")])
    assert places == {"sure": 2, "varied": 1, "between": 1, "beaten": 0, "beaten in both": 0, "twin": 1}


def test_differences_are_group_by_group() -> None:
    one, other = (row("a", [9, 9, 9], each, task="oneway") for each in ([9, 5, 1], [8, 4, 0]))
    gap = more_distinct(one, other)
    assert gap == (0.1, 0.1, 0.1), "the groups differ, the differences do not"
    assert lead(one, other) == gap


def test_what_counts_are_different_answers_where_there_is_a_single_canvas() -> None:
    assert measured(row("a", [9, 9], [3, 3], task="oneway")).value == 0.3
    assert measured(row("a", [9, 9], [3, 3])).value == 0.9
    assert measuring_cell("entropy", "oneway", 1, 0.7, "full").kind == "diversity"
    plain = measuring_cell("entropy", "countdown", 1, 0.7, "full", problems=500, seeds=5)
    assert (plain.kind, plain.problems, len(plain.seeds)) == ("decode", 500, 5)
    assert (column("oneway"), column("countdown")) == ("oneway (different)", "countdown")
    rows = [row("a", [9, 9], [3, 3]), row("a", [9, 9], [5, 5], task="oneway"), row("b", [1, 1], [1, 1])]
    mean = mean_measured(rows, "a")
    assert mean is not None
    assert mean.value == pytest.approx((0.9 + 0.5) / 2)
    assert mean_measured(rows, "b") is None, "it has not all tasks"


def test_every_sampler_of_the_frontier_is_one_that_exists() -> None:
    for label in frontier.LABELS:
        assert method_recipe(label, "oneway", 1).sampler is not None
    assert all(method_recipe(label, "oneway", 1).sampler.traits.candidates == 8 for label in VARIANTS)
    assert PRESET in frontier.FEW


def test_means_are_of_samplers_that_have_all_tasks() -> None:
    rows = [row("a", [5, 5], [5, 5]), row("a", [5, 5], [5, 5], task="oneway"), row("b", [9, 9], [9, 9], task="oneway")]
    assert [line[0] for line in frontier.mean_table(1, rows).rows] == ["a"]
    assert all(": a, 50.0 % right" in said for said in frontier.sentences(1, rows))
    assert frontier.sentences(1, [rows[0], rows[2]]) == []
    assert math.isnan(mean_lead(rows, "a", "b").value)


# the preset


def tried(stage: str, setting: preset.Setting, value: float) -> CellResult:
    labels = {"stage": stage, "task": "sudoku", "K": 1, "setting": [list(pair) for pair in setting]}
    numbers = {"accuracy": value, "accuracy_95": [0.0, 1.0]}
    return CellResult(labels, Cell("sudoku", GREEDY, 2, split="validation"), numbers)


def test_a_setting_names_what_differs_from_the_paper() -> None:
    assert preset.setting_of({"gain_power": 1.0, "tau_pos": 0.1, "draws": "fresh"}) == preset.PAPER == ()
    assert preset.setting_of({"tau_pos": 0.4, "draws": "shared"}) == (("draws", "shared"), ("tau_pos", 0.4))
    assert preset.shown(()) == "the paper's"
    off = {"gamma": 1.0, "bypass_of": "drawn"}
    assert preset.setting_of(off) == (("gamma", 1.0),), "a bypass that is off asks nothing"


def test_of_equal_settings_the_nearest_to_the_paper_is_chosen() -> None:
    far, near = preset.setting_of({"tau_pos": 0.4, "draws": "shared"}), preset.setting_of({"tau_pos": 0.4})
    rows = [tried("grid", (), 0.5), tried("grid", far, 0.7), tried("grid", near, 0.7)]
    assert preset.choose(rows) == near


def test_options_that_helped_alone_are_tried_together() -> None:
    start = {"gain_power": 0.0}
    alone = {("phi", "entropy"): 0.65, ("need", 1.0): 0.62, ("tau_select", 0.2): 0.5, ("phi", "top1"): 0.61}
    rows = [tried("grid", (), 0.5), tried("grid", preset.setting_of(start), 0.6)]
    rows += [tried("further", preset.setting_of({**start, name: value}), v) for (name, value), v in alone.items()]
    assert preset.together(rows) == [preset.setting_of({**start, "phi": "entropy", "need": 1.0})]
    assert preset.new_ones(rows, [(), preset.setting_of({"tau_pos": 0.4})] * 2) == [(("tau_pos", 0.4),)]


def test_a_preset_is_chosen_on_validation_problems_in_stages_and_tested_last() -> None:
    study = preset.PresetStudy()
    first = study.points("full")
    assert {point.cell.split for point in first} == {"validation"}
    assert {point.labels["task"] for point in first} == set(TASKS)
    rows = [CellResult(p.labels, p.cell, numbers_of(p.cell, 0.5)) for p in first]
    stages = []
    while more := study.follow("full", rows):
        stages.append(more[0].labels["stage"])
        value = 0.6 if stages[-1] == "further" else 0.5
        rows += [CellResult(p.labels, p.cell, numbers_of(p.cell, value)) for p in more]
    assert stages == ["further", "together", "again", "test"]
    tested = [each for each in rows if each["stage"] == "test"]
    assert {each.cell.split for each in tested} == {"test"}
    assert all(each.cell.problems >= 500 or each.cell.kind == "diversity" for each in tested)


def test_a_preset_that_is_half_done_is_told_and_not_called_complete(tmp_path: Path) -> None:
    """Whatever is missing: cells of the grid, the paper's setting, or the preset's own test cells."""
    study, subject = preset.PresetStudy(), Subject("zoo:tiny-reason", "cpu")
    first = study.points("full")
    rows = [CellResult(p.labels, p.cell, numbers_of(p.cell, 0.5)) for p in first]
    for part in (rows[:40], rows[16:]):
        assert save(study, part, "full", subject, tmp_path)
        assert json.loads((tmp_path / "preset.json").read_text())["expected"] == len(first)
    while more := study.follow("full", rows):
        rows += [CellResult(p.labels, p.cell, numbers_of(p.cell, 0.5)) for p in more]
    late = [each for each in rows if each.labels.get("sampler") != "preset"]
    assert save(study, late, "full", subject, tmp_path)
    assert json.loads((tmp_path / "preset.json").read_text())["expected"] == len(rows) > len(late)


def test_settings_and_rivals_share_the_frontiers_of_validation() -> None:
    """A setting that lacks a task has no place, for it could not be compared."""
    rows = [
        row("varied", [5, 5], [5, 5], stage="rivals"),
        row("", [9, 9], [2, 2], stage="grid", setting=[]),
        row("", [4, 4], [2, 2], stage="further", setting=[["tau_pos", 0.4]]),
        row("beaten", [4, 4], [1, 1], stage="rivals"),
        row("elsewhere", [4, 4], [1, 1], stage="rivals", K=2),
        *(row(name, [6, 6], [6, 6], stage="rivals", K=2) for name in ("varied", "beaten")),
        *(row("", [7, 7], [1, 1], stage="grid", setting=each, K=2) for each in ([], [["tau_pos", 0.4]])),
    ]
    table = preset.frontier_table(rows)
    assert [line[:4] for line in table.rows] == [
        ["varied", "2 of 2", "55.0", "55.0"],
        ["the paper's", "2 of 2", "80.0", "15.0"],
        ["beaten", "1 of 2", "50.0", "35.0"],
        ["tau_pos = 0.4", "1 of 2", "55.0", "15.0"],
    ]


def test_a_setting_is_told_once_all_its_cells_are_there() -> None:
    better = preset.setting_of({"tau_pos": 0.4})
    rows = [tried("grid", (), 0.5), tried("grid", (), 0.5), tried("grid", better, 0.9)]
    assert preset.choose(rows) == ()
    assert preset.choose([*rows, tried("grid", better, 0.3)]) == better


def numbers_of(cell: Cell, value: float) -> dict[str, Any]:
    groups = {"distinct_by_group": [1] * cell.problems, "hits": "1" * cell.problems}
    costs = {"entropy": 1.0, "entropy_95": [0.5, 1.5], "seconds": 1.0, "device": "CPU", "float32": "highest"}
    costs |= {"token_forwards": 100.0}
    shares = {"accuracy": value, "accuracy_95": [0.0, 1.0], "distinct": value, "distinct_95": [0.0, 1.0]}
    return {**shares, **groups, **costs, "sound": value}


def test_a_study_goes_on_until_nothing_follows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cells, "run_cell", lambda subject, cell: numbers_of(cell, 0.5))
    subject, study = Subject("zoo:tiny-reason", "cpu"), STUDIES["preset"]
    rows = run_cells.run_study(study, "small", run_cells.Workers(subject), Store(tmp_path), lambda *_: None)
    assert list(dict.fromkeys(each["stage"] for each in rows)) == ["grid", "rivals", "further", "test"]
    assert study.follow("small", rows) == []
    assert not math.isnan(preset.means(rows)[()])
