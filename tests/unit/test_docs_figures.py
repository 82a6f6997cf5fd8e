"""Figures in the README, the guide and other findings are those that were measured, and what it prints is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import infogain
from infogain.cli import main
from infogain.options import Plain
from infogain.report.numbers import grouped, percent
from infogain.studies.diversity import ALONE
from infogain.studies.findings import Evidence
from infogain.studies.frontier import LABELS, frontier_places, mean_spots
from infogain.studies.methods import GREEDY, PRESET
from infogain.studies.writing import BASELINES

ROOT = Path(__file__).parents[2]
README, FINDINGS, GUIDE, SPEED = (
    (ROOT / page).read_text() for page in ("README.md", "docs/findings.md", "docs/which-sampler.md", "docs/speed.md")
)
EVIDENCE = Evidence(ROOT / "docs" / "results")
REPETITION, REPEATED = (
    json.loads((ROOT / "benchmarks" / "results" / f"repetition-{name}.json").read_text(encoding="utf-8"))
    for name in ("first-edition", "molecules")
)
SHOWN = {  # a line of the README's table -> its label where it was measured
    "`confidence`, drawn (greedy)": "confidence (drawn)",
    "`pc` (greedy)": "pc",
    "`lookum` (looks ahead)": "lookum",
    "`info-gain` (the paper's setting)": "info-gain",
    "`info-gain:validated` (the default)": PRESET,
    "`best-of-n` (eight decodes)": "best-of-8",
}


def quality(label: str, k: int) -> str:
    """Right answers of a sampler, mean of the seven tasks that pose more than one canvas, with its interval."""
    return EVIDENCE.mean("samplers", label, ALONE, K=k, τ_token=0.7).show(scale=100)


def milliseconds(case: str) -> float:
    line = re.search(rf"^\| {case} \| ([\d.]+) \|", SPEED, flags=re.MULTILINE)
    assert line is not None, case
    return float(line[1])


def peak_gib(case: str) -> float:
    line = re.search(rf"^\| {case} \| [\d,]+ \| [\d,]+ \| ([\d,]+) \|", SPEED, flags=re.MULTILINE)
    assert line is not None, case
    return int(line[1].replace(",", "")) / 1024


def test_the_readme_has_the_step_that_was_timed() -> None:
    ratio = re.search(r"whole step, N = 8 over greedy \|[^|]*\| ([\d.]+)", SPEED)
    assert ratio is not None
    times = {"(greedy)": "1 ×", "(eight decodes)": "not timed"}
    for line in table_of_the_readme():
        kind = next((each for each in times if each in line[0]), "")
        assert line[5] == times.get(kind, f"{ratio[1]} ×")
    greedy = milliseconds("greedy, batch")
    full, spared = (milliseconds(f"info-gain, batch{rest}") / greedy for rest in ("", ", bypass"))
    assert f"With 16 prompts it is {full:.1f} ×, or {spared:.1f} × with [the bypass]" in README


def table_of_the_readme() -> list[list[str]]:
    """The cells of each sampler's line, without bold type."""
    lines = README.split("| sampler |")[1].split("\n\n")[0].replace("**", "").splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_the_readme_has_quality_diversity_and_cost_as_they_were_measured() -> None:
    spots = {spot.sampler: spot for spot in mean_spots(EVIDENCE.rows("frontier", K=1))}
    lines = table_of_the_readme()
    assert [line[0] for line in lines] == list(SHOWN)
    for shown, *cells in lines:
        label = SHOWN[shown]
        spot = spots[label]
        counted = [f"{spot.different:.1f}", grouped(spot.token_forwards)]
        assert cells[:4] == [quality(label, 1), quality(label, 2), *counted]


def test_the_readme_shows_the_best_greedy_orders() -> None:
    for k in (1, 2):
        assert max(GREEDY, key=lambda name: float(quality(name, k).split()[0])) == "confidence (drawn)"
    spots = {spot.sampler: spot for spot in mean_spots(EVIDENCE.rows("frontier", K=1))}
    assert max(GREEDY, key=lambda name: spots[name].different) == "pc"


def test_the_default_is_on_every_frontier_as_readme_and_guide_say() -> None:
    count = len(LABELS)
    said = "none is right more often without finding fewer different answers, on each of five tasks"
    assert f"of {count} samplers and settings, {said}" in README
    assert f"Of {count} samplers and settings {said}" in GUIDE
    for k in (1, 2):
        rows = EVIDENCE.rows("frontier", K=k)
        assert len({row["sampler"] for row in rows}) == count
        assert len({row["task"] for row in rows}) == frontier_places(rows)[PRESET] == 5
    assert infogain.Recipe().sampler == infogain.samplers.make(PRESET)


