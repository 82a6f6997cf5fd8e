"""The page on antibodies says what its JSON says, and the measurement behind it runs on any small masked LM."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import antibody
from benchmarks.antibody import Chain, Remembering, Setting, read_chains
from tools import antibodies

import infogain
from infogain import TextModel
from tests.parity.test_packaged_masked_lm import RESIDUES, SPECIAL, packaged

CHAINS = [
    Chain(0, "one", "EVQLVYCARDYSWGQGTL"),
    Chain(1, "two", "QVQLQFCAKGYFDVWGKGTT"),
    Chain(2, "three", "YCAAAWGAG"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    return infogain.load(packaged(tmp_path_factory.mktemp("masked-lm"), [*SPECIAL, *RESIDUES]), device="cpu")


def test_the_page_says_what_the_numbers_say() -> None:
    page = antibodies.PAGE.read_text(encoding="utf-8")
    assert antibodies.with_numbers(page, antibodies.read()) == page, "run `python tools/antibodies.py`"


def test_other_findings_have_the_calibration_that_was_measured() -> None:
    findings = (antibodies.ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert antibodies.calibration_sentence(antibodies.read()) in findings


def test_what_the_page_concludes_of_loops_holds() -> None:
    loops = antibodies.read()["loops"]
    for name in (antibodies.DEFAULT, "confidence (drawn)"):
        line = antibodies.find(loops, sampler=name, tau_token=0.7)
        assert antibodies.interval(line, "recovered_gap").above() is True, "what looking ahead gains, greedy gains too"
    for line in loops:
        if line["tau_token"] == 0 and line["sampler"] != "entropy":
            assert antibodies.interval(line, "recovered_gap").above() is None, (
                "nothing is gained where nothing is drawn"
            )
    cold, ours = (
        antibodies.find(loops, sampler=n, tau_token=t) for n, t in (("entropy", 0.0), (antibodies.DEFAULT, 0.7))
    )
    assert abs(cold["recovered"] - ours["recovered"]) < 0.02, "it is what drawing had lost"


def test_what_the_page_concludes_of_mask_rates_holds() -> None:
    report = antibodies.read()
    assert antibodies.counted(report, "entropy") == (144, 5, 1)
    assert antibodies.counted(report, antibodies.GREEDY) == (144, 0, 11), "no sampler that looks ahead leads greedy"
    for point in report["turning_points"]:
        if point["recovered"]["helps"]:
            assert (point["sampler"], point["tau_token"]) == (antibodies.DEFAULT, 0.7)
            assert max(point["recovered"]["helps"]) == 0.7
    for line in report["pooled"]:
        found = {
            key: antibodies.interval(line, f"recovered_{key}").above()
            for key in ("gap", "lead", "cold")
            if f"recovered_{key}" in line
        }
        if line["tau_token"] == 0:
            assert set(found.values()) == {None}, "nothing is gained or lost where nothing is drawn"
        elif line["sampler"] in ("lookum", "info-gain"):
            assert found == {"gap": None, "lead": False, "cold": False}
        elif line["sampler"] in (antibodies.DEFAULT, antibodies.GREEDY):
            assert found["cold"] is None, "it wins back what drawing had lost"
            assert found.get("lead") is None


def test_chains_that_share_a_canvas_count_once() -> None:
    lines = [{"chain": name} for name in ("trastuzumab", "olokizumab", "trastuzumab", "unknown")]
    lengths = [antibody.canvas_of(line) for line in lines]
    assert lengths[0] == lengths[2] == 120
    assert lengths[3] == "unknown"
    assert len(antibody.per_canvas(lines, [1.0, 2.0, 3.0, 4.0], 1.0)) == len(set(lengths))
    assert antibody.per_canvas(lines[::2], [1.0, 3.0], 1.0) == [2.0]
    others = [{"chain": chain.name} for chain in read_chains()]
    assert len(antibody.per_canvas(others, [0.0] * 44, 1.0)) == antibodies.read()["canvases"] == 13
    assert len(antibody.per_canvas(others, [0.0] * 44, 0.9)) == 44


def test_every_chain_is_of_amino_acids_and_has_a_loop() -> None:
    chains = read_chains()
    assert len({chain.residues for chain in chains}) == len(chains) == 44
    assert {residue for chain in chains for residue in chain.residues} == set(RESIDUES)
    assert all(7 <= len(chain.loop) <= 20 for chain in chains)
    (shown,) = [chain for chain in chains if chain.name == antibody.EXAMPLE]
    page = antibodies.PAGE.read_text(encoding="utf-8")
    holed = f"{shown.residues[: shown.loop.start]}[MASK:{len(shown.loop)}]{shown.residues[shown.loop.stop :]}"
    assert page.count(holed) == 2
    assert f"text.text[{shown.loop.start}:{shown.loop.stop}]" in page


def test_a_higher_rate_masks_what_a_lower_one_does(model: TextModel) -> None:
    texts = antibody.masked_texts(model, CHAINS[0])
    assert [len(text.masked) for text in texts] == [max(1, round(rate * 18)) for rate in antibody.RATES]
    for low, high in pairwise(texts):
        assert set(low.masked) <= set(high.masked)
    assert set(texts[-1].masked) == set(range(1, 19)), "all residues, and no special token"
    other = antibody.masked_texts(model, CHAINS[0], masking=1)
    assert [text.masked for text in other] != [text.masked for text in texts]


def test_remembering_changes_nothing(model: TextModel) -> None:
    texts, how = antibody.masked_texts(model, CHAINS[1]), Setting("info-gain", 1, 0.7)
    plain: Any = model.denoiser.network  # type: ignore[attr-defined]
    memory = antibody.remembering(model)
    once = antibody.decode(model, texts, how)
    ran = memory.columns
    assert antibody.decode(model, texts, how) == once
    assert memory.columns == ran, "nothing ran again"
    assert ran <= sum(once[1]), "no row runs twice"
    antibody.remembering(model)
    network: Any = model.denoiser.network  # type: ignore[attr-defined]
    assert isinstance(network, Remembering)
    assert network.network is plain
    model.denoiser.network = plain  # type: ignore[attr-defined]
    assert antibody.decode(model, texts, how) == once


def test_a_pseudo_log_likelihood_masks_each_residue_alone(model: TextModel) -> None:
    row, _ = antibody.row_of(model, CHAINS[0])
    found = []
    for column in (3, 5):
        tokens = torch.tensor([row])
        tokens[0, column] = model.denoiser.mask_id
        with torch.inference_mode():
            logits = model.denoiser.network(tokens, torch.ones_like(tokens, dtype=torch.bool))  # type: ignore[attr-defined]
        found.append(logits[0, column, 5:].log_softmax(-1)[row[column] - 5])
    assert antibody.pseudo_log_likelihood(model, row, [3, 5]) == pytest.approx(float(sum(found)) / 2, abs=1e-5)


@pytest.mark.slow
def test_the_measurement_goes_from_chains_to_a_page(
    model: TextModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(antibody, "RATES", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0))
    monkeypatch.setattr(antibody, "EXAMPLE", "two")
    for what in antibody.MEASUREMENTS:
        antibody.run(what, model, CHAINS[:2], tmp_path, "0/1", 2)
        antibody.run(what, model, CHAINS, tmp_path, "0/1", 1)  # goes on with the third
    assert capsys.readouterr().out.count("rates: ") == 3
    report = json.loads(antibody.as_json(antibody.summary(tmp_path)))
    assert report["chains"]["loops"] == ["one", "three", "two"]
    cell = antibodies.find(report["cells"], sampler="entropy", k=1, tau_token=0.7, rate=1.0)
    assert 0 <= cell["recovered"] < 0.5, "random weights"
    assert len(report["turning_points"]) == 2 * len(antibody.settings(antibody.LOOK_AHEAD))
    marks = "\n".join(f"<!-- made: {name} -->\n<!-- end -->" for name in antibodies.texts(report))
    page = antibodies.with_numbers(marks, report)
    assert antibodies.with_numbers(page, report) == page
    assert "| `info-gain:validated` | 0.7 |" in page
    assert page.count("\n|---") == len(antibodies.tables(report))
    with pytest.raises(ValueError, match="must have the mark of"):
        antibodies.with_numbers("", report)


def test_a_sampler_that_always_helps_is_found_to_help() -> None:
    def cells(gain: float) -> list[dict[str, Any]]:
        found = []
        for how in antibody.settings(antibody.RATE_SAMPLERS):
            for rate in antibody.RATES:
                more = gain * (how.sampler in antibody.LOOK_AHEAD) * (1 if rate < 0.5 else -1)
                found.append({**how._asdict(), "rate": rate, "columns": 1, "recovered": 0.5 + more, "pll": -1.0})
        return found

    lines = [{"chain": str(i), "cells": cells(0.02 + i / 1000)} for i in range(20)]
    for point in antibody.turning_points(antibody.rate_cells(lines)):
        assert point["against"] in ("entropy", "confidence (drawn)")
        assert point["recovered"]["helps"] == [rate for rate in antibody.RATES if rate < 0.5]
        assert point["recovered"]["hurts"] == [rate for rate in antibody.RATES if rate >= 0.5]
        assert point["pll"] == {"helps": [], "hurts": []}
