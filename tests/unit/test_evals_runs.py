"""Runs on disk: they go on where they stopped, one writer at a time, and another recipe is another run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infogain import InfoGainError
from infogain.evals.runs import ITEMS, RUN, Run, hash_of, identity, list_runs, run_name

ABOUT: dict[str, Any] = {
    "version": 1,
    "task": "zoo:sudoku",
    "model": {"name": "zoo:tiny-reason", "fingerprint": "a"},
    "protocol": {"shots": 0, "style": "infill", "seeds": 1, "limit": 3},
    "recipe": {"sampler": {"name": "entropy"}, "seed": 0},
    "data": {"source": "drawn", "fingerprint": "b", "items": 3},
    "created": "2026-01-01T00:00:00+00:00",
}


def line(item: int, seed: int = 0) -> dict[str, Any]:
    key = {"task": "zoo:sudoku", "item": str(item), "seed": seed, "recipe": "r"}
    return {"key": key, "score": 1, "text": "é\u2028\ud800"}  # what JSON, or a reader of lines, may stumble over


def write(run: Run, *lines: dict[str, Any], about: dict[str, Any] = ABOUT) -> None:
    with run.writing(about) as add:
        for each in lines:
            add(each)


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    run = Run(tmp_path / "x")
    write(run, line(0), line(1))
    write(run, line(2))
    assert Run.open(tmp_path / "x").items() == [line(0), line(1), line(2)]
    assert run.about == ABOUT


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_half_written_line_is_passed_over_and_then_cut_off(cut: int, tmp_path: Path) -> None:
    run = Run(tmp_path)
    write(run, line(0), line(1))
    whole = (tmp_path / ITEMS).read_bytes()
    (tmp_path / ITEMS).write_bytes(whole[:-cut])
    assert run.items() == [line(0)]
    write(run, line(1))
    assert (tmp_path / ITEMS).read_bytes() == whole


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path)
    write(run, line(0), line(1))
    for wrong in ("{", "[1]", '{"score": 1}'):
        (tmp_path / ITEMS).write_text(json.dumps(line(0)) + f"\n{wrong}\n")
        with pytest.raises(InfoGainError, match=r"items.jsonl, line 2: must be a line"):
            run.items()


def test_a_changed_recipe_is_another_run_and_more_seeds_are_the_same_one(tmp_path: Path) -> None:
    run = Run(tmp_path / run_name(ABOUT))
    assert run.name.startswith("zoo-sudoku-tiny-reason-entropy-")
    write(run, line(0))
    more = {**ABOUT, "protocol": {**ABOUT["protocol"], "seeds": 5, "limit": None}, "created": "later"}
    assert run_name(more) == run.name
    write(run, line(0, seed=1), about=more)
    write(run, about=ABOUT)  # fewer again: what is there stays, and run.json says so
    assert run.about == {**ABOUT, "protocol": more["protocol"]}
    for part in ({"recipe": {**ABOUT["recipe"], "seed": 1}}, {"model": {"name": "m"}}, {"task": "zoo:countdown"}):
        other = {**ABOUT, **part}
        assert run_name(other) != run.name
        with pytest.raises(InfoGainError, match="tells of another run"):
            write(run, about=other)
    assert len(run.items()) == 2
    assert identity(ABOUT) == identity(json.loads(json.dumps(ABOUT)))
    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})


def test_runs_are_listed_the_oldest_first_and_other_folders_left_out(tmp_path: Path) -> None:
    write(Run(tmp_path / "a"), about={**ABOUT, "created": "2026-02"})
    write(Run(tmp_path / "b"), about={**ABOUT, "created": "2026-01"})
    (tmp_path / "c").mkdir()
    assert [run.name for run in list_runs(tmp_path)] == ["b", "a"]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfoGainError, match=r"a run is a folder with run.json; .*No such file"):
        Run.open(tmp_path)
    wrong = {"{": "must be JSON", "[]": "must hold a table", '{"version": 2}': "of version 1; got 2"}
    for text, message in wrong.items():
        (tmp_path / RUN).write_text(text)
        with pytest.raises(InfoGainError, match=message):
            Run.open(tmp_path)


def test_a_second_writer_is_refused_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    program = (
        "import sys, json; from pathlib import Path; from infogain.evals.runs import Run\n"
        "with Run(Path(sys.argv[1])).writing(json.loads(sys.argv[2])) as add:\n"
        "    add({'key': {}}); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path), json.dumps(ABOUT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(InfoGainError, match="another is at work on"):
            write(Run(tmp_path), line(0))
        assert Run.open(tmp_path).items() == [{"key": {}}]  # reading waits for nobody
        other.kill()
    write(Run(tmp_path), line(0))
    assert len(Run.open(tmp_path).items()) == 2
