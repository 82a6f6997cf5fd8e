"""Prompts in and texts out of `generate` and `infill`: encodings, fields of a prompt, files that go on."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infogain.cli import main
from infogain.cli.resumable_file import json_line
from infogain.generate import Generation, decode_job
from infogain.samplers.frequencies import find_table
from tests.e2e.test_cli import ok, refused, run
from tests.parity.checkpoints import write_checkpoint

ZOO = ["-m", "zoo:tiny-reason", "--sampler", "entropy", "-k", 4]
PROMPTS = ["C24,13,6=31:", "S14", "C1,2,3=6:"]


@pytest.fixture(scope="module")
def llada(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("models") / "llada", "llada")


def lines(text: str) -> dict[int, dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    return {line["number"]: line for line in found}


def piped(*arguments: object, input: bytes | None = None, charset: str = "utf-8") -> bytes:
    result = CliRunner(charset=charset).invoke(main, [str(a) for a in arguments], input=input)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


# encodings


def test_a_byte_order_mark_is_no_part_of_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes("\ufeffS14\n".encode())
    assert lines(ok("generate", "--file", tmp_path / "p.txt", "--length", 2, *ZOO))[0]["prompt"] == "S14"
    assert json.loads(piped("generate", "--length", 2, *ZOO, input="\ufeffS14\n".encode()))["prompt"] == "S14"


@pytest.mark.parametrize("charset", ["latin-1", "ascii", "utf-8"])
def test_json_lines_load_back_whatever_the_terminals_encoding(charset: str, llada: Path) -> None:
    said = "naïve 日本 🙂 the cat"
    out = piped("generate", "-m", llada, "--plain", "--length", 2, input=f"{said}\n".encode(), charset=charset)
    assert json.loads(out.decode(charset))["prompt"] == said


def test_a_line_of_json_loses_nothing() -> None:
    for text in ("naïve", "日本", "\u2028", "half a pair: \ud83d", "\x1b[31m"):
        for encoding in ("utf-8", "latin-1", "ascii"):
            raw = json_line({"text": text}, encoding).encode(encoding)
            assert json.loads(raw.decode(encoding)) == {"text": text}
            assert len(raw.decode(encoding).splitlines()) == 1


def test_only_newlines_end_a_prompt(tmp_path: Path, llada: Path) -> None:
    """Python's splitlines would also split at U+2028 and its like, which JSON writes as they are."""
    said = ["a\u2028b", "c\u0085d"]
    text = json.dumps({"prompt": said[0]}, ensure_ascii=False) + "\r\n" + said[1] + "\n"
    (tmp_path / "p.jsonl").write_text(text, newline="")
    found = lines(ok("generate", "--file", tmp_path / "p.jsonl", "-m", llada, "--plain", "--length", 1))
    assert [found[i]["prompt"] for i in (0, 1)] == said


def test_what_is_no_utf_8_is_one_clear_line() -> None:
    raw = CliRunner().invoke(main, ["generate", "-m", "nowhere"], input=b"caf\xe9\n")
    assert (raw.exit_code, raw.stderr.count("\n")) == (2, 1)
    assert "standard input must be UTF-8 text" in raw.stderr
    argument = run("generate", "caf\udce9", "-m", "nowhere")
    assert (argument.exit_code, argument.stderr.count("\n")) == (2, 1)
    assert "an argument must be UTF-8" in argument.stderr
    assert "half of a surrogate pair" in refused("generate", "-m", "nowhere", input='{"prompt": "\\ud83d"}')


# what a prompt may say of itself


def test_a_prompt_brings_its_own_length_seed_and_id() -> None:
    asked = [
        {"prompt": "S14", "id": "first", "length": 3, "seed": 7},
        {"prompt": "S14", "id": 2},
        {"prompt": "S14", "length": 5},
    ]
    found = lines(ok("generate", *ZOO, "--length", 4, input="\n".join(map(json.dumps, asked))))
    assert [found[i]["committed"] for i in range(3)] == [3, 4, 5]
    assert [found[i].get("id") for i in range(3)] == ["first", 2, None]
    assert found[0]["seed"] == 7
    plain = lines(ok("generate", *ZOO, *["S14"] * 3))
    assert [found[i]["seed"] for i in (1, 2)] == [plain[i]["seed"] for i in (1, 2)]
    (filled,) = lines(ok("infill", *ZOO, input='{"prompt": "S14_", "id": "x", "seed": -1}')).values()
    assert (filled["id"], filled["seed"]) == ("x", -1)


