"""`infogain compare`: its numbers are whole and fair."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infogain import Recipe
from infogain.cli import compare
from infogain.generate import decode_job
from infogain.text.prompts import Job
from infogain.text.text_model import TextModel
from tests.e2e.test_cli import ok
from tests.parity.checkpoints import write_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("models") / "llada", "llada")


@pytest.mark.parametrize("columns", [60, 80])
def test_every_number_is_shown_whole(columns: int, folder: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "c.json", ["entropy", "info-gain-beam", "info-gain:validated"]
    flags = ("--samplers", ",".join(names), "-m", folder, "--length", 12, "--block", 4, "--n", 12, "--gamma", 1)
    shown = ok("compare", "the cat", *flags, "--out", out, env={"COLUMNS": str(columns)}).splitlines()
    rows = [line.split() for line in shown if {"eos", "length"} & set(line.split())]
    assert max(map(len, shown[:-1])) <= columns + 1, "the tilde of H̃ takes no column; the last line names a file"
    for name, row, saved in zip(names, rows, json.loads(out.read_text()), strict=True):
        assert name.startswith(row[0])
        numbers = (saved["forwards"], saved["token_forwards"])
        entropy = f"{saved['cumulative_entropy']:.2f}"
        assert row[1:6] == [str(len(saved["tokens"])), saved["finish"], entropy, *map(str, numbers)]


def test_no_sampler_pays_for_warming_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sampler has decoded before the clock is first read; between two readings nothing but one decode runs."""
    events: list[str] = []

    def noted(model: TextModel, job: Job, recipe: Recipe, **how: Any) -> Any:
        events.append(recipe.sampler.name)
        return decode_job(model, job, recipe, **how)

    def clock() -> float:
        events.append("clock")
        return float(len(events))

    monkeypatch.setattr(compare, "decode_job", noted)
    monkeypatch.setattr(compare, "time", SimpleNamespace(perf_counter=clock))
    ok("compare", "the cat", "--samplers", "entropy,entropy,info-gain", "-m", folder, "--length", 8)
    begun = events.index("clock")
    assert set(events[:begun]) == {"entropy", "info-gain"}
    assert events[begun:] == [*["clock", "entropy", "clock"] * 2, "clock", "info-gain", "clock"]
