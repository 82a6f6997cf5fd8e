"""No command replaces a file unasked, and all ask in the same words."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from infogain.cli import main
from infogain.cli.output_files import check_record
from infogain.errors import InputError
from tests.e2e.test_cli import ok, refused, run

WRITES = ("--out", "--trace", "--traces", "--page", "--profile")
RESUMES = {"eval"}  # its runs are named by what was asked, and only ever added to
ASKED = "exists, and what it holds would be lost"


def test_every_command_that_writes_files_takes_overwrite() -> None:
    for name, command in main.commands.items():
        flags = [flag for option in command.params if isinstance(option, click.Option) for flag in option.opts]
        if name not in RESUMES and any(flag in WRITES for flag in flags):
            assert "--overwrite" in flags, name


def test_files_of_toy_and_view(tmp_path: Path) -> None:
    trace, result, page = (tmp_path / name for name in ("t.jsonl", "r.json", "p.html"))
    toy = ["toy", "parity", "--quiet", "--count", 1]
    for command, path in (
        ([*toy, "--trace", trace], trace),
        ([*toy, "--out", result], result),
        (["view", trace, "--out", page], page),
    ):
        ok(*command)
        path.write_bytes(held := path.read_bytes() + b"\n")
        assert ASKED in refused(*command)
        assert path.read_bytes() == held
        ok(*command, "--overwrite")
        assert path.read_bytes() != held


def test_a_record_of_the_same_question_is_made_anew_and_another_is_not_replaced(tmp_path: Path) -> None:
    path, about = tmp_path / "r.json", {"size": "small", "model": {"name": "tiny"}}
    check_record(path, about, overwrite=False)
    path.write_text(json.dumps({**about, "rows": []}))
    check_record(path, about, overwrite=False)
    with pytest.raises(InputError, match=r"r.json exists, .* \(it is of another size\)"):
        check_record(path, {**about, "size": "full"}, overwrite=False)
    check_record(path, {**about, "size": "full"}, overwrite=True)
    path.write_text("a poem")
    with pytest.raises(InputError, match=ASKED):
        check_record(path, about, overwrite=False)


@pytest.mark.parametrize(
    ("command", "name"),
    [(["study", "oneway", "--size", "small"], "oneway"), (["reproduce", "table2", "--limit", 1], "table2")],
)
def test_studies_and_tables_of_another_model_are_not_replaced(
    command: list[object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    held = json.dumps({"size": "small", "model": {"name": "another"}})
    (tmp_path / f"{name}.json").write_text(held)
    result = run(*command, "--out", tmp_path)
    assert result.exit_code == 2
    assert f"{ASKED} (it is of another model.name)" in result.stderr
    assert (tmp_path / f"{name}.json").read_text() == held
