"""`infogain eval` on the command line, killed and run again."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import infogain.zoo
from infogain.evals.evaluate import Plan, evaluate
from infogain.evals.fingerprint import describe
from infogain.evals.runs import list_runs
from tests.e2e.test_cli import ok, refused, run
from tests.parity.checkpoints import write_checkpoint

ROOT = Path(__file__).parents[2]


def test_the_tasks_there_are() -> None:
    text = ok("eval")
    for name in ("gsm8k", "math500", "humaneval", "mbpp", "sudoku", "countdown5", "zoo:arithmetic"):
        assert name in text


def test_a_table_and_a_run_come_out(tmp_path: Path) -> None:
    text = ok("eval", "zoo:sudoku", "zoo:countdown", "gsm8k", "--limit", 3, "--seeds", 1, "--runs", tmp_path, "-k", 2)
    assert "3×1" in text
    assert "skipped: zoo:tiny-reason cannot be asked gsm8k" in text
    runs = list_runs(tmp_path)
    assert {run.about["task"] for run in runs} == {"zoo:sudoku", "zoo:countdown"}
    for each in runs:
        assert each.about["protocol"] == {"style": "infill", "shots": 0, "seeds": 1, "limit": 3}
        assert each.about["recipe"]["schedule"]["k"] == 2
        assert each.about["model"]["fingerprint"]
        assert str(each.folder) in text.replace("\n", "")
    before = [each.items() for each in runs]
    ok("eval", "zoo:sudoku", "zoo:countdown", "--limit", 3, "--seeds", 1, "--runs", tmp_path, "-k", 2)
    assert [run.items() for run in list_runs(tmp_path)] == before
    ok("eval", "zoo:sudoku", "--limit", 3, "--seeds", 1, "--runs", tmp_path, "-k", 3, "--traces")
    assert len(list_runs(tmp_path)) == 3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["gsm8k"], "cannot be asked gsm8k: it does not know the characters"),
        (["gsm9k"], "unknown task 'gsm9k'. Did you mean 'gsm8k'?"),
        (["zoo:sudoku", "--style", "chat"], "a chat needs a chat template"),
        (["zoo:sudoku", "--style", "chats"], "unknown style of zoo:sudoku: 'chats'. Did you mean 'chat'?"),
        (["zoo:sudoku", "--length", "9"], "a text with holes (style infill) has no length"),
        (["zoo:sudoku", "--shots", "2"], "zoo:sudoku has 0 examples to show"),
        (["zoo:sudoku", "--data", "."], "--data is for tasks that are read from files; zoo:sudoku are drawn"),
        (["zoo:sudoku", "--sampler", "entropie"], "Did you mean 'entropy'?"),
    ],
)
def test_mistakes_are_named(flags: list[str], message: str, tmp_path: Path) -> None:
    assert message in refused("eval", *flags, "-m", "zoo:tiny-reason", "--runs", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", ["zoo:tiny-reason", "./no-such-folder"])
def test_a_broken_file_is_named_before_a_model_is_looked_at(model: str, tmp_path: Path) -> None:
    (tmp_path / "gsm8k.jsonl").write_text('{"question": "Two?", "answer": "#### 2"}\n' * 6 + "{bad\n")
    flags = ["-m", model, "--data", tmp_path, "--runs", tmp_path / "runs"]
    assert "gsm8k.jsonl, line 7: must be JSON" in refused("eval", "zoo:sudoku", "gsm8k", *flags)
    if model != "zoo:tiny-reason":  # the zoo's counterparts are not read from files
        assert "gsm8k.jsonl, line 7: must be JSON" in refused("reproduce", "table2", "--only", "gsm8k", *flags)
    assert not (tmp_path / "runs").exists()


def test_a_folder_is_one_model_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(infogain.zoo.__file__).parent / "weights")
    names = ("tiny-reason", "./tiny-reason", "./../weights/tiny-reason/")
    one, two, three = (describe(infogain.load(name)) for name in names)
    assert one == two
    assert one["fingerprint"] == three["fingerprint"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A model that chats, and the benchmark's file beside it."""
    folder = write_checkpoint(tmp_path / "model", "dream")
    edit(folder / "config.json", max_position_embeddings=256)
    (folder / "gsm8k.jsonl").write_text('{"question": "Two?", "answer": "#### 2"}\n' * 2)
    return folder


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def evaluated(folder: Path, *flags: object) -> str:
    """Evaluate one item; the name of the run that is then in the folder for runs beside the model."""
    runs = folder.parent / "runs"
    before = {each.name: len(each.items()) for each in list_runs(runs)}
    asked = ("eval", "gsm8k", "-m", folder, "--data", folder, "--runs", runs, "--device", "cpu")
    ok(*asked, "--limit", 1, "--seeds", 1, "--length", 4, "--sampler", "entropy", "--block", 4, "-k", 4, *flags)
    after = {each.name: len(each.items()) for each in list_runs(runs)}
    assert all(after[name] == lines == 1 for name, lines in before.items())
    new = set(after) - set(before)
    return new.pop() if new else ""


