"""Studies: every one runs end to end at its small size, resumes, and leaves files that can be read."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from click.testing import CliRunner

import infogain
from infogain import InputError, UnknownName, samplers
from infogain.cli import main
from infogain.evals import means
from infogain.evals.intervals import Interval, average, share_interval, wilson
from infogain.options import plain
from infogain.recipe import Recipe
from infogain.studies import STUDIES, load_study, run_cells
from infogain.studies.cell import Cell
from infogain.studies.cell_observer import join_paths
from infogain.studies.decoding import batches, lines, run_cell
from infogain.studies.diversity import ALONE
from infogain.studies.methods import METHODS, PRESET, VARIANTS, method_cell, recipe
from infogain.studies.report_page import ORDER, load_records, save_report
from infogain.studies.results_page import build
from infogain.studies.run import main as run_program
from infogain.studies.run import seconds
from infogain.studies.store import Store
from infogain.studies.study_files import pack_records, read_record, save
from infogain.studies.subject import Subject
from infogain.zoo.folder import save_model
from infogain.zoo.tasks import TASKS
from infogain.zoo.trainer import Trainer, TrainingSettings
from tests.parity.checkpoints import write_checkpoint

ROOT = Path(__file__).parents[2]

SHAPE = TrainingSettings(layers=1, width=16, heads=2, intermediate=16)
CPU = torch.device("cpu")
pytestmark = pytest.mark.xdist_group("studies")  # one process: all studies are run once, for all tests here
REASONING = [name for name, study in STUDIES.items() if study.model == "zoo:tiny-reason"]
CELL = Cell("sudoku", recipe(METHODS["info-gain"], 2), 2, (0, 1))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    save_model(path, Trainer(SHAPE, {}, CPU).averaged, SHAPE.alphabet, columns=130)
    return path


@pytest.fixture(scope="module")
def out(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every study at its small size, by the program that needs torch alone and then by the command."""
    path = tmp_path_factory.mktemp("studies")
    run_program(["--model", str(folder), "--out", str(path), "--size", "small", "--device", "cpu"])
    result = CliRunner().invoke(main, ["study", "all", "-m", str(folder), "--out", str(path), "--size", "small"])
    assert result.exit_code == 0, result.output
    assert "report →" in result.output
    return path


@pytest.mark.parametrize("name", REASONING)
def test_a_study_leaves_its_files(out: Path, folder: Path, name: str) -> None:
    record = json.loads((out / f"{name}.json").read_text())
    assert record["points"] == record["expected"] == len(record["rows"]) > 0
    assert record["model"]["fingerprint"] == Subject(folder).fingerprint
    kinds = {row["cell"]["kind"] for row in record["rows"]}
    told = {(table["model"], table["cache"]) for table in record["provenance"]}
    assert ((str(folder), "none") in told) == bool(kinds & {"decode", "diversity", "trace"})
    assert told or kinds == {"proposition"}
    assert record["tables"]
    assert all(len(row) == len(grid["columns"]) for grid in record["tables"] for row in grid["rows"])
    rows = list(csv.reader((out / f"{name}.csv").read_text().splitlines()))
    assert len(rows) == len(record["rows"]) + 1
    assert len(set(rows[0])) == len(rows[0])
    signed = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    decoded = [row["cell"]["kind"] in ("decode", "diversity", "trace") for row in record["rows"]]
    assert all(row["device"] for row in signed)
    for row, is_of_the_model in zip(signed, decoded, strict=True):
        made = (row["model"], row["cache"], row["dtype"], row["infogain"])
        assert not is_of_the_model or made == (str(folder), "none", "float32", infogain.__version__)
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.parse(out / f"{name}.svg").getroot()
    styles = [node.text or "" for node in svg.iter("{http://www.w3.org/2000/svg}style")]
    assert any("prefers-color-scheme: dark" in style for style in styles), "it turns dark with the page around it"


def test_the_report_holds_every_study_and_fetches_nothing(out: Path, folder: Path) -> None:
    page = (out / "report.html").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page
    assert page.count("<figure>") == len(REASONING)
    assert all(f'<h2 id="{name}">' in page for name in REASONING)
    assert 'class="infogain-viewer"' in page
    assert f"Made with {folder}, family llada, cache none, " in page


