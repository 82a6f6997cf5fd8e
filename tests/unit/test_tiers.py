"""CI runs every tier that a machine can run, names the others, and fails if one that ran failed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tools.tiers import TIERS, main

ROOT = Path(__file__).parents[2]


def ci(
    folder: Path, *, fails: str = "none", absent: str = "none", broken: str = "none"
) -> subprocess.CompletedProcess[str]:
    """Run .ci/run where `make` and the question whether a tier can run are stubs."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    python = f'case "$2" in {absent}) echo "$2: no such device"; exit 3 ;; {broken}) exit 1 ;; esac'
    make = f'echo "made $1"; [ "$1" != "{fails}" ]'
    for path, body in ((".venv/bin/python", python), ("bin/make", make)):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(f"#!/bin/sh\n{body}\n")
        (folder / path).chmod(0o755)
    path = f"{folder}/bin:/usr/bin:/bin"
    return subprocess.run([folder / ".ci" / "run"], env={"PATH": path}, capture_output=True, text=True)


def made(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^made (.*)", done.stdout, flags=re.MULTILINE)


def test_every_tier_runs_after_the_fast_one(tmp_path: Path) -> None:
    done = ci(tmp_path)
    assert done.returncode == 0
    assert made(done) == ["test", *TIERS]


def test_a_tier_that_cannot_run_is_named_with_the_reason(tmp_path: Path) -> None:
    done = ci(tmp_path, absent="test-gpu")
    assert done.returncode == 0
    assert "test-gpu: no such device" in done.stdout
    assert made(done) == ["test", *[tier for tier in TIERS if tier != "test-gpu"]]


@pytest.mark.parametrize("fails", ["test", *TIERS])
def test_a_tier_that_fails_fails_the_whole_after_all_have_run(tmp_path: Path, fails: str) -> None:
    done = ci(tmp_path, fails=fails)
    assert done.returncode != 0
    assert made(done) == ["test", *TIERS]
    assert done.stdout.rstrip().endswith(fails)


def test_not_knowing_whether_a_tier_can_run_is_a_failure(tmp_path: Path) -> None:
    done = ci(tmp_path, broken="test-sandbox")
    assert done.returncode != 0
    assert "test-sandbox" not in made(done)


def test_every_tier_has_its_target_and_its_folder_is_left_out_or_skipped_by_the_fast_one() -> None:
    targets = re.findall(
        r"^(test-[a-z]+):.*\n\t@\$\(BIN\)/python tools/tiers.py \$@\n", (ROOT / "Makefile").read_text(), re.M
    )
    assert targets == list(TIERS)


@pytest.mark.parametrize("names", [(), ("bogus",), ("test-gpu", "test-sandbox")])
def test_a_tier_that_there_is_not_is_answered_by_those_there_are(names: tuple[str, ...]) -> None:
    known = "test-sandbox, test-endurance, test-interpreted, test-gpu, test-coverage"
    said = f"tiers.py takes one of {known}; got {' '.join(names) or 'none'}."
    with pytest.raises(SystemExit, match=f"^{re.escape(said)}$"):
        main(*names)


def test_what_is_absent_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TIERS, "test-gpu", lambda: "there is no CUDA device")
    with pytest.raises(SystemExit, match="3"):
        main("test-gpu")
    assert capsys.readouterr().out == "test-gpu: there is no CUDA device; nothing of it was tested\n"
    monkeypatch.setitem(TIERS, "test-gpu", lambda: None)
    main("test-gpu")