def grown(folder: Path, model: str) -> str:
    """What a command says that asks for one item more."""
    asked = ("eval", "gsm8k", "-m", model, "--data", folder, "--runs", folder.parent / "runs", "--device", "cpu")
    recipe = ("--seeds", 1, "--length", 4, "--sampler", "entropy", "--block", 4, "-k", 4)
    return ok(*asked, *recipe, "--limit", 2)


def test_the_default_cache_and_the_same_one_asked_for_are_one_run(checkpoint: Path) -> None:
    assert evaluated(checkpoint)
    assert not evaluated(checkpoint, "--cache", "dual")
    assert not evaluated(checkpoint, "--cache", "dual", "--refresh", 1)
    assert not evaluated(checkpoint, "--dtype", "float32")
    assert evaluated(checkpoint, "--cache", "none")
    assert evaluated(checkpoint, "--refresh", 2)
    assert evaluated(checkpoint, "--dtype", "bfloat16")


def test_a_model_is_one_run_however_its_folder_is_called(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluated(checkpoint)
    monkeypatch.chdir(checkpoint.parent)
    shutil.copytree(checkpoint, "other/big")
    for spelling in ("./model", "model/../model", checkpoint.parent / "other" / "big"):
        assert not evaluated(checkpoint, "-m", spelling)
    assert f"→ {checkpoint.parent / 'runs' / first}" in grown(checkpoint, "other/big")
    (made,) = list_runs(checkpoint.parent / "runs")
    assert made.name == first
    assert made.about["provenance"]["model"] == str(checkpoint)
    assert [line.get("provenance", {}).get("model") for line in made.items()] == [None, "other/big"]
    assert f"model: {checkpoint} → other/big" in ok("results", first, "--limit", 2, "--runs", "runs")
    ok("results", first, "--page", "run.html", "--runs", "runs")
    assert f"model: {checkpoint} → other/big" in Path("run.html").read_text()


def test_a_model_edited_anywhere_begins_another_run(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkpoint.parent / "cache"))
    monkeypatch.setattr("infogain.evals.fingerprint.SMALL", 1000)
    assert evaluated(checkpoint, "--style", "plain")
    assert not evaluated(checkpoint, "--style", "plain")
    words = json.loads((checkpoint / "vocab.json").read_text())
    edit(checkpoint / "vocab.json", q=words["Z"], Z=words["q"])  # which no prompt holds; a text may
    assert evaluated(checkpoint, "--style", "plain")
    settings = json.loads((checkpoint / "tokenizer_config.json").read_text())
    edit(checkpoint / "tokenizer_config.json", chat_template="{{ 'Be brief.' }}" + settings["chat_template"])
    assert evaluated(checkpoint, "--style", "plain")
    (weights,) = checkpoint.glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[len(content) * 3 // 4] ^= 1
    weights.write_bytes(content)
    assert evaluated(checkpoint, "--style", "plain")


def test_a_bad_line_is_decoded_again_by_the_same_command(tmp_path: Path) -> None:
    asked = ("eval", "zoo:countdown", "--limit", 3, "--seeds", 1, "--sampler", "entropy", "-k", 6, "--runs", tmp_path)
    ok(*asked)
    (made,) = list_runs(tmp_path)
    before, file = made.items(), made.folder / "items.jsonl"
    first, second, third = file.read_text().splitlines(keepends=True)
    file.write_text(first + second[:30] + "\n" + third)
    command = [sys.executable, "-m", "infogain", "results", "--runs", str(tmp_path)]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert listed.returncode == 0
    assert "2 of 3" in listed.stdout
    assert listed.stderr.count(f"{file}, line 2: must be a line that an evaluation wrote") == 1
    ok(*asked)
    after = {json.dumps({**line, "seconds": 0}) for line in made.items()}
    assert after == {json.dumps({**line, "seconds": 0}) for line in before}
    assert (made.folder / "items.bad").read_text() == second[:30] + "\n"


def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("eval", "zoo:countdown", "zoo:sudoku", "--limit", 2, "--seeds", 1, "--sampler", "entropy", "-k", 6)

    def breaks(plan: Plan, *rest: Any, **more: Any) -> Iterator[Any]:
        yield next(evaluate(plan, *rest, **more))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module("infogain.cli.eval"), "evaluate", breaks)
        stopped = run(*asked, "--batch-size", 1, "--runs", tmp_path)
    assert stopped.exit_code == 130
    assert f"Kept: 1 of 4 texts in {tmp_path}. The same command goes on from there." in stopped.stderr
    ok(*asked, "--batch-size", 1, "--runs", tmp_path)
    assert [len(each.items()) for each in list_runs(tmp_path)] == [2, 2]


def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.e2e.kills", str(tmp_path), "--kills", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["equal"]
    assert len(report["after"]) == 4
    assert 0 < report["after"][-1] < report["lines"] == 36
