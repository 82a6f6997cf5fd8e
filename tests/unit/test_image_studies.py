"""Studies of images: they run end to end, count seeds, search on seeds of their own, and say what is nearer."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from infogain.algorithm.schedule import Steps
from infogain.cli import main
from infogain.images.generate_images import generate_images
from infogain.images.image_model import load_image_model
from infogain.studies import STUDIES, image_cells, run_cells
from infogain.studies.cell import IMAGES, Cell, CellResult, Point
from infogain.studies.decoding import run_cell
from infogain.studies.image_cells import pack_pictures, unpack_pictures
from infogain.studies.image_methods import COLD, SAMPLERS, WARM, image_cell, labels_of
from infogain.studies.image_search import BEST, SEEDS, ImageSearch, grid, one_by_one, setting_of, shown
from infogain.studies.image_tables import nearer, samplers_table, summary_of
from infogain.studies.independent import over_seeds, with_intervals
from infogain.studies.run import main as run_program
from infogain.studies.run import seconds
from infogain.studies.subject import Subject
from infogain.zoo.pictures.written_pictures import write_classes
from tests.picture_models import TOKENS, write_judged_classes

NAMES = ("images", "images-lowstep")
FOUR = Steps(4)
UNIFORM = {"name": "uniform", "tau_token": 1.0}
pytestmark = pytest.mark.xdist_group("images")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write_judged_classes(tmp_path_factory.mktemp("pictures") / "model")


@pytest.fixture(scope="module")
def out(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both studies at their small size, by the program that needs torch alone and then by the command."""
    path = tmp_path_factory.mktemp("studies")
    run_program([*NAMES, "--model", str(folder), "--out", str(path), "--size", "small", "--device", "cpu"])
    done = CliRunner().invoke(main, ["study", *NAMES, "-m", str(folder), "--out", str(path), "--size", "small"])
    assert done.exit_code == 0, done.output
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_study_leaves_its_files(out: Path, folder: Path, name: str) -> None:
    record = json.loads((out / f"{name}.json").read_text())
    assert record["points"] == record["expected"] == len(record["rows"]) > 1
    assert record["provenance"][0]["model"] == str(folder)
    assert all(len(row) == len(table["columns"]) for table in record["tables"] for row in table["rows"])
    assert record["summary"]
    for row in record["rows"]:
        numbers = row["numbers"]
        assert [len(values) for values in numbers["by_seed"].values()] == [2] * 6
        assert numbers["frechet"] == pytest.approx(sum(numbers["by_seed"]["frechet"]) / 2, rel=1e-4)
        assert 0 <= numbers["frechet_95"][0] <= numbers["frechet"] <= numbers["frechet_95"][1]
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "report.html").read_text().count("<figure>") == 2
    assert not (out / "duel.json").exists(), "its problem is none of this model's"


def test_steps_and_pictures_are_kept_where_they_are_shown(out: Path) -> None:
    rows = json.loads((out / "images-lowstep.json").read_text())["rows"]
    for row in rows:
        path, numbers = row["numbers"]["path"], row["numbers"]
        assert len(path) == 6  # five steps, and the beginning
        assert path[-1][0] == TOKENS.height * TOKENS.width
        assert path[-1][1] == pytest.approx(numbers["by_seed"]["entropy"][0], rel=1e-3)
        kept = unpack_pictures(numbers["pictures"])
        assert (len(kept.by_class), len(kept.alike)) == (3, 7), "of 20 images seven are of the first class"


def test_a_second_run_decodes_nothing(out: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cells, "run_cell", lambda *_: pytest.fail("decoded again"))
    run_program([*NAMES, "--model", str(folder), "--out", str(out), "--size", "small", "--device", "cpu"])


