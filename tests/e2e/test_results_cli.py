"""`infogain results` and `infogain reproduce` on the command line, with the zoo's model."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import infogain.cli.reproduce as command
from infogain.cli.results import NARROW
from infogain.evals.evaluate import evaluate
from infogain.evals.listing import listing
from infogain.evals.runs import Run, list_runs
from infogain.report.tables import as_markdown
from tests.e2e.test_cli import ok, refused, run
from tests.parity.checkpoints import write_checkpoint

ROWS = ("--only", "k1-info-gain", "--only", "k2-pc")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for sampler in ("uniform", "info-gain"):
        flags = ("--limit", 6, "--seeds", 2, "-k", 3, "--sampler", sampler, "--runs", folder, "--traces")
        ok("eval", "zoo:countdown", *flags)
    return folder


def names(runs: Path) -> list[str]:
    """Uniform's and Info-Gain's; runs of the same second are in no order of their own."""
    return sorted((each.name for each in list_runs(runs)), reverse=True)


def test_runs_are_listed_and_rendered(runs: Path) -> None:
    text = ok("results", "--runs", runs)
    assert "zoo:countdown" in text
    assert all(name.rpartition("-")[2][:6] in text for name in names(runs))
    assert ok("results", "--runs", runs, "--format", "markdown").startswith("| run | task |")
    assert ok("results", "--runs", runs, "--format", "latex").startswith("\\begin{tabular}{lllll")
    assert ok("results", "--runs", runs, "--format", "html").count("<tr>") == 3


def test_runs_that_differ_in_their_cache_are_told_apart(tmp_path: Path) -> None:
    flags = ("zoo:countdown", "--limit", 2, "--seeds", 1, "--sampler", "entropy", "--block", 6, "--runs", tmp_path)
    ok("eval", *flags, "--cache", "dual", "--refresh", 1)
    ok("eval", *flags, "--cache", "dual")
    (one,) = list_runs(tmp_path)  # to read for every block is what a cache does by itself
    assert "cache" in ok("results", one.name, "--runs", tmp_path)
    ok("eval", *flags, "--cache", "dual", "--refresh", 2)
    text = ok("results", "--runs", tmp_path, "--format", "markdown")
    assert "| K | cache |" in text
    assert "dual, refresh 2" in text


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_names_and_numbers_are_whole_at_any_width(columns: int, runs: Path) -> None:
    shown = ok("results", "--runs", runs, env={"COLUMNS": str(columns)})
    head, _, *rows = as_markdown(listing(list_runs(runs), found=NARROW)).splitlines()
    assert all(cell.strip() in shown for cell in head.split("|"))
    for row in rows:
        assert all(html.unescape(cell).replace("\\", "").strip() in shown for cell in row.split("|"))
    assert max(map(cell_len, shown.splitlines())) <= columns


def test_two_runs_are_compared(runs: Path) -> None:
    uniform, gain = names(runs)
    text = ok("results", uniform, gain[-6:], "--runs", runs)
    assert "second − first" in text
    assert "of 12 texts of 6 problems" in text
    assert "sampler.name: uniform → info-gain" in text
    same = ok("results", uniform, runs / uniform, "--runs", runs)
    assert "[−33.3, +33.3]" in same  # six ties
    assert "pass@1 is not decided" in same
    assert "right in the second run only: 0; in the first only: 0" in same


def test_a_broken_run_is_named_once_and_the_others_shown(
    runs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    for asked in ([], [name[-6:] for name in names(runs)]):
        caplog.clear()
        text = ok("results", *asked, "--runs", tmp_path)
        assert all(name.rpartition("-")[2][:6] in text for name in names(runs))
        assert [f"left out: {tmp_path / 'broken' / 'run.json'} must be JSON" in said for said in caplog.messages] == [
            True
        ]
    assert "broken/run.json must be JSON" in refused("results", "broken", "--runs", tmp_path)


def test_an_unfinished_run_says_so(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    part, whole = (Run(tmp_path / name) for name in names(runs))
    lines = (part.folder / "items.jsonl").read_text().splitlines(keepends=True)
    (part.folder / "items.jsonl").write_text("".join(lines[:5]))
    for kind in ([], ["--format", "markdown"], ["--format", "latex"], ["--format", "html"]):
        assert "5 of 12" in ok("results", "--runs", tmp_path, *kind)
    assert "the first run is unfinished: 5 of 12 texts" in ok("results", part.name, whole.name, "--runs", tmp_path)
    ok("results", part.name, "--page", tmp_path / "page.html", "--runs", tmp_path)
    assert "5 of 12" in (tmp_path / "page.html").read_text()


def test_right_and_wrong_texts_are_browsed(runs: Path) -> None:
    uniform = Run(runs / names(runs)[0])
    wrong = [line for line in uniform.items() if not line["score"]]
    assert len(wrong) > 2
    text = ok("results", uniform.name, "--wrong", "--limit", 2, "--runs", runs)
    assert text.count("✗") == 2
    assert "✓" not in text
    assert text.count("gold: ") == text.count("trace: infogain view ") == 2
    assert "✗" not in ok("results", uniform.name, "--right", "--runs", runs)


def test_a_page_holds_every_text_and_its_trace(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    assert "page of 12 texts" in ok("results", names(runs)[1], "--page", page, "--runs", runs)
    text = page.read_text()
    assert text.count('<details class="item ') == text.count("<template>") == 12
    assert "https://" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")  # a name, not a host that is asked


def test_mistakes_are_named(runs: Path, tmp_path: Path) -> None:
    assert "several have it" in refused("results", "zoo", "--runs", runs)
    assert "none has it" in refused("results", "gsm8k", "--runs", runs)
    assert "show texts of one run; got 0" in refused("results", "--wrong", "--runs", runs)
    assert "holds none. `infogain eval` makes them" in refused("results", "--runs", tmp_path)
    assert "Did you mean 'table2'" in refused("reproduce", "tables2")
    assert "row, sampler or task of table2" in refused("reproduce", "table2", "--only", "k1-best")
    assert "Add --beside sdar" in refused("reproduce", "table3", "-m", "./mine")
    zoo = ("reproduce", "table2", "-m", "zoo:tiny-reason", "--runs", tmp_path, "--out", tmp_path)
    assert "--data is for tasks that are read from files" in refused(*zoo, "--data", tmp_path)
    assert "--frequencies is for pc" in refused(*zoo, "--frequencies", "zoo:tiny-reason", "--only", "ar")
    assert "cannot be asked mbpp" in refused(*zoo, "--only", "mbpp")
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_reproduced_from_end_to_end(tmp_path: Path) -> None:
    flags = ("--limit", 1, *ROWS, "--runs", tmp_path / "runs", "--out", tmp_path / "out")
    text = ok("reproduce", "table2", *flags)
    for said in ("PC-Sampler", "83.3", "158.3", "not the height", "cannot be asked humaneval"):
        assert said in text
    assert "difference" not in text
    found = json.loads((tmp_path / "out" / "table2.json").read_text())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"table2.{e}" for e in ("json", "md", "tex", "html")
    }
    assert (found["model"]["cache"], found["provenance"]["cache"]) == ("dual", "dual")
    assert [row["row"] for row in found["rows"]] == ["k2-pc", "k1-info-gain"]
    pc, gain = (row["cells"] for row in found["rows"])
    assert set(pc) == set(gain) == {"gsm8k", "sudoku", "countdown"}
    assert pc["sudoku"]["recipe"]["sampler"]["frequencies"] == "zoo:tiny-reason"
    assert (pc["countdown"]["recipe"]["sampler"]["lam"], pc["countdown"]["forwards"]) == (0.5, 11)
    assert gain["gsm8k"]["recipe"]["block"] == 16
    assert gain["countdown"]["recipe"]["block"] == 0
    assert len(list_runs(tmp_path / "runs")) == 6
    before = [each.items() for each in list_runs(tmp_path / "runs")]
    ok("reproduce", "table2", *flags)
    assert [each.items() for each in list_runs(tmp_path / "runs")] == before
    assert "Cache:" not in text
    again = ("reproduce", "table2", *flags, "--refresh", 2)
    held = "table2.json exists, and what it holds would be lost (it is of another model.refresh)"
    assert held in refused(*again, "-m", "zoo:tiny-reason")
    assert "Cache: dual, refresh 2; the paper's is dual" in ok(*again, "--overwrite")


@pytest.mark.parametrize(("table", "family", "written"), [("table2", "dream", 256), ("table3", "sdar", 512)])
def test_a_checkpoint_is_asked_the_papers_own_task(table: str, family: str, written: int, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, family)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 4096}))
    (tmp_path / "gsm8k.jsonl").write_text('{"question": "2 + 2?", "answer": "#### 4"}\n')
    flags = ("--only", "k2-entropy", "--only", "gsm8k", "--seeds", 1, "--data", tmp_path, "--beside", family)
    places = ("--runs", tmp_path / "runs", "--out", tmp_path / "out", "--device", "cpu")
    text = ok("reproduce", table, "-m", folder, *flags, *places)
    found = json.loads((tmp_path / "out" / f"{table}.json").read_text())
    (row,) = found["rows"]
    assert "difference" in text
    assert row["difference"] == {"gsm8k": row["here"]["gsm8k"] - row["paper"]["gsm8k"]}
    (made,) = list_runs(tmp_path / "runs")
    assert made.about["protocol"]["length"] == written
    assert made.about["recipe"]["block"] == 16


def test_an_interrupted_table_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("--limit", 2, *ROWS, "--only", "sudoku", "--out", tmp_path / "out")
    ok("reproduce", "table2", *flags, "--runs", tmp_path / "whole")
    begun: list[str] = []

    def breaks(plan: Any, *rest: Any, **more: Any) -> Iterator[Any]:
        begun.append(plan.name)
        for number, line in enumerate(evaluate(plan, *rest, **more)):
            if len(begun) == 2 and number == 1:
                raise KeyboardInterrupt
            yield line

    with monkeypatch.context() as patch:
        patch.setattr(command, "evaluate", breaks)
        stopped = run("reproduce", "table2", *flags, "--runs", tmp_path / "broken")
    assert stopped.exit_code == 130
    said = f"Kept: 4 of 4 texts in {tmp_path / 'broken'}. The same command goes on from there."
    assert said in stopped.stderr
    assert sorted(len(each.items()) for each in list_runs(tmp_path / "broken")) == [2, 2]
    kept = tmp_path / "broken" / begun[1] / "items.jsonl"
    kept.write_text(kept.read_text().splitlines(keepends=True)[0])
    ok("reproduce", "table2", *flags, "--runs", tmp_path / "broken")
    whole, broken = (
        {each.name: [timeless(line) for line in each.items()] for each in list_runs(tmp_path / name)}
        for name in ("whole", "broken")
    )
    assert whole == broken


def timeless(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "seconds"}