def test_a_study_of_tales_asks_a_model_that_tells_them(folder: Path, tmp_path: Path) -> None:
    shape = replace(SHAPE, tasks="tale")
    tales = tmp_path / "tales"
    tales.mkdir()
    save_model(tales, Trainer(shape, {}, CPU).averaged, shape.alphabet, columns=80)
    asked = ["study", "writing", "--size", "small", "--out", str(tmp_path / "out"), "-m"]
    done = CliRunner().invoke(main, [*asked, str(tales)])
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "out" / "writing.json").read_text())
    assert {row["labels"]["sampler"] for row in record["rows"]} == {"entropy", "info-gain"}
    assert all(0 < row["numbers"]["distinct_2"] <= 1 for row in record["rows"])
    assert [table["title"] for table in record["tables"]] == ["Wins of info-gain, %", "Tales, K = 2"]
    assert not (tmp_path / "out" / "duel.json").exists(), "its problem is none of this model's"
    refused = CliRunner().invoke(main, [*asked, str(folder)])
    assert refused.exit_code == 2
    assert "such as zoo:tiny-tales" in refused.stderr


def test_a_second_run_decodes_nothing(out: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cells, "run_cell", lambda *_: pytest.fail("decoded again"))
    before = (out / "cells.jsonl").read_text()
    run_program(["--model", str(folder), "--out", str(out), "--size", "small", "--device", "cpu"])
    assert (out / "cells.jsonl").read_text() == before


def test_an_interrupted_file_is_mended(out: Path, tmp_path: Path) -> None:
    text = (out / "cells.jsonl").read_text()
    (tmp_path / "cells.jsonl").write_text(text[:-20])
    store = Store(tmp_path)
    assert len(store.cells) == text.count("\n") - 1
    store.add("new", {}, "model", {"accuracy": 1.0})
    assert Store(tmp_path).numbers("new") == {"accuracy": 1.0}


def test_a_bad_line_is_named_and_its_cell_done_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path)
    for name in "abc":
        store.add(name, {}, "model", {"note": f"{name}\u2028"})
    first, _, last = (tmp_path / "cells.jsonl").read_bytes().split(b"\n")[:-1]
    for bad in (b"\0\0", b"{", b"\xff", b"[]", b'{"key": "b"}', b'{"key": 1, "numbers": {}}'):
        (tmp_path / "cells.jsonl").write_bytes(b"\n".join([first, bad, last, b""]))
        assert sorted(Store(tmp_path).cells) == ["a", "c"]
        assert "cells.jsonl, line 2: must be a cell" in caplog.messages[-1]


