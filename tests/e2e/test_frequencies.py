"""`infogain frequencies`: a corpus becomes the table that `pc` reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import infogain
from infogain import InputError, UnknownName
from infogain.load import load_tokenizer, zoo_folder
from infogain.samplers import make
from infogain.samplers.frequencies import FILE, read_frequencies, write_frequencies
from infogain.text.alphabet import fingerprint_of
from infogain.zoo import ALPHABET
from infogain.zoo.characters import EOS
from infogain.zoo.token_counts import count_texts
from tests.e2e.test_cli import ok, refused
from tests.parity.checkpoints import FAMILIES, write_checkpoint
from tests.parity.test_masked_lm import bert

ZOO = "zoo:tiny-reason"


def test_ids_are_counted_over_files_and_standard_input(tmp_path: Path) -> None:
    one, out = tmp_path / "a.ids", tmp_path / "f.json"
    one.write_text("1 2 2\n\n3\t2\n")
    assert ok("frequencies", one, "-", "--out", out, input="2 7\n").startswith("7 tokens, 4 different ids")
    assert json.loads(out.read_text()) == {"num_tokens": 7, "counts": {"1": 1, "2": 4, "3": 1, "7": 1}}
    assert "accuracy" in ok("toy", "one-way", "--sampler", "pc", "--frequencies", out, "--count", "2")


def test_a_byte_order_mark_is_counted_nowhere(tmp_path: Path) -> None:
    for name, text, flags in (("a.ids", "1 2", []), ("a.txt", "S14", ["-m", ZOO])):
        (tmp_path / name).write_text(f"\ufeff{text}\n", encoding="utf-8")
        assert ok("frequencies", tmp_path / name, "--out", tmp_path / f"{name}.json", *flags)[0] in "23"


@pytest.mark.parametrize("word", ["two", "-1", "1.5", "1_000", "٣"])
def test_what_is_no_id_is_named_with_its_file_and_line(word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ids"
    path.write_text(f"1 2\n3 {word}\n")
    text = refused("frequencies", path, "--out", tmp_path / "f.json")
    assert f"{path}, line 2 holds {word!r}" in text
    assert not (tmp_path / "f.json").exists()


def test_bytes_that_are_no_text_and_files_without_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ids"
    path.write_bytes(b"1\n\xff\xfe\n")
    assert "line 2" in refused("frequencies", path, "--out", tmp_path / "f.json")
    assert "standard input, line 1" in refused("frequencies", "-", "--out", tmp_path / "f.json", input="x")
    path.write_text("\n")
    assert "at least one token" in refused("frequencies", path, "--out", tmp_path / "f.json")


def test_texts_are_counted_from_files_folders_and_fields(tmp_path: Path) -> None:
    folder, out = tmp_path / "corpus", tmp_path / "f.json"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("abba\r\n\nb\n")
    (folder / "deep" / "b.jsonl").write_text(json.dumps({"text": "ab", "other": "c"}) + "\n\n")
    (folder / "not.csv").write_text("zzz")
    printed = ok("frequencies", folder, "-", "--model", ZOO, "--out", out, input="ad\n")
    assert printed.startswith("9 tokens, 3 different ids")
    a, b, c, d = ALPHABET.encode("abcd")
    assert json.loads(out.read_text())["counts"] == {str(a): 4, str(b): 4, str(d): 1}
    ok("frequencies", folder / "deep" / "b.jsonl", "-m", ZOO, "--field", "other", "--out", out, "--overwrite")
    assert json.loads(out.read_text())["counts"] == {str(c): 1}


def test_a_table_is_not_replaced_unasked_and_flags_without_use_are_refused(tmp_path: Path) -> None:
    ids, out = tmp_path / "a.ids", tmp_path / "f.json"
    ids.write_text("1")
    out.write_text("mine")
    assert "--overwrite" in refused("frequencies", ids, "--out", out)
    assert out.read_text() == "mine"
    out.unlink()
    assert "without a --model" in refused("frequencies", ids, "--field", "text", "--out", out)
    assert "must hold .txt or .jsonl files" in refused("frequencies", tmp_path, "-m", ZOO, "--out", out)


@pytest.mark.parametrize("line", ["no json", "[1]", "3", '{"other": "a"}', '{"text": 4}'])
def test_json_lines_without_the_text_are_named(line: str, tmp_path: Path) -> None:
    corpus = tmp_path / "a.jsonl"
    corpus.write_text(f'{{"text": "a"}}\n{line}\n')
    text = refused("frequencies", corpus, "-m", ZOO, "--out", tmp_path / "f.json")
    assert f"{corpus}, line 2 must be a JSON object with a text in 'text'" in text


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoints_tokenizer_counts_without_its_weights(family: str, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", family)
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    text, corpus, out = "hello to the cat the cat", tmp_path / "a.jsonl", tmp_path / "f.json"
    corpus.write_text(json.dumps({"text": text}) + "\n")
    ok("frequencies", corpus, "-m", folder, "--out", out)
    ids = load_tokenizer(folder).encode(text)
    assert json.loads(out.read_text())["num_tokens"] == len(ids)
    assert read_frequencies(out, 320)[ids[-1]] >= 2 / len(ids)


def test_so_does_a_masked_lms(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    words = load_tokenizer(folder)
    (folder / "model.safetensors").unlink()
    assert load_tokenizer(folder).encode("the cat") == words.encode("the cat") != []


def test_the_zoos_table_is_what_its_training_texts_count_to(tmp_path: Path) -> None:
    folder = zoo_folder("tiny-reason")
    write_frequencies(count_texts(folder), tmp_path / FILE, ALPHABET.vocabulary)
    assert (tmp_path / FILE).read_text() == (folder / FILE).read_text()
    frequency = read_frequencies(ZOO, len(ALPHABET))
    often = ALPHABET.decode(frequency.argsort(descending=True).tolist())
    assert set(often[:2]) == {"0", "1"}  # binary products are made of them
    assert often[2] == EOS  # it fills what answers leave
    assert frequency[ALPHABET.mask_id] == frequency.min()  # never seen, so seen once


# whose ids they are


@pytest.mark.parametrize("family", ["llada", "dream"])
def test_a_table_of_another_tokenizer_is_refused(family: str, tmp_path: Path) -> None:
    folder, out = write_checkpoint(tmp_path / "model", family), tmp_path / "f.json"
    flags = ("generate", "the cat", "-m", folder, "--length", 3, "--sampler", "pc")
    best = ("generate", "the cat", "-m", folder, "--length", 3, "--sampler", "best-of-n", "--base", "pc")
    for command, option in ((flags, "--frequencies"), (best, "--base.frequencies")):
        told = refused(*command, option, ZOO)
        assert "must be counted with the model's own tokenizer" in told
        assert f"the model has {load_tokenizer(folder).vocabulary}. Count it again" in told
    (tmp_path / "a.txt").write_text("the cat\n")
    ok("frequencies", tmp_path / "a.txt", "-m", folder, "--out", out)
    assert json.loads(ok(*flags, "--frequencies", out))["recipe"]["sampler"]["frequencies"] == str(out)
    assert "with this model's tokenizer" in refused(
        "generate", "C24,13,6=31:", "-m", ZOO, "--length", 2, "--sampler", "pc", "--frequencies", out
    )


def test_a_table_that_names_no_vocabulary_serves_ids_alone(tmp_path: Path) -> None:
    ids, out = tmp_path / "a.ids", tmp_path / "f.json"
    ids.write_text("1 2 3\n")
    ok("frequencies", ids, "--out", out)
    flags = ("generate", "C24,13,6=31:", "-m", ZOO, "--length", 2, "--sampler", "pc", "--frequencies", out)
    assert "names none" in refused(*flags)
    ok("frequencies", ids, "--ids", "-m", ZOO, "--out", out, "--overwrite")
    assert json.loads(out.read_text())["vocabulary"] == ALPHABET.vocabulary
    ok(*flags)
    for wrong in (("--ids",), ("--ids", "-m", ZOO, "--field", "text")):
        assert "it needs a --model, and no --field" in refused("frequencies", ids, *wrong, "--out", tmp_path / "g.json")


def test_python_refuses_it_before_any_work(tmp_path: Path) -> None:
    model = infogain.load(write_checkpoint(tmp_path, "llada"), device="cpu")
    events: list[infogain.StepEvent] = []
    for call in (infogain.generate, infogain.infill):
        with pytest.raises(InputError, match="own tokenizer"):
            call(
                model, "the [MASK]" if call is infogain.infill else "the", "pc", frequencies=ZOO, observe=events.append
            )
    assert events == []


def test_vocabularies_differ_in_a_word_or_an_id() -> None:
    words = {"a": 0, "b": 1}
    same = fingerprint_of({"b": 1, "a": 0})
    assert fingerprint_of(words) == same
    assert len({same, fingerprint_of({"a": 1, "b": 0}), fingerprint_of({**words, "c": 2})}) == 3


def test_pc_reads_the_zoos_table_by_name() -> None:
    flags = ["generate", "C93,3,63=33:", "--length", 22, "--sampler", "pc", "--lam", 0.5]
    written = json.loads(ok(*flags, "--frequencies", ZOO))
    assert written["recipe"]["sampler"]["frequencies"] == ZOO
    assert written["revealed"] != json.loads(ok(*flags))["revealed"]  # it changes the order
    with pytest.raises(UnknownName, match="Did you mean 'zoo:tiny-reason'"):
        make("pc", frequencies="zoo:tiny-reson")
