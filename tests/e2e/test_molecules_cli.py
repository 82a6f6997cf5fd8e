"""Molecules on the command line: drawn from nothing, shown as a picture, judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import infogain
from infogain import Recipe, TokensPerStep
from infogain.samplers import make
from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.smiles import WIDTH
from tests.e2e.test_cli import ok, refused
from tests.molecules import ASPIRIN, needs_rdkit, random_model
from tests.unit.test_molecules import without_rdkit

FAST = ("--sampler", "entropy", "--tau-token", 1, "-k", 14)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_model(tmp_path_factory.mktemp("models") / "molecules")


def test_texts_are_drawn_from_an_empty_canvas(model: Path) -> None:
    lines = [json.loads(line) for line in ok("generate", "-m", model, "--count", 3, *FAST).splitlines()]
    assert sorted(line["number"] for line in lines) == [0, 1, 2]
    assert {line["prompt"] for line in lines} == {""}
    assert len({line["seed"] for line in lines}) == 3
    assert {line["recipe"]["block"] for line in lines} == {0}
    assert {line["forwards"] for line in lines} == {WIDTH // 14}
    assert not any("~" in line["text"] or "_" in line["text"] for line in lines)


def test_every_prompt_is_completed_as_often_as_asked(model: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in ok("generate", "CC", "-m", model, "--count", 2, *FAST).splitlines()]
    assert [line["prompt"] for line in lines] == ["CC", "CC"]
    assert {line["recipe"]["block"] for line in lines} == {0}
    (tmp_path / "p.jsonl").write_text('{"prompt": "CC", "seed": 3}\n')
    assert "a seed of its own" in refused("generate", "--file", tmp_path / "p.jsonl", "-m", model, "--count", 2)


def test_a_model_that_knows_no_empty_canvas_is_refused(tmp_path: Path) -> None:
    assert "zoo:tiny-reason was not" in refused("generate", "--count", 2)
    assert "by its card" in refused("generate", "--count", 2, "-m", random_model(tmp_path / "m", card=False))


def test_an_empty_prompt_is_one_block_in_python_and_on_the_command_line(model: Path) -> None:
    (line,) = map(json.loads, ok("generate", "", "-m", model, *FAST).splitlines())
    assert line["recipe"]["block"] == 0
    loaded, fast = infogain.load(model, device="cpu"), Recipe(make("entropy", tau_token=1.0), TokensPerStep(14))
    written = infogain.generate(loaded, "", fast)[0]
    assert (written.text, written.recipe) == (line["text"], line["recipe"])
    assert [text.recipe["block"] for _, text in infogain.stream(loaded, ["", ""], fast)] == [0, 0]
    mixed = infogain.generate(loaded, ["", "CC"], fast, seeds=[written.seed, 1])
    assert (mixed[0].text, mixed[1].recipe["block"]) == (written.text, 0), "whatever stands beside it"
    assert infogain.generate(loaded, "", fast, block=8)[0].recipe["block"] == 8


def test_a_model_that_writes_no_molecules_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.cli.generate.rdkit_chem", lambda: None)  # as if RDKit were installed
    monkeypatch.setattr("infogain.cli.model.load", lambda *given, **options: pytest.fail("nothing is to be decoded"))
    grid = tmp_path / "grid.png"
    for name in ("zoo:tiny-reason", "zoo:tiny-tales"):
        assert f"{name} writes none" in refused("generate", "Mia", "-m", name, "--draw", grid)
    assert "zoo:tiny-reason writes none. Use --model zoo:tiny-molecule" in refused("generate", "C", "--draw", grid)


def test_without_rdkit_nothing_is_drawn_or_judged(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rdkit(monkeypatch)
    for module in ("generate", "molecules"):
        monkeypatch.setattr(f"infogain.cli.{module}.rdkit_chem", chemistry.rdkit_chem)
    (tmp_path / "a.txt").write_text("CCO\n")
    needed = "pip install 'infogain[molecules]'"
    assert needed in refused("generate", "--count", 2, "-m", model, "--draw", tmp_path / "grid.png")
    assert needed in refused("molecules", tmp_path / "a.txt")


@needs_rdkit
def test_texts_are_drawn_with_their_recipe(model: Path, tmp_path: Path) -> None:
    from PIL import Image

    out, grid = tmp_path / "m.jsonl", tmp_path / "grid.png"
    ok("generate", "-m", model, "--count", 5, "--out", out, "--draw", grid, *FAST)
    picture = Image.open(grid)
    picture.load()
    about = json.loads(picture.text["infogain"])  # type: ignore[attr-defined]  # of a PNG
    held = {line["number"]: line["text"] for line in map(json.loads, out.read_text().splitlines())}
    assert about["texts"] == [held[i] for i in range(5)]
    assert (about["recipe"]["sampler"]["name"], len(about["seeds"])) == ("entropy", 5)
    assert "would be lost" in refused("generate", "-m", model, "--count", 5, "--draw", grid, *FAST)
    grid.unlink()
    ok("generate", "-m", model, "--count", 5, "--out", out, "--draw", grid, *FAST)  # all texts are there already
    assert json.loads(Image.open(grid).text["infogain"])["texts"] == about["texts"]  # type: ignore[attr-defined]


@needs_rdkit
def test_texts_are_judged(tmp_path: Path) -> None:
    (tmp_path / "mols.txt").write_text(f"CCO\nOCC\n{ASPIRIN}\nCC(\n")
    (tmp_path / "train.csv").write_text("SMILES\nCCO\n")
    shown = ok("molecules", tmp_path / "mols.txt", "--data", tmp_path / "train.csv", "--out", tmp_path / "judged")
    assert "75.0 [30.1, 95.4]" in shown
    assert "all three %" in shown
    report = json.loads((tmp_path / "judged" / "molecules.json").read_text())
    (found,) = report["files"]
    assert (found["name"], found["texts"]) == ("mols", 4)
    assert {name: own["value"] for name, own in found["shares"].items() if name != "diversity"} == {
        "valid": 0.75,
        "unique": pytest.approx(2 / 3, abs=1e-5),
        "novel": 0.5,
        "valid_unique_novel": 0.25,
    }
    assert report["about"]["novelty_by"] == "MOSES's file"
    assert (tmp_path / "judged" / "grid.png").exists()
    assert "would be lost" in refused("molecules", tmp_path / "mols.txt", "--out", tmp_path / "judged")
    said = ok("molecules", tmp_path / "mols.txt", "--overwrite", "--out", tmp_path / "judged")
    assert "unique %" in said
