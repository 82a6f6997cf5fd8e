"""`infogain reproduce table4` from end to end, with tiny models of both kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infogain.evals.images.geneval_images import RESULTS
from infogain.images import image_model
from infogain.images.png_recipe import read_png
from infogain.recipe_files import load_recipe, recipes_folder
from infogain.report.paper import FILE, load_table
from tests.e2e.test_cli import ok, refused
from tests.image_models import write_codec, write_mmada
from tests.picture_models import write_judged_classes
from tests.unit.test_geneval_images import result, write_prompts

ROWS = ("--only", "entropy", "--only", "info-gain")


def test_every_row_has_its_recipe_and_the_papers_numbers() -> None:
    table, folder = load_table("table4"), recipes_folder() / "table4"
    assert {row.name for row in table.rows} == {path.stem for path in folder.glob("*.toml") if path.name != FILE}
    assert table.order == ["single_object", "two_object", "counting", "colors", "position", "color_attr"]
    for row in table.rows:
        plain = row.recipe.plain()
        assert row.recipe == load_recipe(folder / f"{row.name}.toml")
        assert plain["sampler"]["tau_token"] == 0.4
        assert (plain["schedule"]["count"], plain["schedule"]["shape"], plain["block"]) == (50, "cosine", 0)
        *groups, average = row.paper["mmada"][:7]
        assert sum(groups) / 6 == pytest.approx(average, abs=0.45), "the paper's own rounding"
        assert len(row.paper["mmada"]) == 10
    gain = table.rows[-1]
    assert gain.recipe.plain()["sampler"] | {"n": 8, "tau_pos": 0.4} == gain.recipe.plain()["sampler"]
    assert gain.paper["mmada"][-3:] == [63.0, 38.1, 83.7]


def test_a_model_of_classes_is_scored_by_its_classifier(tmp_path: Path) -> None:
    folder = write_judged_classes(tmp_path / "model")
    flags = ("-m", folder, "--limit", 20, *ROWS, "--runs", tmp_path / "runs", "--out", tmp_path / "out")
    text = ok("reproduce", "table4", *flags, "--seeds", 2)
    for said in ("Fréchet", "44.8", "not the height", "20 images from each of 2 seeds"):
        assert said in text
    found = json.loads((tmp_path / "out" / "table4.json").read_text())
    assert [row["row"] for row in found["rows"]] == ["entropy", "info-gain"]
    assert all(row["here"]["frechet"] > 0 and "difference" not in row for row in found["rows"])
    kept = (tmp_path / "runs" / "cells.jsonl").read_text()
    assert json.loads(kept.splitlines()[0])["cell"]["recipe"].get("guidance", 0) == 0
    ok("reproduce", "table4", *flags, "--seeds", 2)
    assert (tmp_path / "runs" / "cells.jsonl").read_text() == kept, "nothing is decoded again"
    asked = ("reproduce", "table4", "-m", folder, "--runs", tmp_path / "runs", "--out", tmp_path / "out")
    assert "--data is for MMaDA" in refused(*asked, "--data", tmp_path)
    assert "--dtype is for MMaDA" in refused(*asked, "--dtype", "float32")
    assert "--limit must be at least 20" in refused(*asked, "--limit", 3)
    assert "groups are for MMaDA" in refused(*asked, "--only", "counting")
    assert "--refresh is for texts" in refused(*asked, "--refresh", 2)
    assert "--frequencies: table4 is of images" in refused(*asked, "--frequencies", "x")
    assert "--codec is for models that write images" in refused("reproduce", "table2", "--codec", tmp_path)


def test_mmada_writes_for_genevals_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_model, "MMADA_SIZE", 16)  # sixteen codes
    model, codec, data = write_mmada(tmp_path / "mmada"), write_codec(tmp_path / "codec"), write_prompts(tmp_path)
    places = ("--runs", tmp_path / "runs", "--out", tmp_path / "out", "--device", "cpu")
    asked = ("reproduce", "table4", "-m", model, "--codec", codec, "--only", "entropy", "--seeds", 2, *places)
    assert "must be given with --data" in refused(*asked)
    text = ok(*asked, "--data", data)
    assert "has not judged these images yet" in text
    assert "evaluate_images.py" in text
    folder = tmp_path / "runs" / "table4-entropy"
    images = sorted(folder.glob("*/samples/*.png"))
    assert len(images) == 6
    assert [read_png(path)["prompt"] for path in images[::2]] == [
        "a photo of a bench",
        "a photo of a cow",
        "a photo of two clocks",
    ]
    assert len({read_png(path)["seed"] for path in images}) == 6
    written = images[0].stat().st_mtime_ns
    images[1].unlink()
    judged = "".join(result(number, sample, number == 0) for number in range(3) for sample in range(2))
    (folder / RESULTS).write_text(judged)
    text = ok(*asked, "--data", data)
    assert (images[1].exists(), images[0].stat().st_mtime_ns) == (True, written), "it goes on where it stopped"
    (row,) = json.loads((tmp_path / "out" / "table4.json").read_text())["rows"]
    assert row["here"] == {"single_object": 50.0, "counting": 0.0}
    assert row["difference"] == pytest.approx({"single_object": 50 - 94.3, "counting": -46.0})
    assert row["entropy"] > 0
    assert "difference" in text
    few = ok(*asked, "--data", data, "--only", "counting")
    assert "1 prompts of GenEval" in few


def test_a_folder_of_other_images_is_not_mixed_with_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_model, "MMADA_SIZE", 16)
    model, data = write_mmada(tmp_path / "mmada"), write_prompts(tmp_path)
    codecs = [write_codec(tmp_path / name) for name in ("one", "two")]
    flags = ("--data", data, "--only", "uniform", "--seeds", 1, "--device", "cpu", "--runs", tmp_path / "runs")
    ok("reproduce", "table4", "-m", model, "--codec", codecs[0], *flags, "--out", tmp_path / "out")
    again = ("reproduce", "table4", "-m", model, "--codec", codecs[1], *flags, "--out", tmp_path / "other")
    assert "about.json exists, and what it holds would be lost" in refused(*again)
    ok(*again, "--overwrite")
    (image, *_) = (tmp_path / "runs").glob("*/*/samples/*.png")
    assert read_png(image)["provenance"]["codec"] == str(codecs[1])