@pytest.mark.parametrize(
    ("command", "prompt", "said"),
    [
        ("generate", {"prompt": "S14", "lenght": 3}, "field of a prompt 'lenght' in standard input, line 1. Did you"),
        ("generate", {"prompt": "S14", "temperature": 3}, "unknown field of a prompt 'temperature'"),
        ("generate", {"prompt": "S14", "length": 0}, "length must be a whole number of at least 1; got 0"),
        ("generate", {"prompt": "S14", "length": True}, "length must be a whole number"),
        ("generate", {"prompt": "S14", "seed": 2**63}, "seed must be a whole number of 64 bits"),
        ("generate", {"prompt": "S14", "id": ["x"]}, "id must be a text or a whole number"),
        ("generate", {"prompt": "S14", "messages": [{"role": "user", "content": "a"}]}, "it has both"),
        ("infill", {"prompt": "S14_", "length": 3}, "unknown field of a prompt 'length'"),
        ("drift", {"prompt": "S14", "id": 3}, "unknown field of a prompt 'id'"),
    ],
)
def test_other_fields_are_refused(command: str, prompt: dict[str, Any], said: str) -> None:
    assert said in refused(command, "-m", "nowhere", input=json.dumps(prompt))


# infill


def test_a_space_left_out_before_a_hole_is_said_once(llada: Path) -> None:
    flags = ["-m", llada, "--sampler", "entropy"]
    result = run("infill", "the [MASK] sat [MASK:2]", "a [MASK]", *flags)
    assert result.exit_code == 0
    assert result.stderr.count("note: 3 spaces before holes are left out") == 1
    assert "note: 1 space before a hole is left out" in run("infill", "the [MASK] sat", *flags).stderr
    assert "left out" not in run("infill", "the[MASK] sat", *flags).stderr
    assert "left out" not in run("infill", "S14_[MASK]", *ZOO).stderr
    assert "a space that stands before a hole is left out" in " ".join(ok("infill", "--help").split())


def test_infill_writes_as_generate_does(tmp_path: Path) -> None:
    out, traces = tmp_path / "filled.jsonl", tmp_path / "traces"
    command = ["infill", "S14__", "S2[MASK:3]", *ZOO, "--out", out, "--traces", traces]
    ok(*command)
    assert [line["text"][:2] for line in lines(out.read_text()).values()] == ["S1", "S2"]
    assert {path.name for path in traces.iterdir()} == {"0000.jsonl", "0001.jsonl"}
    kept = lines(out.read_text())
    assert all(line.pop("made_by") for line in kept.values())  # in files alone: it takes a reading of the weights
    assert lines(ok(*command[:-4])) == kept  # into a pipe
    assert "2 of 2 texts are there and kept" in run(*command).stderr


# files that go on


def broken_off(after: int, how: type[BaseException]) -> Any:
    """A stream that ends in the middle."""

    def some(*arguments: Any) -> Iterator[tuple[int, Generation]]:
        for count, finished in enumerate(decode_job(*arguments)):
            if count == after:
                raise how
            yield finished

    return some


def test_a_file_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, whole = tmp_path / "texts.jsonl", tmp_path / "whole.jsonl"
    command = ["generate", *PROMPTS, *ZOO, "--length", 6, "--batch-size", 1]
    ok(*command, "--out", whole)
    with monkeypatch.context() as patch:
        patch.setattr(
            importlib.import_module("infogain.cli.text_output"), "decode_job", broken_off(1, KeyboardInterrupt)
        )
        result = run(*command, "--out", out)
    assert result.exit_code == 130
    assert f"interrupted. Kept: 1 of 3 texts in {out}. The same command goes on from there." in result.stderr
    assert "Traceback" not in result.output
    first = out.read_text()
    again = run(*command, "--out", out)
    assert f"{out}: 1 of 3 texts are there and kept." in again.stderr
    assert out.read_text().startswith(first)
    assert lines(out.read_text()) == lines(whole.read_text())


