"""Studies of texts: each runs at its small size, texts wait for a judge that is not there, few steps are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from infogain import Canvas, infill, load
from infogain.algorithm.schedule import Steps
from infogain.cli import main
from infogain.studies import STUDIES, run_cells
from infogain.studies.cell import CellResult
from infogain.studies.lowstep import GRID, Collapse, collapse, fewer, fewest, left_to_try, said_of_steps
from infogain.studies.run import main as run_program
from infogain.studies.scored import WAITING, judge_waiting
from infogain.studies.store import Store
from infogain.studies.subject import Subject
from infogain.studies.written import MOLECULES, STORIES, TALES, WrittenStudy
from infogain.studies.written_molecules import Chemistry
from infogain.text.alphabet import EOS, MASK, Alphabet
from infogain.zoo.folder import save_model
from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.smiles import CANVAS
from infogain.zoo.tasks.tale import Tale
from infogain.zoo.trainer import Trainer, TrainingSettings
from tests.molecules import needs_rdkit, random_model
from tests.parity.checkpoints import write_checkpoint

SHAPE = TrainingSettings(tasks="tale", layers=1, width=16, heads=2, intermediate=16)
OF_TEXTS = {name: study for name, study in STUDIES.items() if isinstance(study, WrittenStudy)}
OF_TALES = [name for name, study in OF_TEXTS.items() if study.written == TALES]
OF_MOLECULES = [name for name, study in OF_TEXTS.items() if study.written == MOLECULES]
pytestmark = pytest.mark.xdist_group("written")


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tales")
    save_model(folder, Trainer(SHAPE, {}, torch.device("cpu")).averaged, SHAPE.alphabet, columns=80)
    return folder


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_model(tmp_path_factory.mktemp("molecules"))


def run(names: list[str], model: Path, out: Path) -> list[dict[str, Any]]:
    done = CliRunner().invoke(main, ["study", *names, "-m", str(model), "--size", "small", "--out", str(out)])
    assert done.exit_code == 0, done.output
    return [json.loads((out / f"{name}.json").read_text()) for name in names]


@pytest.mark.slow
def test_every_study_of_tales_leaves_its_tables(tales: Path, tmp_path: Path) -> None:
    for record in run(OF_TALES, tales, tmp_path):
        assert record["points"] == record["expected"] == len(record["rows"]) > 0
        assert {row["cell"]["task"] for row in record["rows"]} == {"tale"}
        assert all(len(row) == len(table["columns"]) for table in record["tables"] for row in table["rows"])
        assert record["summary"]


@needs_rdkit
def test_every_study_of_molecules_leaves_its_tables(molecules: Path, tmp_path: Path) -> None:
    for record in run(OF_MOLECULES, molecules, tmp_path):
        assert record["points"] == record["expected"] == len(record["rows"]) > 0
        assert all(len(row) == len(table["columns"]) for table in record["tables"] for row in table["rows"])


def test_full_size_keeps_the_promises_of_the_issue() -> None:
    for name in OF_TEXTS:
        points = STUDIES[name].points("full")
        decodes = [point.cell for point in points if point.cell.kind == "decode"]
        assert all(cell.problems >= 500 for cell in decodes)
        assert all(len(cell.seeds) == 5 for cell in decodes if cell.recipe.sampler.traits.draws)
    cells = [point.cell for point in STUDIES["variety-molecules"].points("full") if point.labels["task"] == "molecule"]
    assert {cell.problems * cell.draws for cell in cells} == {5000}
    labels = {(p.labels["sampler"], p.labels["τ_token"], p.labels["K"]) for p in STUDIES["writing"].points("full")}
    assert len(labels) == 8 * 3 * 2


def test_texts_wait_for_their_judge(tales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged later has the numbers of what was judged at once."""
    (at_once,) = run(["variety"], tales, tmp_path / "at once")
    (also,) = run(["writing"], tales, tmp_path / "at once")
    with monkeypatch.context() as absent:
        absent.setattr(Tale, "missing", lambda _: "Install a judge of tales.")
        asked = ["variety", "writing", "--model", str(tales), "--size", "small", "--out", str(tmp_path / "later")]
        run_program([*asked, "--device", "cpu"])
        shown = CliRunner().invoke(main, ["study", *asked, "--cached"]).output
        assert "2 cells are decoded and wait to be judged. Install a judge of tales." in shown.replace("\n", " ")
        assert not (tmp_path / "later" / "variety.json").exists()
    monkeypatch.setattr(run_cells, "run_cell", lambda *_: pytest.fail("decoded again"))
    later = run(["variety", "writing"], tales, tmp_path / "later")
    for record, expected in zip(later, (at_once, also), strict=True):
        for row, same in zip(record["rows"], expected["rows"], strict=True):
            assert {**row["numbers"], "seconds": 0} == {**same["numbers"], "seconds": 0}