def test_the_readme_says_what_the_task_that_decides_has() -> None:
    ours, paper = (
        percent(EVIDENCE.row("frontier", task="oneway", K=1, sampler=name)["distinct"])
        for name in (PRESET, "info-gain")
    )
    assert f"the default has {ours} % different right answers and the paper's setting {paper} %" in README
    eight, mine = (EVIDENCE.mean("preset", name, ALONE, stage="test", K=1).value for name in ("best-of-8", "preset"))
    spots = {spot.sampler: spot for spot in mean_spots(EVIDENCE.rows("frontier", K=1))}
    assert eight > mine, "eight decodes are right more often than one that looks ahead"
    assert 4 < spots["best-of-8"].token_forwards / spots[PRESET].token_forwards < 5, "for four times the columns"


def test_the_readme_has_the_tales_that_were_told() -> None:
    told = {row["sampler"]: row["accuracy"] for row in EVIDENCE.rows("writing", K=2, τ_token=1.0)}
    ours, paper, best = (percent(told[name]) for name in (PRESET, "info-gain", max(BASELINES, key=told.__getitem__)))
    said = f"{ours} % of its tales hold together, {paper} % with the paper's setting, {best} %"
    assert said in README


def test_the_guide_has_the_texts_that_were_written() -> None:
    told = [EVIDENCE.row("writing", K=2, τ_token=1.0, sampler=name) for name in (PRESET, "info-gain", "margin")]
    tales = "{} % hold together, {} % with `info-gain`, {} % with `margin`"
    assert tales.format(*(percent(row["accuracy"]) for row in told)) in GUIDE
    drawn = {"K": 1, "τ_token": 0.7, "task": "molecule"}
    new = [EVIDENCE.row("variety-molecules", sampler=name, **drawn) for name in ("entropy", PRESET)]
    molecules = "{} % are valid, different and new, {} % with the default"
    assert molecules.format(*(percent(row["valid_unique_novel"]) for row in new)) in GUIDE


@pytest.mark.parametrize(
    ("shown", "sampler"),
    [
        ("`entropy`", "entropy"),
        ("`margin`", "margin"),
        ("`confidence` (drawn)", "confidence (drawn)"),
        ("`lookum`, τ_pos .4", "lookum (τ_pos .4)"),
        ("`info-gain`", "info-gain"),
        ("`info-gain:validated`", PRESET),
    ],
)
def test_the_zoos_page_has_the_molecules_that_were_written(shown: str, sampler: str) -> None:
    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    for tau, said in ((0.7, ".7"), (1.0, "1")):
        cells = [EVIDENCE.row("variety-molecules", sampler=sampler, τ_token=tau, K=k, task="molecule") for k in (1, 4)]
        one, four = (percent(cell["valid_unique_novel"]) for cell in cells)
        assert f"| {shown} | {said} | {one} | {four} |" in page


