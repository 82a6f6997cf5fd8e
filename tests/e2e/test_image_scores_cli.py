"""`infogain image-scores` on folders of small images, with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from infogain.evals.images.image_statistics import load_statistics
from infogain.images.pixels import write_png
from tests.e2e.test_cli import ok, refused, run
from tests.e2e.test_legends import assert_explained
from tests.inceptions import write_inception


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    write_inception(folder / "weights.pth")
    for name, level in (("drawn", 0.2), ("real", 0.0)):
        (folder / name).mkdir()
        for i in range(3):
            pixels = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(i)) * 0.3 + level
            write_png(folder / name / f"{i}.png", pixels)
    return folder


def flags(place: Path, *more: object) -> list[object]:
    return ["image-scores", "--inception", place / "weights.pth", "--device", "cpu", "--splits", 3, *more]


def test_without_a_reference_there_are_no_distances(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    reference, out = tmp_path / "real.npz", tmp_path / "scores.json"
    shown = ok(*flags(place, "real", "--save", reference, "--out", out))
    assert_explained(shown, ["n", "IS", "± splits"])
    assert load_statistics(reference).n == 3
    (real,) = json.loads(out.read_text())["folders"]
    assert (real["n"], real["fid"], real["sfid"]) == (3, None, None)
    assert "would be lost" in refused(*flags(place, "drawn", "--out", out))


@pytest.mark.slow
def test_folders_are_judged(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    reference, out = tmp_path / "real.npz", tmp_path / "scores.json"
    ok(*flags(place, "real", "--save", reference))
    shown = run(*flags(place, "drawn", "real", "--reference", reference, "--out", out))
    assert_explained(shown.stdout, ["n", "FID", "sFID", "IS", "± splits"])
    assert shown.stderr.count("singular (here of rank 2)") == 2
    report = json.loads(out.read_text())
    drawn, real = report["folders"]
    assert (drawn["name"], drawn["n"], drawn["reference_n"]) == ("drawn", 3, 3)
    assert drawn["fid"] > 1
    assert real["fid"] == pytest.approx(0, abs=1e-6 * drawn["fid"])
    assert drawn["inception_score"] >= 1
    about = report["about"]
    assert (about["reference_n"], about["weights"], about["splits"]) == (3, "weights.pth", 3)
    assert len(about["inception"]) == 16


@pytest.mark.slow
def test_a_folder_can_be_the_reference(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    shown = ok(*flags(place, "real", "--reference", "real"))
    assert shown.splitlines()[2].split()[:4] == ["real", "3", "0.00", "0.00"]


def test_what_cannot_be_done_is_refused(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert "one FOLDER; got 2" in refused(*flags(place, "drawn", "real", "--save", tmp_path / "x.npz"))
    assert "named once" in refused(*flags(place, "drawn", "drawn"))
    assert "each of 9 splits; it holds 3" in refused(*flags(place, "drawn", "--splits", 9))
    assert "FID's Inception-v3" in refused("image-scores", "drawn", "--splits", 3, "--inception", bad_weights(tmp_path))


def bad_weights(folder: Path) -> Path:
    torch.save({"fc.weight": torch.zeros(1000, 2048)}, folder / "bad.pth")
    return folder / "bad.pth"
