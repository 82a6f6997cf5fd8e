"""Runs on disk: they go on where they stopped, one writer at a time, and another recipe is another run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infogain import InfoGainError
from infogain.evals.identity import hash_of, identity
from infogain.evals.listing import listing
from infogain.evals.run_comparison import compare
from infogain.evals.run_lines import read_lines, set_aside
from infogain.evals.runs import ITEMS, RUN, Run, find_run, list_runs, run_name, wanted

ABOUT: dict[str, Any] = {
    "version": 2,
    "task": "zoo:sudoku",
    "model": {"name": "zoo:tiny-reason", "fingerprint": "a", "tokenizer": "t"},
    "protocol": {"shots": 0, "style": "infill", "seeds": 1, "limit": 3},
    "recipe": {"sampler": {"name": "entropy"}, "schedule": {"name": "tokens", "k": 1}, "seed": 0},
    "frequencies": None,
    "data": {"source": "drawn", "fingerprint": "b", "prompts": "p", "items": 3},
    "created": "2026-01-01T00:00:00+00:00",
}


def line(item: int, seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "key": {"task": "zoo:sudoku", "item": str(item), "seed": seed, "recipe": "r"},
        "score": 1,
        "prompt": "S12__",
        "text": "é\u2028\ud800",  # what JSON, or a reader of lines, may stumble over
        "answer": None,
        "gold": "any grid",
        "cumulative_entropy": 0.5,
        "forwards": 2,
        "token_forwards": 20,
        "committed": 2,
        "choices": None,
        "bypassed": None,
        "seconds": 0.5,
        "seed": 7,
        "finish": "length",
        **more,
    }


def write(run: Run, *lines: dict[str, Any], about: dict[str, Any] = ABOUT) -> None:
    with run.writing(about) as add:
        for each in lines:
            add(each)


def shown(run: Run, column: str) -> str:
    table = listing([run])
    return table.rows[0][table.columns.index(column)]


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    run = Run(tmp_path / "x")
    write(run, line(0), line(1))
    write(run, line(2))
    assert Run.open(tmp_path / "x").items() == [line(0), line(1), line(2)]
    assert run.about == ABOUT


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_half_written_line_is_passed_over_and_then_cut_off(cut: int, tmp_path: Path) -> None:
    run = Run(tmp_path)
    write(run, line(0), line(1))
    whole = (tmp_path / ITEMS).read_bytes()
    (tmp_path / ITEMS).write_bytes(whole[:-cut])
    assert run.items() == [line(0)]
    write(run, line(1))
    assert (tmp_path / ITEMS).read_bytes() == whole


LACKS_SCORE = {name: value for name, value in line(1).items() if name != "score"}
BAD = {
    "not JSON": b"{",
    "cut in the middle": json.dumps(line(1)).encode()[:40],
    "null bytes": b"\0" * 64,
    "null bytes in front": b"\0\0" + json.dumps(line(1)).encode(),
    "not UTF-8": json.dumps(line(1)).encode().replace(b"S12", b"\xff\xfe"),
    "two lines run together": json.dumps(line(1)).encode()[:40] + json.dumps(line(2)).encode(),
    "a list": b"[1]",
    "nested too deep": b"[" * 100_000,
    "empty": b"",
    "no key": b'{"score": 1}',
    "no score": json.dumps(LACKS_SCORE).encode(),
    "a score that is a text": json.dumps(line(1, score="1")).encode(),
    "a score of two": json.dumps(line(1, score=2)).encode(),
    "an entropy that is none": json.dumps(line(1, cumulative_entropy=float("nan"))).encode(),
    "an item that is a number": json.dumps(line(1, key={"item": 1, "seed": 0})).encode(),
    "a prompt that is neither": json.dumps(line(1, prompt=[{"role": "user"}])).encode(),
    "a trace that is no path": json.dumps(line(1, trace=3)).encode(),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_line_is_named_left_out_and_written_anew(
    bad: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(tmp_path)
    write(run, line(0), line(1), line(2))
    first, _, last = (tmp_path / ITEMS).read_bytes().splitlines(keepends=True)
    (tmp_path / ITEMS).write_bytes(first + bad + b"\n" + last)
    assert Run.open(tmp_path).items() == [line(0), line(2)]
    assert [f"{tmp_path / ITEMS}, line 2: must be a line" in said for said in caplog.messages] == [True]
    assert run.done() == {("0", 0), ("2", 0)}
    write(run, line(1))
    assert Run.open(tmp_path).items() == [line(0), line(2), line(1)]
    assert (tmp_path / "items.bad").read_bytes() == bad + b"\n"
    assert "line 2" in caplog.messages[-1]
    assert "moved to items.bad" in caplog.messages[-1]


def test_killed_while_a_bad_line_is_moved_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path)
    write(run, line(0))
    with (tmp_path / ITEMS).open("ab") as file:
        file.write(b"{\n")

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("infogain.evals.run_lines.os.replace", killed)
        with pytest.raises(SystemExit):
            set_aside(tmp_path / ITEMS, read_lines(tmp_path / ITEMS).bad, tmp_path / "items.bad")
    assert (tmp_path / ITEMS).read_bytes().endswith(b"{\n")
    write(run, line(1))
    assert Run.open(tmp_path).items() == [line(0), line(1)]
    assert (tmp_path / "items.bad").read_bytes() == b"{\n{\n"


def test_a_fault_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(tmp_path)
    write(run, line(0))
    with (tmp_path / ITEMS).open("ab") as file:
        file.write(b"{\n" * 9)
    for _ in range(3):
        assert len(run.items()) == 1
    assert len(caplog.messages) == 6
    assert "4 more lines" in caplog.messages[-1]


def test_of_two_lines_for_one_item_and_seed_the_first_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(tmp_path)
    write(run, line(0), line(0, score=0), line(0, seed=1, score=0), line(0, score=0))
    assert run.items() == [line(0), line(0, seed=1, score=0)]
    assert caplog.messages == [f"{tmp_path / ITEMS}: 2 lines repeat an item and seed; the first of each counts."]
    other = Run(tmp_path / "other")
    write(other, line(0), line(0, seed=1), line(0))
    other.items()
    assert "1 line repeats an item and seed" in caplog.messages[-1]
    assert compare(run, other).texts == 2
    found = compare(run, other).accuracy
    assert found
    assert found.first == 0.5
    assert shown(run, "pass@1") == "50.0"


def test_a_changed_recipe_is_another_run_and_more_seeds_are_the_same_one(tmp_path: Path) -> None:
    run = Run(tmp_path / run_name(ABOUT))
    assert run.name.startswith("zoo-sudoku-tiny-reason-entropy-")
    write(run, line(0))
    more = {**ABOUT, "protocol": {**ABOUT["protocol"], "seeds": 5, "limit": None}, "created": "later"}
    assert run_name(more) == run.name
    write(run, line(0, seed=1), about=more)
    write(run, about=ABOUT)  # fewer again: what is there stays, and run.json says so
    assert run.about == {**ABOUT, "protocol": more["protocol"]}
    others = (
        {"recipe": {**ABOUT["recipe"], "seed": 1}},
        {"model": {"name": "m"}},
        {"model": {**ABOUT["model"], "tokenizer": "u"}},
        {"task": "zoo:countdown"},
        {"data": {**ABOUT["data"], "prompts": "q"}},
        {"frequencies": "f"},
        {"version": 1},
    )
    for part in others:
        other = {**ABOUT, **part}
        assert run_name(other) != run.name
        with pytest.raises(InfoGainError, match="tells of another run"):
            write(run, about=other)
    assert len(run.items()) == 2
    assert identity(ABOUT) == identity(json.loads(json.dumps(ABOUT)))
    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})


def test_a_model_of_known_content_is_one_run_whatever_it_is_called(tmp_path: Path) -> None:
    def named(name: str, **more: str) -> dict[str, Any]:
        return {**ABOUT, "model": {**ABOUT["model"], "name": name, **more}}

    first = find_run(tmp_path, ABOUT)
    write(first, line(0))
    for other in (named("./tiny-reason"), named("/else/big"), named("org/big", revision="main")):
        assert identity(other) == identity(ABOUT)
        assert find_run(tmp_path, other) == first
        write(find_run(tmp_path, other), about=other)
    assert first.about == ABOUT
    (tmp_path / f"a-copy-of-{first.name}").mkdir()
    assert find_run(tmp_path, ABOUT) == first
    assert find_run(tmp_path, named("big", fingerprint="b")).name != first.name
    by_hand = [identity({**ABOUT, "model": {"name": name}}) for name in ("One", "Two")]
    assert len(set(by_hand)) == 2  # there is nothing else to know them by


def test_a_line_that_was_made_otherwise_than_the_run_began_says_so(tmp_path: Path) -> None:
    run, begun, later = Run(tmp_path), {"device": "cpu", "engine": "eager"}, {"device": "cuda", "engine": "graphs"}
    for number, made in enumerate((begun, later, begun)):
        write(run, line(number), about={**ABOUT, "provenance": made})
    assert run.about["provenance"] == begun
    assert [each.get("provenance") for each in run.items()] == [None, later, None]


def test_runs_are_listed_the_oldest_first_and_other_folders_left_out(tmp_path: Path) -> None:
    write(Run(tmp_path / "a"), about={**ABOUT, "created": "2026-02"})
    write(Run(tmp_path / "b"), about={**ABOUT, "created": "2026-01"})
    (tmp_path / "c").mkdir()
    assert [run.name for run in list_runs(tmp_path)] == ["b", "a"]


def test_a_run_that_cannot_be_read_is_named_and_the_others_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(Run(tmp_path / "good"))
    broken = {
        "cut": json.dumps(ABOUT)[:50].encode(),
        "bytes": b"\xff\xfe",
        "list": b"[]",
        "unversioned": json.dumps({name: value for name, value in ABOUT.items() if name != "version"}).encode(),
        "nameless": json.dumps({**ABOUT, "model": {}}).encode(),
        "timeless": json.dumps({name: value for name, value in ABOUT.items() if name != "created"}).encode(),
        "limited": json.dumps({**ABOUT, "protocol": {"seeds": 1, "limit": "x"}}).encode(),
        "later": json.dumps({**ABOUT, "version": 3}).encode(),
    }
    for name, text in broken.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN).write_bytes(text)
    assert [run.name for run in list_runs(tmp_path)] == ["good"]
    assert sorted(broken) == [Path(said.split()[2]).parent.name for said in caplog.messages]
    for name in broken:
        with pytest.raises(InfoGainError, match=rf"{name}/run\.json"):
            Run.open(tmp_path / name)
        with pytest.raises(InfoGainError, match=rf"{name}/run\.json"):
            write(Run(tmp_path / name), line(0))


def test_runs_of_the_first_version_are_read_and_never_gone_on_with(tmp_path: Path) -> None:
    """They lack what tells a template or a tokenizer from another."""
    old = {name: value for name, value in ABOUT.items() if name != "frequencies"}
    old |= {"version": 1, "model": {"name": "m"}, "data": {"source": "drawn", "fingerprint": "b", "items": 3}}
    write(Run(tmp_path / "old"), line(0), about=old)
    (listed,) = list_runs(tmp_path)
    assert shown(listed, "texts") == "1 of 3"
    new = {**old, "version": 2}
    assert run_name(new) != run_name(old)
    with pytest.raises(InfoGainError, match="tells of another run"):
        write(Run(tmp_path / "old"), line(1), about=new)
    assert listed.items() == [line(0)]


def test_pcs_table_is_known_by_its_content_whatever_its_file_is_called() -> None:
    def with_table(path: str, content: str) -> dict[str, Any]:
        pc = {"name": "best-of-n", "base": {"name": "pc", "frequencies": path}}
        return {**ABOUT, "recipe": {**ABOUT["recipe"], "sampler": pc}, "frequencies": content}

    one = with_table("a.json", "x")
    assert identity(one) == identity(with_table("./a.json", "x"))
    assert identity(one) != identity(with_table("a.json", "y"))


def test_what_is_wanted_of_a_run() -> None:
    def about(**protocol: Any) -> dict[str, Any]:
        return {**ABOUT, "protocol": {**ABOUT["protocol"], **protocol}}

    assert wanted(about(limit=2, seeds=5)) == 10
    assert wanted(about(limit=None, seeds=2)) == wanted(about(limit=100, seeds=2)) == 6


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfoGainError, match=r"a run is a folder with run.json; .*No such file"):
        Run.open(tmp_path)
    wrong = {
        "{": "must be JSON",
        "[]": "must be a table",
        '{"version": 2}': "task is missing",
        json.dumps({**ABOUT, "version": 3}): "of version 1 or 2; got 3",
    }
    for text, message in wrong.items():
        (tmp_path / RUN).write_text(text)
        with pytest.raises(InfoGainError, match=message):
            Run.open(tmp_path)


def test_runs_are_written_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    write(Run(tmp_path), line(0))
    assert Run.open(tmp_path).items() == [line(0)]


def test_a_second_writer_is_refused_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    program = (
        "import sys, json; from pathlib import Path; from infogain.evals.runs import Run\n"
        "with Run(Path(sys.argv[1])).writing(json.loads(sys.argv[2])) as add:\n"
        "    add(json.loads(sys.argv[3])); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path), json.dumps(ABOUT), json.dumps(line(1))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(InfoGainError, match="another is at work on"):
            write(Run(tmp_path), line(0))
        assert Run.open(tmp_path).items() == [line(1)]  # reading waits for nobody
        other.kill()
    write(Run(tmp_path), line(0))
    assert len(Run.open(tmp_path).items()) == 2
