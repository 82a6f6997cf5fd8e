"""Figures in the README and in findings are those that were measured, and what it prints is what is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import infogain
from infogain.cli import main
from infogain.studies.methods import GREEDY

ROOT = Path(__file__).parents[2]
README, FINDINGS, GUIDE, SPEED = (
    (ROOT / page).read_text() for page in ("README.md", "docs/findings.md", "docs/which-sampler.md", "docs/speed.md")
)
REPETITION = json.loads((ROOT / "benchmarks" / "results" / "repetition.json").read_text())
DRAWS = REPETITION["draws"]
SHOWN = {  # a line of the README's table -> its label where it was measured
    "`confidence`, drawn (greedy)": "confidence (drawn)",
    "`pc` (greedy)": "pc",
    "`lookum` (looks ahead)": "lookum",
    "`info-gain` (the paper's setting, the default)": "info-gain",
    "`info-gain:validated` (our preset)": "info-gain:validated",
    "`best-of-n` (eight decodes)": "best-of-8",
}


def study(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "results" / "first-edition" / f"{name}.json").read_text())
    return found


def accuracies(k: int, column: str = "average") -> dict[str, str]:
    """Each sampler's right answers with their interval: the mean of the five tasks, or those of one."""
    titles = {"samplers": f"Accuracy %, K = {k}, τ_token = 0.7", "preset": f"Accuracy % on test problems, K = {k}"}
    found: dict[str, str] = {}
    for name, title in titles.items():
        (table,) = (table for table in study(name)["tables"] if table["title"] == title)
        at = table["columns"].index(column)
        found |= {row[0]: row[at] for row in table["rows"]}
    return {**found, "info-gain:validated": found["preset"]}


def without_oneway(sampler: str, k: int) -> float:
    """Right answers in per cent, mean of the four other tasks."""
    name, label = ("preset", "preset") if sampler == "info-gain:validated" else ("samplers", sampler)
    wanted = {"K": k, "sampler": label}
    found: dict[str, float] = {
        row["labels"]["task"]: row["numbers"]["accuracy"]
        for row in study(name)["rows"]
        if wanted.items() <= row["labels"].items()
        and row["cell"]["split"] == "test"
        and row["labels"].get("τ_token", 0.7) == 0.7
    }
    assert len(found) == 5
    del found["oneway"]
    return 100 * sum(found.values()) / 4


def milliseconds(case: str) -> float:
    line = re.search(rf"^\| {case} \| ([\d.]+) \|", SPEED, flags=re.MULTILINE)
    assert line is not None, case
    return float(line[1])


def peak_gib(case: str) -> float:
    line = re.search(rf"^\| {case} \| [\d,]+ \| [\d,]+ \| ([\d,]+) \|", SPEED, flags=re.MULTILINE)
    assert line is not None, case
    return int(line[1].replace(",", "")) / 1024


def test_every_sampler_of_findings_has_the_repetition_that_was_measured() -> None:
    for name, row in REPETITION["samplers"].items():
        assert f"| {name} | {row['right']} | {row['new']} | {row['most_frequent']} |" in FINDINGS


def test_the_readme_has_the_step_that_was_timed() -> None:
    ratio = re.search(r"whole step, N = 8 over greedy \|[^|]*\| ([\d.]+)", SPEED)
    assert ratio is not None
    times = {"(greedy)": "1 ×", "(eight decodes)": "not timed"}
    for line in table_of_the_readme():
        kind = next((each for each in times if each in line[0]), "")
        assert line[4] == times.get(kind, f"{ratio[1]} ×")
    greedy = milliseconds("greedy, batch")
    full, spared = (milliseconds(f"info-gain, batch{rest}") / greedy for rest in ("", ", bypass"))
    assert f"With 16 prompts it is {full:.1f} ×, or {spared:.1f} × with [the bypass]" in README


def table_of_the_readme() -> list[list[str]]:
    """The cells of each sampler's line, without bold type."""
    lines = README.split("| sampler |")[1].split("\n\n")[0].replace("**", "").splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_the_readme_has_quality_and_diversity_as_they_were_measured() -> None:
    one, two = accuracies(1), accuracies(2)
    lines = table_of_the_readme()
    assert [line[0] for line in lines] == list(SHOWN)
    for shown, *cells in lines:
        label = SHOWN[shown]
        new = REPETITION["samplers"][label]["new"]
        assert cells[:3] == [one[label], two[label], f"{100 * new / DRAWS:.0f} %"]


