"""Studies count what is independent, call ties ties, and leave open what their intervals leave open."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infogain import samplers
from infogain.evals.intervals import Interval
from infogain.options import Plain
from infogain.studies.abstract_study import all_above_zero, beats, leaders
from infogain.studies.cell import Cell, CellResult
from infogain.studies.demo import DemoStudy
from infogain.studies.diversity import ALONE
from infogain.studies.independent import opening, openings, paired, saved_entropy, units, with_intervals
from infogain.studies.methods import METHODS, TAU, VARIANTS, method_cell, recipe
from infogain.studies.report_page import page, section
from infogain.studies.results_page import verdicts
from infogain.studies.samplers import SamplersStudy
from infogain.studies.what_counts import by_task, mean_lead, mean_measured

COUNT = 20


def cell(task: str, label: str, tau: float, problems: int = COUNT) -> Cell:
    return method_cell(label, task, 2, tau, problems, (0, 1))


def row(task: str, label: str, tau: float, hits: str, **labels: Any) -> CellResult:
    own = cell(task, label, tau, len(hits))
    share = sum(map(int, hits)) / len(hits) / len(own.seeds)
    costs = {"entropy": 2.0, "entropy_95": 0.1, "forwards": 4.0, "token_forwards": 40.0, "seconds": 0.1}
    stored = {"hits": hits, "accuracy": share, "sound": share, **costs}
    return CellResult({"task": task, "sampler": label, **labels}, own, with_intervals(own, stored))


@pytest.mark.parametrize(
    ("name", "options", "draws"),
    [
        ("entropy", {}, True),
        ("entropy", {"tau_token": 0}, False),
        ("entropy", {"tau_token": 0, "tau_pos": 0.1}, True),
        ("entropy", {"top_k": 1}, False),
        ("uniform", {"tau_token": 0}, True),
        ("info-gain", {"tau_token": 0}, True),
        ("info-gain", {"tau_token": 0, "n": 1}, False),
        ("info-gain", {"tau_token": 0, "tau_pos": 0}, False),
        ("best-of-n", {"base": {"name": "eb", "tau_token": 0}}, False),
        ("best-of-n", {}, True),
    ],
)
def test_a_sampler_knows_whether_it_draws(name: str, options: Plain, draws: bool) -> None:
    assert samplers.make(name, **options).traits.draws is draws


def test_without_temperature_every_greedy_order_is_decoded_once() -> None:
    random = {label for label in {**METHODS, **VARIANTS} if cell("sudoku", label, 0.0).seeds == (0, 1)}
    assert random == {"uniform", "lookum", "info-gain", "info-gain (φ top-1)", "info-gain-beam", *VARIANTS}


def test_one_canvas_is_one_decode_of_a_sampler_that_does_not_draw() -> None:
    assert len(units(cell("oneway", "entropy", 0.0))) == 1
    assert len(units(cell("oneway", "entropy", 0.7))) == COUNT
    assert len(units(cell("oneway", "info-gain", 0.0))) == COUNT
    assert len(units(cell("sudoku", "entropy", 0.0))) == COUNT
    assert len(units(cell("oneway", "info-gain", 0.0), cell("oneway", "entropy", 0.0))) == 1


def test_one_canvas_is_one_first_choice_of_a_sampler_that_does_not_draw_positions() -> None:
    assert openings(cell("oneway", "entropy", 0.7), 0.5) == 1
    assert openings(cell("oneway", "confidence (drawn)", 0.7), 0.5) == COUNT
    assert openings(cell("oneway", "info-gain", 0.7), 0.5) == COUNT
    assert openings(cell("oneway", "info-gain", 0.7), 0.0) == 1  # the canvas may have decided
    assert openings(cell("sudoku", "entropy", 0.7), 1.0) == COUNT
    assert opening(cell("oneway", "entropy", 0.7), 1.0).above(0.5) is None
    assert opening(cell("sudoku", "entropy", 0.7), 1.0).above(0.5) is True


def test_a_single_decode_is_not_counted_as_many() -> None:
    once, drawn = row("oneway", "entropy", 0.0, "1" * COUNT), row("oneway", "info-gain", 0.0, "2" * COUNT)
    assert (once["independent"], drawn["independent"]) == (1, COUNT)
    assert once["accuracy_95"][0] < 0.2
    assert drawn["accuracy_95"][0] > 0.8
    assert once["entropy_95"] is None
    assert paired(drawn, once).above() is None
    assert beats("claim", row("oneway", "info-gain", 0.0, "0" * COUNT), once).holds is None


def test_averages_are_of_problems_and_have_all_tasks() -> None:
    rows = [
        row("countdown", "entropy", 0.7, "0" * COUNT),
        row("countdown", "info-gain", 0.7, "2" * COUNT),
        row("sudoku", "entropy", 0.7, "20" * (COUNT // 2)),
        row("sudoku", "info-gain", 0.7, "02" * (COUNT // 2)),
        row("sudoku", "margin", 0.7, "22" * (COUNT // 2)),
    ]
    gap = mean_lead(rows, "info-gain", "entropy")
    assert gap.value == 0.5
    assert gap.above() is True
    assert mean_lead(rows[2:], "info-gain", "entropy").above() is None
    found = mean_measured(rows, "info-gain")
    assert found is not None
    assert found.value == 0.75
    assert mean_measured(rows, "margin") is None
    grid = by_task("What counts", rows)
    assert grid.columns == ["sampler", "sudoku", "countdown", "average", "mean H̃"]
    assert grid.rows[0][2].startswith("0.0 [0.0, ")
    assert grid.rows[2][2:] == ["–", "–", "–"]


def test_a_single_canvas_is_not_asked_without_temperature() -> None:
    points = SamplersStudy().points("full")
    assert {point.labels["τ_token"] for point in points if point.labels["task"] in ALONE} == {TAU}
    assert all(point.cell.kind == "diversity" for point in points if point.labels["task"] in ALONE)


def test_numbers_stored_by_an_older_version_get_intervals_of_today() -> None:
    own = replace(cell("sudoku", "entropy", 0.7), problems=20)
    wald: Plain = {"accuracy": 1.0, "accuracy_95": [1.0, 1.0], "sound": 1.0, "sound_95": [1.0, 1.0]}
    old = {**wald, "hits": "2" * 20, "entropy": 1.0, "entropy_95": 1.959964}
    found = with_intervals(own, old)
    assert found["accuracy_95"] == found["sound_95"] == pytest.approx([0.81, 1.0], abs=0.01)
    assert found["entropy_95"] == pytest.approx([1 - 2.093, 1 + 2.093], abs=1e-3)
    assert with_intervals(own, found) == found
    assert with_intervals(own, {**old, "sound": 0.5})["sound_95"] is None  # which problems were sound is not known
    timed = {"ms_per_step": 1.0}
    assert with_intervals(Cell("shape:tiny", recipe(METHODS["entropy"], 1), 1, kind="bench"), timed) == timed


def test_ties_and_ceilings_are_called_so() -> None:
    perfect = [row("sudoku", label, 0.7, "22") for label in ("ar", "entropy", "margin", "klass", "pc")]
    behind = row("sudoku", "uniform", 0.7, "20")
    assert leaders(perfect, "sampler") == "All have 100.0 %: the task does not tell them apart"
    assert leaders([*perfect[:2], behind], "sampler") == "Best: ar and entropy with 100.0 % each"
    assert leaders([perfect[1], behind], "sampler") == "Best: entropy with 100.0 %"
    assert leaders([*perfect, behind], "sampler") == "Best: 5 of 6 share 100.0 %"
    by_power = [row("sudoku", "entropy", 0.7, hits, α=power) for power, hits in ((0.5, "22"), (1.0, "20"))]
    assert leaders(by_power, "α") == "Best: α = 0.5 with 100.0 %"


def drawn(label: str, right: float, different: float) -> CellResult:
    own = DemoStudy(4).cell("sudoku", label, 2)
    told = {
        "accuracy": right,
        "accuracy_95": [0.29, 1.0],
        "distinct": different,
        "token_forwards": 40.0,
        "seconds": 1.0,
    }
    return CellResult({"task": "sudoku", "sampler": label, "K": 2}, own, told)


def test_the_demo_names_all_who_share_the_lead() -> None:
    rows = [drawn("ar", 1.0, 0.25), drawn("entropy", 1.0, 0.5), drawn("lookum", 0.5, 0.5)]
    said, last = DemoStudy(4).summary(rows)
    assert "right most often: ar and entropy with 100.0 % of draws" in said
    assert "most different right answers: entropy and lookum with 50.0 % of draws, at 40 columns a text" in said
    assert "prove little" in last
    (grid,) = DemoStudy(4).tables(rows)
    assert grid.rows[0][:3] == ["ar", "100.0 [29, 100]", "25.0"]
    assert [place for place in grid.bold if place[1] < 3] == [(0, 1), (1, 1), (1, 2), (2, 2)]


def test_a_difference_within_its_interval_is_not_decided() -> None:
    better, worse = row("sudoku", "ar", 0.7, "2" * COUNT), row("sudoku", "entropy", 0.7, "1" * COUNT)
    near = row("sudoku", "margin", 0.7, "2" * (COUNT - 1) + "0")
    assert beats("claim", better, worse) == ("claim", True, "100.0 against 50.0 %, +50.0 [+27.5, +57.5]")
    assert beats("claim", worse, better).holds is False
    assert beats("claim", better, near).holds is None
    assert beats("claim", better, better).holds is None
    assert all_above_zero([paired(better, worse), paired(better, near)]) is None
    assert all_above_zero([paired(better, near), paired(worse, better)]) is False
    assert all_above_zero([paired(better, worse)]) is True


def test_the_pages_have_a_list_for_what_is_not_decided(tmp_path: Path) -> None:
    found = [("holds", True, "a"), ("fails", False, "b"), ("open", None, "+0.1 [−0.1, +0.3]")]
    lists = verdicts([{"study": "samplers", "checks": found}])
    for (claim, _, _), title, text in zip(found, ("reproduces", "does not", "is not decided"), lists, strict=True):
        assert text.startswith(f"## What {title}")
        assert claim in text
        assert text.count("[samplers]") == 1
    told = dict.fromkeys(("title", "source", "claim"), "t") | {"study": "s", "points": 1, "expected": 1}
    shown = page("t", "a", [section({**told, "summary": [], "checks": found, "tables": []}, tmp_path)])
    assert '<td class="open">not decided</td>' in shown
    assert verdicts([])[2].endswith("Nothing.\n")


def test_a_difference_too_small_to_be_shown_is_not_decided() -> None:
    assert saved_entropy(Interval(1.0, 0.999, 1.001), Interval(1.02, 1.019, 1.021)).above() is False
    assert saved_entropy(Interval(1.0, 0.999, 1.001), Interval(1.003, 1.002, 1.004)).above() is None


LEVELS = {
    "begins with": 50.0,
    "writes the verdict": 50.0,
    "within 10 %": 1.1,
}  # what a claim's number must lie above or below; zero elsewhere
BELOW = ("Accuracy falls", "within 10 %")
INTERVAL = re.compile(r"\[([+−]?[\d.]+), ([+−]?[\d.]+)\]")


def listed(title: str) -> list[tuple[str, str]]:
    """Claims and evidence of one list, on the committed pages of both editions."""
    docs = Path(__file__).parents[2] / "docs"
    found = []
    for name in ("results.md", "results/first-edition.md"):
        page = (docs / name).read_text(encoding="utf-8")
        text = page.split(f"## What {title}, claim by claim\n")[1].split("\n## ")[0].split("\n<a id")[0]
        found += [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| [")]
    return [(claim, evidence) for _, claim, evidence in found]


def reads(claim: str, evidence: str) -> bool | None:
    """What the interval that is printed says of a claim."""
    found = INTERVAL.findall(evidence)
    assert len(found) == 1, evidence
    low, high = (float(x.replace("−", "-")) for x in found[0])
    level = next((value for words, value in LEVELS.items() if words in claim), 0.0)
    above = Interval(low, low, high).above(level)
    return not above if above is not None and any(words in claim for words in BELOW) else above


@pytest.mark.parametrize(
    ("title", "holds"), [("reproduces", True), ("does not", False), ("is not decided", None)], ids=str
)
def test_every_row_of_the_committed_page_stands_where_its_interval_says(title: str, holds: bool | None) -> None:
    rows = [(claim, evidence) for claim, evidence in listed(title) if "[" in evidence]
    assert len(rows) > 12
    for claim, evidence in rows:
        dear = re.search(r"token-forwards × (0\.[5-9]|[1-9])", evidence)  # the claim's other half fails
        assert (False if dear else reads(claim, evidence)) is holds, (claim, evidence)


def test_only_claims_that_have_no_interval_are_decided_without_one() -> None:
    bare = {claim for title in ("reproduces", "does not") for claim, evidence in listed(title) if "[" not in evidence}
    exact = (
        "Proposition 1",
        "5th percentile of J",
        "Candidates share",
        "A beam of",
        "N = 8 needs",
        "A candidate costs",
    )
    assert all(claim.startswith((*exact, "Eq. 27", "The bypass keeps time")) for claim in bare)
    assert not [evidence for _, evidence in listed("is not decided") if "[" not in evidence]