@pytest.mark.parametrize(
    ("shown", "sampler"),
    [
        ("`entropy`", "entropy"),
        ("`margin`", "margin"),
        ("`confidence` (drawn)", "confidence (drawn)"),
        ("`lookum`, τ_pos .4", "lookum"),
        ("`info-gain`, τ_pos .4", "info-gain"),
        ("`info-gain:validated`", PRESET),
    ],
)
def test_the_zoos_page_has_the_molecules_of_few_steps(shown: str, sampler: str) -> None:
    page = (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
    valid = [percent(EVIDENCE.row("lowstep-molecules", sampler=sampler, steps=n)["accuracy"]) for n in (8, 16, 32, 64)]
    assert f"| {shown} | {' | '.join(valid)} |" in page


def test_the_guide_has_the_molecules_of_few_steps_and_of_chance() -> None:
    labels = (PRESET, "lookum", "info-gain", "confidence (drawn)", "entropy")
    valid = [percent(EVIDENCE.row("lowstep-molecules", sampler=label, steps=8)["accuracy"]) for label in labels]
    few = "{} % are valid, {} % with `lookum`, {} % with `info-gain`, {} % with `confidence --of drawn`, {} % with"
    assert few.format(*valid) in GUIDE
    of = {"sampler": "info-gain", "draws": "fresh"}
    by_chance, best = (EVIDENCE.row("draws-molecules", τ_select=tau, **of) for tau in (0.5, 0.0))
    different = [percent(row["distinct"]) for row in (by_chance, best)]
    assert "makes {} instead of {} % valid and different".format(*different) in GUIDE
    assert by_chance["accuracy"] == pytest.approx(best["accuracy"], abs=0.01), "as many valid"


def repeated(study: str, **labels: object) -> Plain:
    """How often the texts of a cell come: the one with these labels."""
    found: list[Plain] = [row for row in REPEATED[study] if row.items() >= labels.items()]
    assert len(found) == 1
    return found[0]


def test_other_findings_have_the_molecules_that_come_again() -> None:
    drawn = {"τ_pos": 1.0, "τ_token": 0.0}
    ours, look = (repeated("temperature-molecules", sampler=name, **drawn) for name in ("info-gain", "lookum"))
    uniform = repeated("temperature-molecules", sampler="uniform", τ_token=0.0)
    cells = [
        EVIDENCE.row("temperature-molecules", sampler=name, **drawn) for name in ("info-gain", "lookum", "uniform")
    ]
    valid = [percent(cell["accuracy"]) for cell in cells]
    hot = repeated("temperature-molecules", sampler="info-gain", τ_pos=1.0, τ_token=1.4)
    hot_cell = EVIDENCE.row("temperature-molecules", sampler="info-gain", τ_pos=1.0, τ_token=1.4)
    few = [repeated("lowstep-molecules", sampler=s, steps=8) for s in (PRESET, "lookum", "confidence (drawn)")]
    many = repeated("lowstep-molecules", sampler="confidence (drawn)", steps=64)
    sentences = [
        f"{valid[0]} % of its {grouped(ours['texts'])} texts are valid and {ours['different']} are different",
        f"{grouped(ours['most_frequent'])} are `{ours['its_text']}`",
        f"LookUM has {grouped(look['different'])} different texts, and {valid[1]} % of all are valid",
        f"at random have {grouped(uniform['different'])} and {valid[2]} %",
        f"{grouped(few[0]['different'])} different ones, LookUM's {grouped(few[1]['different'])}",
        f"are {grouped(few[2]['different'])}, and with 64 steps, all valid, {many['different']}",
        f"from {ours['tokens']} to {hot['tokens']} tokens",
        f"H̃ from {cells[0]['entropy']:.2f} to {hot_cell['entropy']:.2f}",
    ]
    assert [sentence for sentence in sentences if sentence not in FINDINGS] == []


def test_the_guide_has_what_was_measured() -> None:
    spots = {spot.sampler: spot for spot in mean_spots(EVIDENCE.rows("frontier", K=1))}
    ours, look, drawn, best = (spots[name] for name in (PRESET, "lookum", "confidence (drawn)", "best-of-8"))
    cold, ours_cold = (percent(EVIDENCE.mean("samplers", name, K=1, τ_token=0.0).value) for name in ("margin", PRESET))
    warm, eight = (EVIDENCE.mean("preset", name, ALONE, stage="test", K=1).value for name in ("preset", "best-of-8"))
    sudoku = [
        percent(EVIDENCE.row("preset", stage="test", task="sudoku", K=2, sampler=name)["accuracy"])
        for name in ("preset", "lookum", "confidence (drawn)")
    ]
    few, many = (EVIDENCE.row("judgement", sampler=name, K=1) for name in ("threshold", "confidence (drawn)"))
    gap = EVIDENCE.lead("preset", "preset", "info-gain", ALONE, stage="test", K=1)
    beam, alone = (percent(EVIDENCE.mean("samplers", name, K=1, τ_token=0.7).value) for name in BEAMS)
    shared, fresh = spots["info-gain (shared)"], spots["info-gain"]
    sentences = [
        f"{ours.right:.1f} % right, {ours.different:.1f} % right and different",
        f"`lookum` {look.right:.1f} and {look.different:.1f} %",
        f"Mean of seven tasks: {cold} % right, the default at τ_token 0 {ours_cold} %, at .7 {percent(warm)} %",
        f"`best-of-n` at .7 {percent(eight)} %",
        f"{grouped(drawn.token_forwards)} columns a text where the default runs {grouped(ours.token_forwards)}",
        f"and {drawn.different:.1f} % right and different",
        f"Sudoku: {sudoku[0]} and {sudoku[1]} % right, `confidence --of drawn` {sudoku[2]} %",
        f"Mean of five tasks: {best.right:.1f} % right, for {grouped(best.token_forwards)} columns a text",
        f"takes {few['forwards']:.1f} forwards instead of {many['forwards']:.1f}",
        f"and is right in {percent(few['accuracy'])} %",
        f"the best of {len(EVIDENCE.settings())} settings on validation problems",
        f"On test problems it is right {gap.show(scale=100)} points more often than the paper's setting",
        f"{beam} against {alone} % ([K = 1]",
        f"finds {shared.different:.1f} instead of {fresh.different:.1f} % different right answers",
        f"is right in {shared.right:.1f} instead of {fresh.right:.1f} %",
    ]
    assert [sentence for sentence in sentences if sentence not in GUIDE] == []
    assert few["accuracy"] == pytest.approx(many["accuracy"], abs=0.01)


BEAMS = ("info-gain-beam", "info-gain")


def test_other_findings_have_the_first_editions_repetition() -> None:
    ours, pc, paper = (REPETITION["samplers"][name] for name in ("info-gain:validated", "pc", "info-gain"))
    assert f"right in {ours['right']} of 300 draws" in FINDINGS
    assert f"wrote {ours['new']} different equations" in FINDINGS
    assert f"wrote {pc['new']} in {pc['right']} right draws, and the paper's setting {paper['new']} in" in FINDINGS


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