def test_the_readme_shows_the_best_greedy_orders() -> None:
    for k in (1, 2):
        found = accuracies(k)
        assert max(GREEDY, key=lambda name: float(found[name].split()[0])) == "confidence (drawn)"
    assert max(GREEDY, key=lambda name: int(REPETITION["samplers"][name]["new"])) == "pc"


def test_the_readme_says_what_is_left_without_the_task_that_decides() -> None:
    pairs = [[without_oneway(name, k) for name in ("info-gain:validated", "confidence (drawn)")] for k in (1, 2)]
    words = [f"{ours:.1f} and {theirs:.1f} % at K = {k}" for k, (ours, theirs) in enumerate(pairs, 1)]
    assert f"our preset and `confidence` have {words[0]}, and {words[1]}" in README


@pytest.mark.parametrize(
    ("k", "ahead", "other"),
    [
        (2, "info-gain", "confidence (drawn)"),
        (1, "info-gain", "confidence (drawn)"),
        (2, "info-gain", "lookum"),
        (1, "info-gain:validated", "info-gain"),
    ],
)
def test_findings_have_the_differences_that_were_measured(k: int, ahead: str, other: str) -> None:
    summary = " ".join(study("preset" if ahead == "info-gain:validated" else "samplers")["summary"])
    (line,) = (
        line
        for line in FINDINGS.splitlines()
        if line.startswith(f"| K = {k}: `{ahead}`") and f"`{other.split()[0]}`" in line.split("minus")[1]
    )
    *_, five, four, _ = (cell.strip() for cell in line.split("|"))
    assert five in summary
    assert four == f"{without_oneway(ahead, k) - without_oneway(other, k):+.2f}".replace("-", "−")


def test_the_readme_has_the_larger_run_beside_its_picture() -> None:
    found = accuracies(1, "oneway")
    assert f"{found['info-gain:validated']} % true equations with `info-gain:validated`" in README
    assert f"{found['confidence (drawn)']} % with `confidence`, drawn" in README


def test_the_readme_has_the_memory_that_was_measured() -> None:
    one, many = peak_gib("info-gain"), peak_gib("info-gain, batch, bypass")
    assert f"{one:.1f} GiB of GPU memory for one prompt and {many:.1f} GiB for 16" in README


def test_the_readme_has_what_the_dual_cache_can_cost() -> None:
    cells = re.search(r"^\| `entropy` \| ([\d.]+) \[.*?\] \| ([\d.]+) \[", GUIDE, flags=re.MULTILINE)
    assert cells is not None
    assert f"{cells[2]} % are right instead of {cells[1]} %" in README
    assert f"{cells[1]} → {cells[2]} %" in FINDINGS


def test_what_compare_prints_is_in_the_readme() -> None:
    words = ["compare", "C93,3,63=33:", "--length", "22", "-k", "2"]
    printed = CliRunner().invoke(main, words, catch_exceptions=False).stdout.splitlines()
    texts = next(line.rstrip() for line in printed if "=33" in line)
    assert re.sub(r" +", " ", texts) in re.sub(r" +", " ", README)
    told = CliRunner().invoke(main, ["generate", *words[1:4]], catch_exceptions=False).stdout
    assert f"first command writes `{json.loads(told)['text']}`" in README


def test_the_paper_is_cited_alike_in_both_places() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {infogain.__version__}\n" in citation
    title = re.search(r"type: article\n +title: (.+)", citation)
    names = re.findall(r"family-names: (.+)\n +given-names: (.+)", citation)
    assert title is not None
    assert len(names) == 5
    assert f"title = {{{title[1]}}}" in README
    assert f"author = {{{' and '.join(f'{family}, {given}' for family, given in names)}}}" in README


@pytest.mark.parametrize("needed", ['requires-python = ">={}"', '"torch>={}"'])
def test_the_readme_says_what_the_package_needs(needed: str) -> None:
    pattern = re.escape(needed).replace(r"\{\}", r"([\d.]+)")
    version = re.search(pattern, (ROOT / "pyproject.toml").read_text())
    assert version is not None
    assert f"{'Python' if 'python' in needed else 'torch'} ≥ {version[1]}" in README