def test_the_program_runs_with_torch_alone(folder: Path, tmp_path: Path) -> None:
    lacking = "click", "rich", "matplotlib", "tomli_w", "jinja2", "PIL"
    words = f"import sys; sys.modules.update(dict.fromkeys({lacking!r})); from infogain.studies.run import main; main()"
    asked = ["images-lowstep", "--model", str(folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    done = subprocess.run([sys.executable, "-c", words, *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "images-lowstep: 2 of 2 points" in done.stdout
    assert "Fréchet" in done.stdout


def test_models_of_texts_and_of_images_are_told_apart(folder: Path, tmp_path: Path) -> None:
    for name, model in (("gain", str(folder)), ("images", "zoo:tiny-reason")):
        asked = ["study", name, "-m", model, "--size", "small", "--out", str(tmp_path)]
        refused = CliRunner().invoke(main, asked)
        assert refused.exit_code == 2
        assert f"such as {STUDIES[name].model}" in refused.stderr
    assert Subject(folder).writes_images
    assert not Subject("zoo:tiny-reason").writes_images


def test_another_codec_or_classifier_is_another_model(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    same = Subject(folder).fingerprint
    assert Subject(tmp_path).fingerprint == same
    for name in ("classifier.safetensors", "image.json"):
        held = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(held[:-1] + b" ")
        assert Subject(tmp_path).fingerprint != same
        (tmp_path / name).write_bytes(held)


def test_numbers_do_not_depend_on_the_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, cell = Subject(folder, "cpu"), image_cell({"name": "info-gain"}, FOUR, 9, (0, 1))
    together = run_cell(subject, cell)
    monkeypatch.setattr(image_cells, "COLUMNS", {"cpu": 2 * 8 * 65})  # two images at a time
    apart = run_cell(subject, cell)
    for name in ("frechet", "accuracy", "spread", "distinct", "entropy", "token_forwards"):
        assert apart[name] == pytest.approx(together[name], rel=1e-4)
    assert 0 <= together["bypassed"] <= 1


def test_images_of_a_cell_are_those_that_the_package_writes(folder: Path) -> None:
    model = load_image_model(folder, device="cpu")
    recipe = replace(image_cell(UNIFORM, FOUR, 6, (0,), guidance=1.0).recipe, seed=3)
    found = write_classes(model, 6, recipe, rows=4)
    made = generate_images(model, [*TOKENS.classes] * 2, recipe)
    assert found.labels.tolist() == [0, 1, 2] * 2
    assert found.written.codes.tolist() == [image.codes.tolist() for image in made]
    assert torch.equal(found.pixels, torch.stack([image.pixels for image in made]))
    assert found.written.token_forwards.tolist() == [image.token_forwards for image in made]


def test_intervals_are_over_seeds() -> None:
    found = over_seeds({"frechet": [1.0, 2.0, 3.0], "accuracy": [0.9, 1.0, 1.0], "spread": [0.5]})
    assert found["frechet_95"] == pytest.approx([0, 2 + 4.30265 / math.sqrt(3)])  # a distance is not below 0
    assert found["accuracy_95"][1] == 1.0
    assert found["spread_95"] is None, "of one seed nothing is known"
    cell = image_cell(UNIFORM, FOUR, 20, (0, 1, 2))
    old = {"frechet": 2.0, "frechet_95": [9.0, 9.0], "by_seed": {"frechet": [1.0, 2.0, 3.0]}}
    assert with_intervals(cell, old)["frechet_95"] == found["frechet_95"], "as they are defined now"


def test_pictures_survive_as_bytes(folder: Path) -> None:
    model = load_image_model(folder, device="cpu")
    found = write_classes(model, 9, image_cell(UNIFORM, FOUR, 9, (0,)).recipe)
    kept = unpack_pictures(pack_pictures(found, 3))
    assert kept.by_class.shape == (3, 8, 8)
    levels = ((found.pixels[:, 0] + 1) * 127.5).round().to(torch.uint8)
    assert torch.equal(kept.by_class, levels[:3])
    assert torch.equal(kept.alike, levels[[0, 3, 6]]), "the class of number six, of three, is the first"


def test_full_size_keeps_the_promises_of_the_issue() -> None:
    few, many = (STUDIES[name].points("full") for name in ("images-lowstep", "images"))
    main_table = [point.cell for point in few if point.labels["part"] == SAMPLERS]
    assert {(cell.problems, cell.seeds) for cell in main_table} == {(10_000, (0, 1, 2, 3, 4))}
    assert {(cell.problems, len(cell.seeds)) for cell in (point.cell for point in many)} == {(2_000, 3)}
    assert {point.labels["steps"] for point in many} == {64, 16, 5}
    assert {point.labels["guidance"] for point in many} == {0.0, 1.0, 3.0}
    searched = [point.cell for point in few + many if point.labels["part"] != SAMPLERS]
    assert not {seed for cell in searched for seed in cell.seeds} & {0, 1, 2, 3, 4}
    cells = {point.cell for point in few + many}
    assert all(cell.kind == IMAGES for cell in cells)
    assert 100 < sum(map(seconds, cells)) < 900
    assert seconds(image_cell(UNIFORM, Steps(16), 10, (0,), guidance=1.0)) > seconds(
        image_cell(UNIFORM, Steps(16), 10, (0,))
    )


def scored(point: Point, frechet: float, **numbers: Any) -> CellResult:
    """A point whose images have this distance from the data, from every seed about the same."""
    by_seed = {"frechet": [frechet - 0.01, frechet, frechet + 0.01], "accuracy": [0.9] * 3, "spread": [0.8] * 3}
    more = {"distinct": [1.0] * 3, "entropy": [100.0, 101.0, 102.0], "token_forwards": [325.0] * 3}
    told = {name: sum(values) / 3 for name, values in {**by_seed, **more}.items()}
    return CellResult(point.labels, point.cell, {**told, **over_seeds({**by_seed, **more}), **numbers})


def test_a_setting_is_searched_in_stages_and_decoded_again() -> None:
    settings = grid(({}, {"cost_weight": 0.0}), draws=("fresh", "shared"))
    search = ImageSearch(FOUR, settings, {"n": (2, 8), "draws": ("fixed",)}, 30, (0, 1), ("pictures",))
    first = search.points()
    assert [point.labels["setting"] for point in first] == [
        [],
        [["draws", "shared"]],
        [["cost_weight", 0.0]],
        [["cost_weight", 0.0], ["draws", "shared"]],
    ]
    rows = [scored(point, 5.0 - i) for i, point in enumerate(first)]  # the last is the best
    second = search.follow(rows)
    assert [dict(point.labels["setting"]) for point in second] == [
        {"cost_weight": 0.0, "draws": "shared", "n": 2},  # n = 8 is the best itself
        {"cost_weight": 0.0, "draws": "fixed"},
    ]
    rows += [scored(point, value) for point, value in zip(second, (1.0, 3.0), strict=True)]
    assert {point.cell.seeds for point in first + second} == {SEEDS}
    (best,) = search.follow(rows)
    assert (best.labels["sampler"], best.cell.problems, best.cell.seeds) == (BEST, 30, (0, 1))
    assert best.cell.recipe.plain()["sampler"]["n"] == 2
    assert search.follow([*rows, scored(best, 1.1)]) == []


def test_a_setting_names_what_differs_from_the_papers_for_images() -> None:
    assert setting_of({"tau_token": COLD, "tau_pos": 0.4, "gamma": 0.8}) == ()
    assert shown(()) == "the paper's"
    assert one_by_one((("n", 2),), {"tau_token": (WARM, COLD)}) == [(("n", 2), ("tau_token", WARM)), (("n", 2),)]


def compared_rows(**distances: float) -> list[CellResult]:
    found = []
    for name, frechet in distances.items():
        label = name.replace("_", "-")
        labels = {"part": SAMPLERS, "sampler": label, "τ_token": COLD, **labels_of(FOUR)}
        found.append(scored(Point(labels, image_cell({"name": label}, FOUR, 20, (0, 1, 2))), frechet))
    return found


def test_what_is_nearer_to_the_data_is_told_with_its_interval() -> None:
    rows = compared_rows(info_gain=2.0, entropy=1.0, margin=3.0, uniform=2.01)
    verdicts = {
        check.claim.split(" than ")[1]: check.holds for check in nearer(rows, ("entropy", "margin", "uniform"), "")
    }
    assert verdicts == {"entropy, ": False, "margin, ": True, "uniform, ": None}
    assert [row[0] for row in samplers_table(rows).rows] == ["entropy", "info-gain", "uniform", "margin"]
    nearest, paper = summary_of(rows, "Four steps")
    assert nearest.startswith(
        "Four steps, nearest to the data: entropy at τ_token 0.4: Fréchet distance 1.00 [0.98, 1.02]"
    )
    assert "info-gain" in paper
    assert nearer(rows[1:], ("margin",), "") == []


def test_image_cells_have_keys_of_their_own() -> None:
    cell = image_cell(UNIFORM, FOUR, 20, (0,))
    keys = {cell.key("m"), replace(cell, keep=("pictures",)).key("m"), replace(cell, problems=30).key("m")}
    keys |= {image_cell(UNIFORM, FOUR, 20, (0,), guidance=1.0).key("m"), Cell("sudoku", cell.recipe, 20).key("m")}
    assert len(keys) == 5
    assert cell.key("m") == "f45a5a33f1a7681662d7f49a", "or all that is stored would be decoded again"