def test_texts_go_on_waiting_where_their_judge_is_still_absent(
    molecules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chemistry, "is_installed", lambda: False)
    run_program(["writing-molecules", "--model", str(molecules), "--size", "small", "--out", str(tmp_path)])
    store, subject = Store(tmp_path), Subject(molecules)
    judge_waiting(STUDIES["writing-molecules"].points("small"), subject, store)
    assert all(WAITING in record["numbers"] for record in store.cells.values())
    assert len(store.cells) == 2


@needs_rdkit
def test_chemistry_says_how_good_molecules_are() -> None:
    (point, *_) = STUDIES["variety-molecules"].points("small")
    found = Chemistry(point.cell)
    for batch, text in enumerate(("CCO~~", "c1ccccc1~C")):
        found.add(batch, text)
        found.add(batch, "CC(")
    numbers = found.numbers()
    assert (numbers["valid"], numbers["unique"]) == (0.5, 1.0)
    assert numbers["examples"] == ["CCO~~", "CC(", "c1ccccc1~C", "CC("]
    assert numbers["distance_length"] > 0
    none = Chemistry(point.cell)
    none.add(0, "((")
    assert none.numbers()["unique"] is None


def test_a_checkpoint_writes_stories(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = write_checkpoint(tmp_path / "llada", "llada")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_sequence_length": 256}))
    for record in run(["lowstep", "variety"], folder, tmp_path / "out"):
        assert {row["cell"]["task"] for row in record["rows"]} == {STORIES.task}
        assert all(row["cell"]["data"] for row in record["rows"])
        assert all(row["numbers"]["committed"] <= 80 for row in record["rows"])
    for row in json.loads((tmp_path / "out" / "lowstep.json").read_text())["rows"]:
        assert (row["numbers"]["committed"], row["numbers"]["forwards"]) == (80, 4)  # the whole text is one block


@pytest.mark.slow
@needs_rdkit
def test_a_checkpoint_is_asked_for_molecules(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = write_checkpoint(tmp_path / "llada", "llada")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_sequence_length": 512}))
    for record in run([name for name in OF_MOLECULES if name != "variety-molecules"], folder, tmp_path / "out"):
        assert record["points"] == record["expected"] == len(record["rows"]) > 0
        assert {row["cell"]["task"] for row in record["rows"]} == {"molecule"}


def tried(steps: int, share: float) -> CellResult:
    """A cell of `lowstep` with so many steps, of whose texts this share was good."""
    point = STUDIES["lowstep"].points("full")[0]
    cell = replace(point.cell, recipe=replace(point.cell.recipe, schedule=Steps(steps)))
    return CellResult(
        {"sampler": "entropy", "steps": steps}, cell, {"accuracy": share, "accuracy_95": [share - 0.02, share + 0.02]}
    )


def searched(enough: set[int]) -> tuple[list[CellResult], list[list[int]]]:
    """All cells of a search where these numbers of steps are enough, and what was asked for in each round."""
    rows, asked = [tried(steps, 0.9 if steps in enough else 0.2) for steps in GRID], []
    while more := left_to_try(rows):
        asked.append(more)
        rows += [tried(steps, 0.9 if steps in enough else 0.2) for steps in more]
    return rows, asked


def test_the_smallest_number_of_steps_is_found_by_halving_and_then_below() -> None:
    rows, asked = searched(set(range(21, 65)))
    assert asked == [[24], [20], [22], [21], [17, 18, 19]]
    assert collapse(rows) == Collapse(21, 21, 21)
    assert said_of_steps(rows) == "21 [21, 21] steps, and with no smaller number that was tried"
    assert searched({64})[1][:2] == [[48], [56]]
    assert searched(set(GRID))[1][0] == [4]
    assert searched(set())[1] == []


def test_a_number_of_steps_that_halving_passes_over_is_found() -> None:
    """As on molecules: 12 steps are too few, and 11 are enough."""
    rows, asked = searched({11, 13, 14, 15, 16, 32, 64})
    assert asked == [[12], [14], [13], [9, 10, 11]]
    assert collapse(rows) == Collapse(11, 11, 11)
    assert said_of_steps(rows).startswith("11 [11, 11] steps, though not with 12, and with no smaller number")


def test_a_number_of_the_grid_that_is_nearly_enough_is_looked_below() -> None:
    """As on molecules: 16 steps are too few by little, and 15 are enough."""
    shares = {8: 0.2, 13: 0.46, 14: 0.42, 15: 0.53, 16: 0.44, 17: 0.6, 32: 0.7, 64: 0.9}
    rows = [tried(steps, shares[steps]) for steps in (8, 16, 17, 32, 64)]
    assert left_to_try(rows) == [9, 10, 11, 12, 13, 14, 15]
    rows += [tried(steps, shares.get(steps, 0.3)) for steps in left_to_try(rows)]
    assert fewest(rows) == 15
    assert left_to_try(rows) == []


def test_the_full_size_asks_for_what_is_left_of_each_sampler() -> None:
    study, rows = STUDIES["lowstep"], [tried(8, 0.1), tried(16, 0.9)]
    (point,) = study.follow("full", rows)
    assert (point.labels, point.cell.recipe.schedule) == ({"sampler": "entropy", "steps": 12}, Steps(12))
    assert study.follow("medium", rows) == []


def test_steps_that_are_not_told_apart_are_a_range() -> None:
    rows = [tried(10, 0.1), tried(11, 0.49), tried(12, 0.51), tried(13, 0.6)]
    assert collapse(rows) == Collapse(12, 11, 13)
    assert collapse([tried(64, 0.2)]) is None
    assert left_to_try([tried(64, 0.2)]) == []
    assert said_of_steps([tried(64, 0.2)]) == "no number of steps that was tried"
    assert fewer("", Collapse(8, 8, 8), Collapse(12, 11, 13)) == ("", True, "4 [3, 5] fewer: 8 against 12")
    assert fewer("", Collapse(12, 11, 13), Collapse(8, 8, 8)).holds is False
    assert fewer("", Collapse(12, 11, 13), Collapse(13, 13, 14)).holds is None
    assert fewer("", Collapse(12, 11, None), Collapse(13, 13, 14)).holds is None


def test_a_closed_alphabet_gives_an_end_mark(tmp_path: Path, molecules: Path) -> None:
    words = Alphabet("CO~_", closed=True)
    words.save(tmp_path)
    assert Alphabet.load(tmp_path) == replace(words, symbols=tuple(words.symbols))
    assert words.special_tokens_around == ([], [words.eos_id])
    assert Alphabet("CO~_").special_tokens_around == ([], [])
    model = load(molecules)
    for text in (MASK * 55, CANVAS):  # the mark is put there once
        (filled,) = infill(model, text, "entropy", block=0)
        assert len(filled.tokens) == 55


def test_masks_alone_look_alike_from_every_column(molecules: Path) -> None:
    """Positions are relative: without anything that is given, no column can be told from another."""
    model = load(molecules)
    words = model.tokenizer
    assert isinstance(words, Alphabet)
    for last, alike in ((MASK, True), (EOS, False)):
        row = words.encode(MASK * 55 + last)
        _, logits = model.denoiser.prefill(Canvas.infill([row], words.mask_id), [0], 56)
        spread = (logits[0, :54] - logits[0, :1]).abs().max()
        assert bool(spread < 1e-5) is alike
