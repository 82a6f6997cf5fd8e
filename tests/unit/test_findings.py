"""Findings are made of the studies' numbers, and a sentence that these do not bear out is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infogain import InputError
from infogain.report.pages import environment
from infogain.studies import STUDIES
from infogain.studies.cell import Cell, CellResult
from infogain.studies.cell_scores import CellScores
from infogain.studies.findings import TEMPLATE, Evidence, cell_of, claim, render_findings
from infogain.studies.methods import METHODS, recipe
from infogain.studies.results_page import HEAD, READING, build
from infogain.studies.study_files import as_text
from infogain.zoo.tasks import Problem

PROBLEMS = 40


def result(sampler: str, right: int) -> CellResult:
    cell = Cell("countdown", recipe(METHODS[sampler], 2), PROBLEMS, (0, 1))
    scores = CellScores(cell, lambda problem, text: (text == "right",) * 2)
    for problem in range(PROBLEMS):
        for seed in range(2):
            scores.check(problem, seed, Problem("", "_", ""), "right" if problem < right else "wrong", 1.0)
    return CellResult({"task": "countdown", "K": 2, "τ_token": 0.7, "sampler": sampler}, cell, scores.numbers())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [result("entropy", 10), result("info-gain", 30), result("lookum", 31)]
    parts = dict.fromkeys(("title", "source", "claim", "size"), "t") | {"study": "samplers", "points": 3, "expected": 3}
    told: dict[str, Any] = {"model": {"name": "m", "fingerprint": "f"}, "devices": ["CPU"], "summary": ["It ran."]}
    record = {**parts, **told, "checks": [], "tables": [], "rows": [row.plain() for row in rows]}
    (tmp_path / "samplers.json").write_text(as_text(record))
    return tmp_path


def write(folder: Path, text: str) -> str:
    (folder / TEMPLATE).write_text(text)
    return render_findings(folder)


def test_numbers_are_those_of_the_json(folder: Path) -> None:
    text = write(
        folder,
        '{% set gap = lead("samplers", "info-gain", "entropy", K=2) %}\n'
        '{{ claim(gap.above(), "It pays") }}: {{ points(gap) }}; {{ percent(mean("samplers", "lookum", K=2).value) }} '
        '%, {{ number("samplers", sampler="entropy").show(scale=100) }}, {{ row("samplers", sampler="lookum")["K"] }}.',
    )
    assert text.startswith("It pays: +50.0 [+")
    assert "; 77.5 %, 25.0 [" in text
    assert text.endswith("], 2.\n")


@pytest.mark.parametrize(
    ("one", "other", "why"), [("entropy", "info-gain", "say otherwise"), ("lookum", "info-gain", "leave it open")]
)
def test_a_sentence_that_numbers_do_not_bear_out_is_an_error(folder: Path, one: str, other: str, why: str) -> None:
    with pytest.raises(InputError, match=rf"the findings say 'It pays'; the numbers {why}"):
        write(folder, f'{{{{ claim(lead("samplers", "{one}", "{other}", K=2).above(), "It pays") }}}}')
    assert claim(True, "It does.") == "It does."


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ('{{ number("frontier", K=1) }}', "needs the numbers of study frontier"),
        ('{{ number("samplers", K=1) }}', "it has no such row"),
        ('{{ number("samplers", K=2) }}', "for one row with .*; it has 3"),
        ('{{ mean("samplers", "margin", K=2) }}', "some are missing"),
    ],
)
def test_what_was_not_measured_cannot_be_told(folder: Path, asked: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        write(folder, asked)


def test_the_fewest_steps_are_those_of_the_cells(folder: Path) -> None:
    point, *_ = STUDIES["lowstep"].points("full")
    shares = {"entropy": {8: 0.2, 16: 0.6, 32: 0.9}, "margin": {8: 0.1, 16: 0.2, 32: 0.3}}
    rows = [
        CellResult({"sampler": sampler, "steps": steps}, point.cell, {"accuracy": share})
        for sampler, of_one in shares.items()
        for steps, share in of_one.items()
    ]
    (folder / "lowstep.json").write_text(json.dumps({"study": "lowstep", "rows": [row.plain() for row in rows]}))
    evidence = Evidence(folder)
    assert evidence.fewest("lowstep", "entropy") == 16
    with pytest.raises(InputError, match="how few steps margin needs; none that was tried is enough"):
        evidence.fewest("lowstep", "margin")


def test_findings_stand_first_on_the_page_of_results(folder: Path) -> None:
    assert render_findings(folder) == ""
    without = build(folder)
    write(folder, "## Findings\n\nIt ran <b>once</b>.")
    page = build(folder)
    assert page.index("## Findings\n\nIt ran <b>once</b>.\n") < page.index("## What reproduces")
    assert page.startswith(HEAD)
    assert page.replace(f"## Findings\n\nIt ran <b>once</b>.\n\n{READING}\n", "") == without
    assert environment().autoescape, "pages stay escaped; Markdown is not"


def test_a_cell_comes_back_from_its_record(folder: Path) -> None:
    row = Evidence(folder).row("samplers", sampler="info-gain")
    assert row.cell == result("info-gain", 30).cell
    assert cell_of(json.loads(json.dumps(row.cell.plain()))) == row.cell
