"""Figures about images in the docs are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from infogain.report.numbers import number, percent
from infogain.studies.cell import CellResult
from infogain.studies.findings import Evidence
from infogain.studies.image_search import BEST

ROOT = Path(__file__).parents[2]
EVIDENCE = Evidence(ROOT / "docs" / "results")
PAGE, GUIDE, FINDINGS, LOG = (
    (ROOT / "docs" / name).read_text() for name in ("images.md", "which-sampler.md", "findings.md", "LOG.md")
)
LINES = [
    *(("uniform", 1.0), ("margin", 1.0), ("confidence (top-1)", 1.0), ("entropy", 1.0)),
    *((BEST, 1.0), ("confidence (annealed)", 1.0)),
    *(("uniform", 0.4), ("entropy", 0.4), ("confidence (top-1)", 0.4), ("margin", 0.4)),
    *(("lookum", 0.4), ("info-gain", 0.4)),
]


def measured(steps: int, sampler: str, tau: float, guidance: float = 0.0) -> CellResult:
    study = "images-lowstep" if steps == 5 else "images"
    asked = {"part": "samplers", "steps": steps, "sampler": sampler, "τ_token": tau, "guidance": guidance}
    return EVIDENCE.row(study, **asked)


def far(*asked: float | str) -> str:
    return number(measured(*asked)["frechet"], 2)  # type: ignore[arg-type]


def scores(row: CellResult) -> str:
    """Distance with its interval, images as asked, and spread, as cells of a table."""
    distance = EVIDENCE.number(
        "images-lowstep" if row["steps"] == 5 else "images",
        "frechet",
        **{name: row[name] for name in ("part", "steps", "sampler", "τ_token", "guidance")},
    )
    return f"{distance.show(2)} | {percent(row['accuracy'])} | {number(row['spread'], 2)}"


@pytest.mark.parametrize(("sampler", "tau"), LINES)
def test_the_page_of_images_has_every_sampler_as_it_was_measured(sampler: str, tau: float) -> None:
    five, sixteen = (scores(measured(steps, sampler, tau)) for steps in (5, 16))
    assert f"| {sampler} | {tau:g} | {five} | {sixteen} |" in PAGE


def test_the_guide_and_the_findings_say_what_images_cost() -> None:
    plain, gain, guided = far(16, "uniform", 1.0), far(16, "info-gain", 0.4), far(16, "uniform", 1.0, 1.0)
    asked, ahead = (percent(measured(*row)["accuracy"]) for row in ((16, "uniform", 1.0, 1.0), (16, "info-gain", 0.4)))
    assert f"Fréchet distance from the data: {plain}, `info-gain` as the paper has it {gain} " in GUIDE
    assert f"{asked} % as asked at a distance of {guided}; `info-gain` {ahead} % at {gain}" in GUIDE
    columns = [measured(*row)["token_forwards"] for row in ((16, "info-gain", 0.4), (16, "uniform", 1.0, 1.0))]
    assert 2.9 < columns[0] / columns[1] < 3.3, "three times the columns"
    assert f"a Fréchet distance of {plain} at τ_token 1 and {far(16, 'uniform', 0.4)} at .4" in FINDINGS
    assert f"**Guidance 1 makes {asked} % of the images what was asked for** at a distance of {guided}" in FINDINGS


def test_the_log_has_the_distances_that_were_measured() -> None:
    named = ("uniform", "entropy", "info-gain")
    many, some, few = ([far(steps, name, 0.4) for name in named] for steps in (64, 16, 5))
    said = "64 steps `uniform` {}, `entropy` {}, Info-Gain {}; 16 steps {}, {}, {}; five steps {}, {}, {}"
    assert said.format(*many, *some, *few) in LOG
