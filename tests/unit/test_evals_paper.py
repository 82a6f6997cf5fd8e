"""The paper's tables as data: every row has its recipe, every number is the paper's, differences are of like things."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infogain.algorithm.schedule import TokensPerStep
from infogain.errors import InputError, UnknownName
from infogain.evals import reproduce
from infogain.evals.reproduced_table import notes, table_of
from infogain.evals.tasks import load_task
from infogain.recipe import Recipe
from infogain.recipe_files import load_recipe, recipes_folder
from infogain.report.paper import FILE, PaperTable, load_table, table_names
from infogain.samplers import AR, KLASS, PC, Confidence, Entropy, InfoGain, LookUM, Margin

TABLES = {name: load_table(name) for name in ("table2", "table3")}
BY_NAME = {(table.name, row.name): row for table in TABLES.values() for row in table.rows}


def test_every_row_has_its_recipe_and_every_recipe_its_row() -> None:
    assert table_names() == ["table2", "table3", "table4", "table5"]
    for table, rows in zip(TABLES.values(), (18, 12), strict=True):
        folder = recipes_folder() / table.name
        files = {path.stem for path in folder.glob("*.toml") if path.name != FILE}
        assert {row.name for row in table.rows} == files
        assert len(table.rows) == len(files) == rows
        for row in table.rows:
            text = (folder / f"{row.name}.toml").read_text()
            number = table.name[-1]
            assert re.match(rf"# Table {number} \(.+\), K = {row.k}, {row.sampler}\.\n# ", text), row.name
            assert row.name == f"k{row.k}-{row.recipe.sampler.name}"
            assert row.recipe == load_recipe(folder / f"{row.name}.toml")
            assert row.recipe.schedule == TokensPerStep(row.k)
            assert row.recipe.block == 16
            assert row.recipe.sampler.tau_token == 0.7  # type: ignore[attr-defined]


def test_table_5_has_a_recipe_for_each_run_and_the_papers_win_rates() -> None:
    table, folder = load_table("table5"), recipes_folder() / "table5"
    assert {row.name for row in table.rows} == {path.stem for path in folder.glob("*.toml") if path.name != FILE}
    assert (table.measure, table.seeds, table.models["sdar"].length) == ("win rate", 1, 1024)
    samplers: dict[str, Callable[..., Any]] = {
        "ar": AR,
        "confidence": partial(Confidence, of="top1"),
        "entropy": Entropy,
        "margin": Margin,
        "info-gain": partial(InfoGain, n=8, tau_pos=0.1, gamma=0.8),
    }
    settings = [(tau, k) for tau in (0.5, 1.0, 1.5) for k in (1, 2)]
    assert [row.name for row in table.rows] == [f"t{tau}-k{k}-{name}" for tau, k in settings for name in samplers]
    for row, (tau, k, name) in zip(table.rows, [(*at, name) for at in settings for name in samplers], strict=True):
        assert row.recipe == replace(load_recipe(folder / f"{row.name}.toml"), block=16)
        assert row.recipe.sampler == samplers[name](tau_token=tau)
        assert row.recipe.schedule == TokensPerStep(k) == TokensPerStep(row.k)
        text = (folder / f"{row.name}.toml").read_text()
        assert text.startswith(f"# Table 5 (SDAR-8B-Chat), τ_token = {tau}, K = {k}, {row.sampler}.\n# ")
    numbers = [row.paper["sdar"] for row in table.rows]
    assert [len(each) for each in numbers] == [1, 1, 1, 1, 0] * 6
    assert numbers[8:10] == [[64.7], []]
    assert [each[0] for each in numbers[-5:-1]] == [69.7, 70.1, 80.3, 66.8]
    assert sum(each[0] for each in numbers if each) / 24 == pytest.approx(62.8, abs=0.1)  # Sec. 4 says so
    assert [row.name for row in table.select(["t1.5-k2-*"]).rows] == [f"t1.5-k2-{name}" for name in samplers]


def test_rows_are_the_papers() -> None:
    order = ["uniform", "ar", "entropy", "confidence", "margin", "klass", "pc", "lookum", "info-gain"]
    assert [row.name for row in TABLES["table2"].rows] == [f"k{k}-{name}" for k in (2, 1) for name in order]
    few = ["entropy", "confidence", "margin", "klass", "lookum", "info-gain"]
    assert [row.name for row in TABLES["table3"].rows] == [f"k{k}-{name}" for k in (2, 1) for name in few]


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_samplers_are_set_as_the_paper_sets_them(table: str) -> None:
    rows = {row.name: row.recipe.sampler for row in TABLES[table].rows}
    assert rows["k1-info-gain"] == InfoGain(n=8, tau_pos=0.1, tau_token=0.7, gamma=0.8)
    assert rows["k2-lookum"] == LookUM(n=8, tau_pos=0.1, tau_token=0.7, gamma=0.8, metric="entropy")
    assert rows["k1-klass"] == KLASS(variant="paper", epsilon=5e-4, tau_token=0.7)
    assert rows["k1-confidence"] == Confidence(of="top1", tau_token=0.7)


@pytest.mark.parametrize(
    ("table", "row", "model", "numbers"),
    [
        ("table2", "k2-uniform", "dream", [18.7, 14.3, 14.3, 18.6, 52.8, 7.6, 21.1, 389.2]),
        ("table2", "k1-pc", "dream", [81.5, 46.8, 54.4, 46.2, 83.6, 41.8, 59.1, 78.4]),
        ("table2", "k1-info-gain", "dream", [83.3, 51.3, 59.2, 48.4, 84.4, 45.2, 62.0, 48.6]),
        ("table3", "k2-entropy", "sdar", [42.2, 24.4, 26.2, 20.6, 28.4, 238.6]),
        ("table3", "k1-lookum", "trado", [88.0, 46.2, 43.4, 49.8, 56.9, 60.8]),
        ("table3", "k1-info-gain", "sdar", [87.9, 61.8, 62.2, 53.0, 66.2, 41.0]),
        ("table3", "k1-info-gain", "trado", [88.4, 62.8, 67.4, 54.0, 68.2, 52.1]),
    ],
)
def test_numbers_are_the_papers(table: str, row: str, model: str, numbers: list[float]) -> None:
    assert BY_NAME[table, row].paper[model] == numbers


def test_averages_are_those_of_the_rows() -> None:
    for table in TABLES.values():
        for row in table.rows:
            name = row.recipe.sampler.name
            for model, numbers in row.paper.items():
                *accuracies, average, entropy = numbers
                assert len(accuracies) == len(table.order)
                assert sum(accuracies) / len(accuracies) == pytest.approx(average, abs=0.1)
                assert table.averages(model, row.k)[name] == (average, entropy)
    assert TABLES["table2"].averages("dream", 1)["confidence"] == (55.9, 99.5)
    assert TABLES["table3"].averages("trado", 2)["klass"] == (35.0, 334.3)


def test_planning_is_decoded_globally_with_pcs_own_lambda() -> None:
    table = TABLES["table2"]
    blocks = {column.task: column.over(BY_NAME["table2", "k1-entropy"].recipe).block for column in table.columns}
    assert blocks == {"gsm8k": 16, "math500": 16, "humaneval": 16, "mbpp": 16, "sudoku": 0, "countdown": 0}
    changed = {column.task: column.over(BY_NAME["table2", "k2-pc"].recipe).sampler for column in table.columns}
    lam = {task: sampler.lam for task, sampler in changed.items() if isinstance(sampler, PC)}
    assert lam == {"gsm8k": 0.25, "math500": 0.25, "humaneval": 0.25, "mbpp": 0.25, "sudoku": 0.0, "countdown": 0.5}


def test_a_column_leaves_other_samplers_alone() -> None:
    (gsm8k,) = TABLES["table2"].select(["gsm8k"]).columns
    for row in TABLES["table2"].rows:
        assert gsm8k.over(row.recipe) == row.recipe


def test_rows_samplers_and_tasks_can_be_picked() -> None:
    table = TABLES["table2"]
    assert [row.name for row in table.select(["k1-ar", "pc"]).rows] == ["k2-pc", "k1-ar", "k1-pc"]
    assert len(table.select(["k2-*"]).rows) == 9
    picked = table.select(["gsm8k", "sudoku"])
    assert ([column.task for column in picked.columns], len(picked.rows)) == (["gsm8k", "sudoku"], 18)
    assert table.select([]) == table
    for word in ("k3-*", "info-gian", "k1-info"):
        with pytest.raises(UnknownName, match="row, sampler or task of table2"):
            table.select([word])


def test_whose_numbers_are_compared_is_told_by_the_name_or_said() -> None:
    two, three = TABLES["table2"], TABLES["table3"]
    assert two.compared_model("./anything", None) == "dream"
    assert three.compared_model("Gen-Verse/TraDo-8B-Instruct", None) == "trado"
    assert three.compared_model("./mine", "sdar") == "sdar"
    assert three.compared_model("zoo:tiny-reason", None) is None
    with pytest.raises(InputError, match=r"sdar and trado.*Add --beside sdar"):
        three.compared_model("./mine", None)
    with pytest.raises(UnknownName, match="Did you mean 'trado'"):
        three.compared_model("./mine", "trad")


def found_for(
    table: PaperTable, tasks: dict[str, str], monkeypatch: pytest.MonkeyPatch, lines: int = 20
) -> dict[str, Any]:
    """A record in which every cell is right half of the time, with H̃ = 10, and has so many of its 20 texts."""
    numbers = {"accuracy": 0.5, "accuracy_95": [0.4, 0.6], "entropy": 10.0, "lines": lines, "wanted": 20}
    monkeypatch.setattr(reproduce, "_numbers", lambda cell, runs: numbers)
    asked = {"model": {"name": "m"}, "provenance": {"model": "m", "cache": "dual"}, "protocol": {"seeds": 5}}
    cells = [
        reproduce.PlannedCell(
            row, column, cast("Any", SimpleNamespace(task=load_task(tasks[column.task]), about=asked))
        )
        for row in table.rows
        for column in table.columns
        if column.task in tasks
    ]
    unfit = {column.task: f"cannot be asked {column.task}." for column in table.columns if column.task not in tasks}
    return reproduce.record(table, cells, unfit, table.compared_model("zoo:", None), Path("runs"))


def test_differences_are_of_the_papers_own_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES["table2"].select(["k1-info-gain"])
    found = found_for(table, {task: task for task in table.order}, monkeypatch)
    difference = found["rows"][0]["difference"]
    assert difference["gsm8k"] == pytest.approx(50 - 83.3)
    assert difference["average"] == pytest.approx(50 - 62.0)
    assert difference["entropy"] == pytest.approx(10 - 48.6)
    shown = table_of(found)
    assert [row[2] for row in shown.rows] == ["here", "95 %", "paper", "difference"]
    assert shown.rows[3][3:] == ["−33.3", "−1.3", "−9.2", "+1.6", "−34.4", "+4.8", "−12.0", "−38.6"]
    assert not any("stand in" in note for note in notes(found))
    assert "Made with m, cache dual." in notes(found)
    assert not any("Made with" in note for note in notes({**found, "provenance": None})), "records of before"


def test_an_average_is_compared_only_where_all_columns_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES["table2"].select(["k1-info-gain"])
    found = found_for(table, {"gsm8k": "gsm8k", "sudoku": "sudoku"}, monkeypatch)
    assert set(found["rows"][0]["difference"]) == {"gsm8k", "sudoku"}
    assert "Not asked: cannot be asked math500." in notes(found)
    shown = table_of(found)
    assert shown.columns[3:] == ["GSM8K", "Sudoku", "Avg.", "H̃"]
    only = found_for(table.select(["gsm8k"]), {"gsm8k": "gsm8k"}, monkeypatch)
    assert set(only["rows"][0]["difference"]) == {"gsm8k"}


def test_a_task_that_every_row_solves_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_for(TABLES["table2"].select(["info-gain", "gsm8k"]), {"gsm8k": "gsm8k"}, monkeypatch)
    assert not any("tell them apart" in note for note in notes(found))
    assert table_of(found).rows[1][2:4] == ["95 %", "[40, 60]"]
    for row in found["rows"]:
        row["here"]["gsm8k"] = 100.0
    assert "GSM8K: all rows have 100 %; the task does not tell them apart." in notes(found)


def test_stand_ins_are_labelled_and_their_height_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES["table2"].select(["k1-info-gain"])
    found = found_for(table, {"sudoku": "zoo:sudoku"}, monkeypatch)
    assert found["rows"][0]["difference"] == {}
    assert "Sudoku (zoo:sudoku)" in table_of(found).columns
    assert any("not the height" in note for note in notes(found))


def test_a_cell_that_lacks_texts_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES["table2"].select(["k1-info-gain"])
    said = "Unfinished: k1-info-gain, sudoku has 7 of 20 texts."
    assert said in notes(found_for(table, {"sudoku": "sudoku"}, monkeypatch, lines=7))
    assert said not in notes(found_for(table, {"sudoku": "sudoku"}, monkeypatch))


def test_a_table_nobody_made_is_named() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'table2'"):
        load_table("tables2")


def test_recipes_of_a_row_differ_by_k_alone() -> None:
    for table in TABLES.values():
        rows = {row.name: row.recipe for row in table.rows}
        for name, recipe in rows.items():
            other: Recipe = rows[name.replace("k1-", "k2-")]
            assert replace(recipe, schedule=TokensPerStep(2)) == other