def test_time_that_is_up_ends_the_run_between_cells(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["oneway", "--model", str(folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    run_program([*run, "--minutes", "1e-9"])
    assert "oneway: 0 of 4 points" in capsys.readouterr().out
    run_program([*run, "--plan"])
    assert "4 cells to do" in capsys.readouterr().out


def test_the_program_runs_with_torch_alone(folder: Path, tmp_path: Path) -> None:
    """For a machine that is lent with little on it: safetensors, to load a model, is all it needs besides."""
    lacking = "click", "rich", "matplotlib", "tomli_w", "jinja2"
    words = f"import sys; sys.modules.update(dict.fromkeys({lacking!r})); from infogain.studies.run import main; main()"
    arguments = ["gain", "--model", str(folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    done = subprocess.run([sys.executable, "-c", words, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gain: 2 of 2 points" in done.stdout


def test_ctrl_c_says_how_many_cells_are_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[Cell]()

    def breaks(subject: Subject, cell: Cell) -> dict[str, Any]:
        if done:
            raise KeyboardInterrupt
        done.append(cell)
        return run_cell(subject, cell)

    monkeypatch.setattr(run_cells, "run_cell", breaks)
    flags = ["study", "oneway", "-m", str(folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    stopped = CliRunner().invoke(main, flags)
    assert stopped.exit_code == 130
    said = f"Kept: 1 finished cells in {tmp_path / 'cells.jsonl'}. The same command goes on from there."
    assert said in stopped.stderr


def test_workers_change_nothing(folder: Path, tmp_path: Path) -> None:
    subject, todo = Subject(folder, "cpu"), {"a": CELL, "b": replace(CELL, keep=("path",))}
    for name, count in (("alone", 1), ("two", 2)):
        with run_cells.Workers(subject, count) as workers:
            run_cells.do(todo, workers, Store(tmp_path / name), lambda *_: None)
    alone, two = (Store(tmp_path / name).numbers("a") for name in ("alone", "two"))
    assert alone["hits"] == two["hits"]
    assert alone["entropy"] == pytest.approx(two["entropy"])


def test_a_key_tells_recipes_seeds_and_models_apart() -> None:
    others = [
        replace(CELL, recipe=recipe(METHODS["info-gain"], 1)),
        replace(CELL, seeds=(0,)),
        replace(CELL, split="validation"),
        replace(CELL, keep=("path",)),
    ]
    keys = {cell.key("model") for cell in [CELL, *others]} | {CELL.key("another")}
    assert len(keys) == 6
    assert CELL.key("model") == replace(CELL).key("model")


def test_another_weight_is_another_model(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert Subject(tmp_path).fingerprint == Subject(folder).fingerprint
    weights = bytearray((tmp_path / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert Subject(tmp_path).fingerprint != Subject(folder).fingerprint


def test_numbers_do_not_depend_on_the_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, cell = Subject(folder, "cpu"), replace(CELL, problems=3, keep=("path", "scores"))
    together = run_cell(subject, cell)
    monkeypatch.setattr("infogain.studies.decoding.BUDGET", {"cpu": 2 * 17 * 8})
    assert [len(batch) for batch in batches(cell, CPU)] == [2, 2, 2]
    apart = run_cell(subject, cell)
    assert apart["hits"] == together["hits"]
    for name in ("entropy", "forwards", "token_forwards", "bypassed"):
        assert apart[name] == pytest.approx(together[name])
    assert apart["path"][-1] == pytest.approx(together["path"][-1], abs=1e-3)
    assert together["path"][-1][1] == pytest.approx(together["entropy"], abs=1e-4)
    assert len(together["scores"]["quantiles"]) == 101


def test_every_problem_is_decoded_from_every_seed() -> None:
    every = lines(CELL)
    assert [(line.number, line.turn) for line in every] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert len({line.seed for line in every}) == 4


def test_a_cell_has_as_many_seeds_as_a_digit_counts() -> None:
    with pytest.raises(InputError, match="1 to 9 seeds; got 10"):
        replace(CELL, seeds=tuple(range(10)))


def test_samplers_that_agree_without_temperature_share_a_cell() -> None:
    cold = [method_cell(name, "sudoku", 1, 0.0, 5, (0, 1)) for name in ("confidence (top-1)", "confidence (drawn)")]
    warm = [method_cell(name, "sudoku", 1, 0.7, 5, (0, 1)) for name in ("confidence (top-1)", "confidence (drawn)")]
    assert cold[0] == cold[1]
    assert cold[0].seeds == (0,)
    assert warm[0] != warm[1]
    assert warm[0].seeds == (0, 1)


def test_full_size_keeps_the_promises_of_the_issue() -> None:
    points = STUDIES["samplers"].points("full")
    assert {point.labels["task"] for point in points} == set(TASKS)
    others = [point for point in points if point.labels["task"] not in ALONE]
    assert all(point.cell.problems >= 500 for point in others)
    assert all(len(point.cell.seeds) == 5 for point in others if point.labels["τ_token"] > 0)
    assert {(p.cell.problems, p.cell.draws) for p in points if p.labels["task"] in ALONE} == {(5, 300)}
    assert {point.cell.split for point in points} == {"test"}
    assert {point.cell.split for point in STUDIES["preset"].points("full")} == {"validation"}
    assert 100 < sum(seconds(cell) for cell in {point.cell for point in points}) < 900
    assert seconds(STUDIES["utility"].points("small")[-1].cell) > 0
    assert set(ORDER) == set(STUDIES)


def test_an_interval_is_over_problems() -> None:
    """A deterministic check beside tests/laws/test_intervals.py, which holds the coverage."""
    share, low, high = share_interval([1.0, 0.0] * 50, texts=500)
    assert share == 0.5
    assert (low, high) == pytest.approx((0.4038, 0.5962), abs=1e-3)  # texts of a problem agree: 100 trials, not 500
    assert wilson(0.5, 100) == pytest.approx((0.5, 0.4038, 0.5962), abs=1e-3)
    assert share_interval([1.0] * 50, 250)[1:] == pytest.approx((0.915, 1.0), abs=1e-3)
    assert average([Interval(0.5, 0.2, 0.6), Interval(0.7, 0.3, 0.9)]) == pytest.approx((0.6, 0.35, 0.7118), abs=1e-3)
    assert means.pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert math.isnan(means.pearson([1, 1], [0, 1]))


def test_paths_of_batches_are_averaged() -> None:
    assert join_paths([(1, [1.0, 2.0], [0.5, 1.0]), (3, [1.0], [2.0])]) == [[0.0, 0.0], [1.0, 1.625], [1.25, 1.75]]


def test_proposition_1_holds_on_the_exact_toys(folder: Path) -> None:
    subject = Subject(folder, "cpu")
    for toy in ("one-way", "judgement", "parity"):
        cell = replace(CELL, task=f"toy:{toy}", problems=6, seeds=(0,), kind="proposition")
        found = run_cell(subject, cell)
        assert found["above_zero"] == 0
        assert found["largest"] <= 1e-6


def test_a_checkpoint_is_asked_in_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr("infogain.studies.decoding.CHAT_LENGTH", 8)
    folder = write_checkpoint(tmp_path / "llada", "llada")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_sequence_length": 256}))
    subject = Subject(folder, "cpu")
    found = run_cell(subject, replace(CELL, problems=1))
    assert "asked in chat" in found["note"]
    assert found["committed"] == 8
    for kind in ("trace", "proposition"):
        assert "note" in run_cell(subject, replace(CELL, kind=kind))
    program = ["threshold", "--model", str(folder), "--out", str(tmp_path / "out"), "--size", "small"]
    run_program([*program, "--device", "cpu"])
    out = CliRunner().invoke(main, ["study", *program, "--device", "cpu"])
    assert out.exit_code == 0, out.output
    (row, *_) = json.loads((tmp_path / "out" / "threshold.json").read_text())["rows"]
    assert 0 <= row["numbers"]["bypassed"] <= 1
    assert "One problem, step by step" not in (tmp_path / "out" / "report.html").read_text()


def test_a_checkpoint_with_another_template_is_another_model(tmp_path: Path) -> None:
    """It is asked in chat, so its template decides the numbers."""
    checkpoint = write_checkpoint(tmp_path, "dream")
    before = Subject(checkpoint).fingerprint
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    (checkpoint / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": "{{ messages }}"}))
    assert Subject(checkpoint).fingerprint != before


def test_names_that_are_unknown_say_so(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="oneway"):
        load_study("one-way")
    with pytest.raises(Exception, match="unknown zoo model"):
        Subject("zoo:none")
    with pytest.raises(Exception, match=r"config\.json"):
        _ = Subject(tmp_path).fingerprint
    shown = CliRunner().invoke(main, ["study"]).output
    assert all(name in shown for name in STUDIES)


@pytest.mark.slow
def test_the_results_page_is_what_the_numbers_say(out: Path, tmp_path: Path) -> None:
    assert "No full-size results" in build(tmp_path)
    assert "No study has been run" in save_report(tmp_path).read_text()
    page = build(out)
    assert "## What reproduces" in page
    assert "Beside Tables 2 and 3, K = 2" in page
    assert all(f'<a id="{name}"></a>' in page for name in REASONING)
    docs = Path(__file__).parents[2] / "docs"
    assert (docs / "results.md").read_text(encoding="utf-8") == build(docs / "results")


def test_cells_keep_the_keys_that_they_are_stored_by() -> None:
    """A class or option that gets another name must keep the one in files, or all would be decoded again."""
    tables = {**METHODS, **{name: table for name, table in VARIANTS.items() if name != PRESET}}
    keys = [Cell("sudoku", recipe(table, 2), 2, (0, 1)).key("model") for table in tables.values()]
    assert len(set(keys)) == len(tables)
    assert blake2b("".join(keys).encode(), digest_size=8).hexdigest() == "6ab7c4626fd89e4c"


def test_without_matplotlib_there_is_no_figure(
    out: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    subject, study = Subject(folder, "cpu"), STUDIES["beam"]
    rows = run_cells.finished(study.points("small"), subject, Store(out))
    assert [path.suffix for path in save(study, rows, "small", subject, tmp_path)] == [".json", ".csv"]
    save(study, [], "small", subject, tmp_path)
    assert "0 of 4 points so far" in save_report(tmp_path).read_text()


def test_packed_records_are_read_as_they_were(tmp_path: Path) -> None:
    record = {"study": "beam", "rows": [{"labels": {"τ": 0.7}}]}
    (tmp_path / "beam.json").write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    assert read_record(tmp_path, "beam") == record
    pack_records(tmp_path)
    first = (tmp_path / "beam.json.gz").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["beam.json.gz"]
    assert read_record(tmp_path, "beam") == record == load_records(tmp_path)[0]
    assert read_record(tmp_path, "gain") is None
    (tmp_path / "beam.json").write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    pack_records(tmp_path)
    assert (tmp_path / "beam.json.gz").read_bytes() == first


def test_the_shipped_preset_is_the_one_the_committed_study_chose() -> None:
    (record,) = (record for record in load_records(ROOT / "docs/results") if record["study"] == "preset")
    rows = record["rows"]
    chosen = next(row["cell"]["recipe"]["sampler"] for row in rows if row["labels"].get("sampler") == "preset")
    assert plain(samplers.make("info-gain:validated")) == chosen
    assert Recipe().sampler == samplers.make("info-gain:validated"), "the default"