def test_a_line_that_was_cut_short_is_decoded_again(tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    command = ["generate", *PROMPTS, *ZOO, "--length", 6, "--batch-size", 1, "--out", out]
    ok(*command)
    whole = out.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in (last, last + 1, last + 30, len(whole) - 1):  # as kill −9 may leave it
        out.write_bytes(whole[:cut])
        assert "2 of 3 texts are there and kept." in run(*command).stderr
        assert out.read_bytes() == whole


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--seed", 1], "the seed was"),
        (["--sampler", "margin"], "recipe.sampler.name was 'entropy' and is 'margin' now"),
        (["--length", 7], "of text 0 the length, the chat template or the system message is another now"),
        (["--stop", "9"], "the stop was [] and is ['9'] now"),
        (["--ignore-eos"], "recipe.eos_ids was"),
        (["--cache", "dual"], "provenance.cache was 'none' and is 'dual' now"),
    ],
)
def test_texts_of_another_setting_are_not_mixed(changed: list[object], said: str, tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    command = ["generate", "S14", *ZOO, "--length", 6, "--out", out]
    ok(*command)
    kept = out.read_text()
    message = refused(*command, *changed)
    assert said in message
    assert "would be lost" in message
    assert "add --overwrite" in message
    assert out.read_text() == kept
    ok(*command, *changed, "--overwrite")
    assert out.read_text() != kept


MADE_BY = "of text 0 the model's weights or tokenizer, or pc's table, are others now"


def test_texts_of_two_models_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    folder, out = write_checkpoint(tmp_path / "model", "llada"), tmp_path / "texts.jsonl"
    flags = ["-m", folder, "--plain", "--length", 2, "--out", out]
    ok("generate", "the cat", "a mat", *flags)
    kept = out.read_text()
    (weights,) = folder.glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[-3] ^= 1
    weights.write_bytes(content)
    assert MADE_BY in refused("generate", "the cat", "a mat", "the dog", *flags)
    assert out.read_text() == kept
    content[-3] ^= 1
    weights.write_bytes(content)
    assert "2 of 3 texts are there and kept" in run("generate", "the cat", "a mat", "the dog", *flags).stderr


def test_texts_of_two_tables_of_pc_are_not_mixed(tmp_path: Path) -> None:
    table, copy, out = tmp_path / "table.json", tmp_path / "copy.json", tmp_path / "filled.jsonl"
    table.write_bytes(find_table("zoo:tiny-reason").read_bytes())
    copy.write_bytes(table.read_bytes())
    flags = ["-m", "zoo:tiny-reason", "--sampler", "pc", "--out", out]
    ok("infill", "S14__", *flags, "--frequencies", table)
    again = run("infill", "S14__", "S2[MASK:3]", *flags, "--frequencies", copy)
    assert "1 of 2 texts are there and kept" in again.stderr  # the same table by another name
    held = json.loads(copy.read_text())
    copy.write_text(json.dumps({**held, "counts": {**held["counts"], "3": held["counts"]["3"] + 1}}))
    assert MADE_BY in refused("infill", "S14__", "S2[MASK:3]", *flags, "--frequencies", copy)


def test_a_model_is_the_same_however_its_folder_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path / "one", "llada")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    monkeypatch.chdir(tmp_path)
    flags = ["--plain", "--length", 2, "--out", "texts.jsonl"]
    ok("generate", "the cat", *flags, "-m", "one")
    for name in ("./one", tmp_path / "one", "two"):
        assert "1 of 1 texts are there and kept" in run("generate", "the cat", *flags, "-m", name).stderr


def test_a_file_without_hashes_of_the_model_is_not_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    out.write_text(ok("generate", "S14", *ZOO, "--length", 2))
    assert "the made_by was 'unset'" in refused("generate", "S14", *ZOO, "--length", 2, "--out", out)


def test_prompts_may_be_added_but_not_changed(tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    flags = [*ZOO, "--length", 4, "--out", out]
    ok("generate", *PROMPTS[:2], *flags)
    assert "the prompt was 'S14' and is 'S23' now" in refused("generate", PROMPTS[0], "S23", *flags)
    assert "it holds a text 1, and prompts now end before that" in refused("generate", PROMPTS[0], *flags)
    assert "2 of 3 texts are there and kept" in run("generate", *PROMPTS, *flags).stderr
    assert set(lines(out.read_text())) == {0, 1, 2}


@pytest.mark.parametrize("held", ["a poem", "a poem\n", '{"kind": "header"}\n', '{"number": 0, nonsense}\n', "[1]\n"])
def test_a_file_of_others_is_never_touched(held: str, tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    out.write_text(held)
    assert "line 1 is no text of ours" in refused("generate", "S14", "-m", "nowhere", "--out", out)
    assert out.read_text() == held


def test_traces_belong_to_texts_that_are_kept(tmp_path: Path) -> None:
    out, traces = tmp_path / "texts.jsonl", tmp_path / "traces"
    command = ["generate", *PROMPTS[:2], *ZOO, "--length", 4, "--out", out]
    ok(*command)
    assert "text 0 has no trace yet" in refused(*command, "--traces", traces)
    ok(*command, "--traces", traces, "--overwrite")
    out.write_text(out.read_text().splitlines(keepends=True)[0])
    ok(*command, "--traces", traces)
    assert len(out.read_text().splitlines()) == 2


def test_a_file_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "texts.jsonl"
    with out.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another is at work on" in refused("generate", "S14", *ZOO, "--length", 2, "--out", out, "--overwrite")
