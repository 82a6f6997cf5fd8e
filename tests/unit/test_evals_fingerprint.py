"""Fingerprints: every byte of a model counts, and large files are read once for each time they change."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import infogain
from infogain.evals import fingerprint as module
from infogain.evals.fingerprint import describe, fingerprint, tokenizer_fingerprint
from infogain.load import find_checkpoint
from infogain.studies import STUDIES
from infogain.studies.report_page import load_records
from infogain.studies.subject import Subject
from infogain.text.text_model import TextModel
from tests.parity.checkpoints import write_checkpoint

LONG_AGO = 10**18
SIZE = 5000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose weights count as large, were changed long ago, and are read in several parts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "SMALL", 1000)
    monkeypatch.setattr(module, "PART", 1024)
    monkeypatch.setattr(module, "FRESH", -1)  # this file was made a moment ago
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    write(tmp_path / "model" / "model.safetensors", bytes(SIZE))
    return tmp_path / "model"


def write(path: Path, content: bytes, time: int = LONG_AGO) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(time, time))


def changed(at: int) -> bytes:
    return bytes(at) + b"x" + bytes(SIZE - at - 1)


def entries(folder: Path) -> list[Path]:
    return sorted((folder.parent / "cache").rglob("*.*"))


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Fills up with the large files that are read."""
    done, read = list[Path](), module._read

    def watched(path: Path) -> bytes:
        done.append(path)
        return read(path)

    monkeypatch.setattr(module, "_read", watched)
    return done


@pytest.mark.parametrize("at", [0, SIZE // 2, SIZE - 1])
def test_a_byte_anywhere_in_large_weights_is_another_model(folder: Path, at: int) -> None:
    before = fingerprint(folder)
    write(folder / "model.safetensors", changed(at), LONG_AGO + 1)
    assert fingerprint(folder) != before
    write(folder / "model.safetensors", bytes(SIZE), LONG_AGO + 2)
    assert fingerprint(folder) == before


def test_a_large_file_is_read_once_for_each_time_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = reads(monkeypatch)
    first = fingerprint(folder)
    assert fingerprint(folder) == first
    assert len(done) == len(entries(folder)) == 1
    write(folder / "model.safetensors", changed(7))
    second = fingerprint(folder)  # the time it bears is as before: that of its entry in the file system is not
    assert second != first
    assert fingerprint(folder) == second
    assert len(done) == 2
    assert len(entries(folder)) == 1


def test_a_file_that_was_just_written_is_not_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may change once more within the same tick of the clock."""
    monkeypatch.setattr(module, "FRESH", 60 * 10**9)
    done = reads(monkeypatch)
    assert fingerprint(folder) == fingerprint(folder)
    assert len(done) == 2
    assert entries(folder) == []


def test_a_file_that_changes_while_it_is_read_is_not_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = module._read

    def changes(path: Path) -> bytes:
        digest = read(path)
        write(path, changed(1), LONG_AGO + 5)
        return digest

    with monkeypatch.context() as patch:
        patch.setattr(module, "_read", changes)
        before = fingerprint(folder)
    assert entries(folder) == []
    assert fingerprint(folder) != before


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\0", b"[" * 100_000, "flipped", "shorter"])
def test_a_damaged_cache_costs_time_only(folder: Path, damage: bytes | str, monkeypatch: pytest.MonkeyPatch) -> None:
    done, right = reads(monkeypatch), fingerprint(folder)
    (entry,) = entries(folder)
    if isinstance(damage, str):
        kept = json.loads(entry.read_text())
        wrong = {"flipped": kept["digest"][::-1], "shorter": kept["digest"][:-2]}[damage]
        damage = json.dumps({**kept, "digest": wrong}).encode()
    entry.write_bytes(damage)
    assert fingerprint(folder) == right
    assert fingerprint(folder) == right
    assert len(done) == 2


def test_a_cache_that_cannot_be_written_costs_time_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, right = reads(monkeypatch), fingerprint(folder)
    (folder.parent / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "file"))
    assert fingerprint(folder) == right
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which is to be ignored, and there is no home either
    monkeypatch.setattr(Path, "home", homeless)
    assert fingerprint(folder) == right
    assert len(done) == 3


def homeless() -> Path:
    raise RuntimeError("could not determine home directory")


def test_long_reading_says_how_far_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fingerprint(folder)
    assert caplog.messages == []
    shutil.rmtree(folder.parent / "cache")
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))  # a second for each part
    fingerprint(folder)
    (said,) = caplog.messages
    assert said.startswith(f"hashing {folder / 'model.safetensors'}: 0.0 of 0.0 GB")


def test_the_zoos_model_is_the_one_that_the_results_are_of() -> None:
    """Small models keep the fingerprint they have always had, and studies the cells they have finished."""
    results = Path(__file__).parents[2] / "docs" / "results"
    first = "810053f8cba7ed7f59014c42"
    known = {
        "zoo:tiny-reason": "f7395ed626cba760bd81788a",
        "zoo:tiny-tales": "1820c008fcda3813fa34f6eb",
        "zoo:tiny-molecule": "36b96834752eaf04fb261287",
    }
    assert {name: fingerprint(find_checkpoint(name)) for name in known} == known
    known["zoo:tiny-image"] = "044e9609d945cadde03b3a20-f37255b9ed64c43e566a969b"  # its model's, and its codec's
    assert Subject("zoo:tiny-image", "cpu").fingerprint == known["zoo:tiny-image"]
    found = {record["study"]: record["model"]["fingerprint"] for record in load_records(results)}
    assert found == {name: known[STUDIES[name].model] for name in found}
    assert len(found) == len([*results.glob("*.json.gz")]) > 20
    assert {record["model"]["fingerprint"] for record in load_records(results / "first-edition")} == {first}


def test_a_model_put_together_by_hand_is_described_by_its_class() -> None:
    by_hand = TextModel(*infogain.load("zoo:tiny-reason", device="cpu"))
    assert describe(by_hand) == {"name": "Backbone", "dtype": "float32", "cache": "none", "refresh": 1}


def test_every_file_that_weights_are_read_from_counts(folder: Path) -> None:
    seen = {fingerprint(folder)}
    for name in ("pytorch_model.bin", "model.safetensors.index.json", "model-00002-of-00002.safetensors"):
        (folder / name).write_text("{}")
        seen.add(fingerprint(folder))
    assert len(seen) == 4


@pytest.mark.parametrize("family", ["llada", "dream"])
def test_every_file_of_a_tokenizer_counts_and_no_other(family: str, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, family)
    before = tokenizer_fingerprint(folder)
    for name in ("config.json", "README.md", "trainer_state.json", "frequencies.json"):
        (folder / name).write_text("{}")
    assert tokenizer_fingerprint(folder) == before
    names = {
        "llada": [
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "additional_chat_templates/x.jinja",
        ],
        "dream": ["vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "tokenizer.model"],
    }
    seen = {before}
    for name in names[family]:
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("a") as file:
            file.write(" ")
        seen.add(tokenizer_fingerprint(folder))
    assert len(seen) == len(names[family]) + 1
