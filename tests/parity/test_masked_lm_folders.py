"""Folders of masked LMs as they come from elsewhere: incomplete, mismatched, or with words the texts do not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import infogain
from infogain import Canvas, InputError, Lane, Recipe
from infogain.models.families.weights import shards
from infogain.models.huggingface import masked_lm
from tests.e2e.test_cli import ok
from tests.parity.folders import LLADA, write_folder
from tests.parity.test_masked_lm import MASK, ROWS, VOCABULARY, bert, network

PAD, CLS, SEP, UNK = range(4)
SPECIAL = {PAD, CLS, SEP, UNK, MASK}


def drawn_to(folder: Path, tokens: set[int]) -> Path:
    """A BERT that would write these tokens everywhere."""
    path = bert(folder) / "model.safetensors"
    weights = load_file(path)
    weights["cls.predictions.bias"][sorted(tokens)] += 30
    save_file(weights, path, metadata={"format": "pt"})
    return folder


def test_special_tokens_are_never_written_into_holes(tmp_path: Path) -> None:
    model = infogain.load(drawn_to(tmp_path, SPECIAL), device="cpu")
    for sampler in ("entropy", "info-gain", "info-gain-beam"):
        text = infogain.infill(model, "the [MASK:4] sat [MASK:3].", sampler)[0]
        assert not SPECIAL & set(text.tokens), sampler


def test_only_those_that_end_a_text_may_be_written(tmp_path: Path) -> None:
    """Generation stops at [SEP] and [PAD], which are the tokenizer's ends; no other special token comes out."""
    model = infogain.load(drawn_to(tmp_path, SPECIAL), device="cpu")
    text = infogain.generate(model, "the cat", length=8, trace=True)[0]
    assert text.trace is not None
    written = {token for step in text.trace.steps for row in step.rows for a in row.candidates for token in a.tokens}
    assert text.finish == "eos"
    assert written <= {SEP, PAD, *range(5, VOCABULARY)}


def test_lanes_of_one_batch_keep_their_own_ends() -> None:
    """What one lane's recipe allows is not allowed in another."""
    net = network("bert")
    with torch.no_grad():
        net.cls.predictions.bias[[SEP, UNK]] += 30
    model, canvas = masked_lm(net, MASK, never=(PAD, CLS, SEP, UNK)), Canvas.infill(ROWS, MASK)
    choices = [("entropy", ()), ("entropy", (SEP,)), ("info-gain", (UNK,))]
    recipes = [Recipe.of({"sampler": name, "schedule": 2, "eos_ids": ends}) for name, ends in choices]
    results = infogain.decode_lanes(model, [Lane(canvas, recipe) for recipe in recipes])
    written = [set(result.tokens[canvas.masked].tolist()) for result in results]
    assert not written[0] & {PAD, CLS, SEP, UNK}
    assert written[1] == {SEP}
    assert written[2] == {UNK}
    for recipe, result in zip(recipes, results, strict=True):
        assert result.rows() == infogain.decode_lanes(model, [Lane(canvas, recipe)])[0].rows()


def test_entropy_counts_what_can_be_written_only() -> None:
    """H is that of the words which are left: with two of them it is at most log 2."""
    model = masked_lm(network("bert"), MASK, never=[token for token in range(VOCABULARY) if token not in (7, 8)])
    result = infogain.decode(model, Canvas.infill(ROWS, MASK), "entropy")
    assert {*result.tokens[Canvas.infill(ROWS, MASK).masked].tolist()} <= {7, 8}
    assert all(0 < h <= masks * 0.6932 for h, masks in zip(result.cumulative_entropy.tolist(), (3, 2, 4), strict=True))


@pytest.mark.parametrize("count", [5, 15, VOCABULARY + 1])
def test_a_tokenizer_that_does_not_fit_its_model_is_refused(tmp_path: Path, count: int) -> None:
    bert(tmp_path)
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *(f"w{i}" for i in range(count - 5))]
    for old in tmp_path.glob("*token*"):
        old.unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(names))
    transformers.BertTokenizer(vocab=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=f"has {VOCABULARY} ids, its tokenizer {count} tokens"):
        infogain.load(tmp_path, device="cpu")
    assert f"tokenizer {count} tokens" in " ".join(ok("inspect", tmp_path, env={"COLUMNS": "500"}).split())


@pytest.mark.parametrize("harm", ["missing", "reshaped"])
def test_weights_are_never_made_up(tmp_path: Path, harm: str, capfd: pytest.CaptureFixture[str]) -> None:
    path, name = bert(tmp_path) / "model.safetensors", "bert.encoder.layer.0.attention.self.query.weight"
    weights = load_file(path)
    weights[name] = weights[name][:, :8].contiguous()
    if harm == "missing":
        del weights[name]
    save_file(weights, path, metadata={"format": "pt"})
    capfd.readouterr()
    with pytest.raises(InputError, match=r"layer.0.attention.self.query.weight"):
        infogain.load(tmp_path, device="cpu")
    assert capfd.readouterr().err == ""  # of transformers' own report


def test_text_that_the_tokenizer_does_not_know_is_named(tmp_path: Path) -> None:
    model = infogain.load(bert(tmp_path), device="cpu")
    with pytest.warns(UserWarning, match="does not know 'Ωmega', 'zoo', so"):
        text = infogain.infill(model, "the Ωmega [MASK] on zoo.")[0]
    assert text.text.startswith("the [UNK] ")  # and stands in the text, which would else read as if it were whole
    with pytest.warns(UserWarning, match="does not know 'dog'"):
        infogain.generate(model, ["the cat", "the dog"], length=2)


@pytest.mark.slow
def test_the_command_line_says_so_in_one_line(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "infogain", "infill", "the dog [MASK].", "-m", str(bert(tmp_path)), "--device", "cpu"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert "note: the tokenizer does not know 'dog', so the model cannot see it" in done.stderr
    assert "UserWarning" not in done.stderr


def test_inspect_finds_the_weights_that_loading_finds(tmp_path: Path) -> None:
    weights = load_file(bert(tmp_path) / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    assert "weights     missing" in ok("inspect", tmp_path, env={"COLUMNS": "200"})
    torch.save(weights, tmp_path / "pytorch_model.bin")
    infogain.load(tmp_path, device="cpu")
    assert "weights     1 file, " in ok("inspect", tmp_path, env={"COLUMNS": "200"})


def test_a_stray_file_is_no_shard(tmp_path: Path) -> None:
    one, two = {"a": torch.zeros(2)}, {"b": torch.zeros(3)}
    write_folder(tmp_path, LLADA, one)
    save_file(two, tmp_path / "adapter.safetensors")
    assert [path.name for path in shards(tmp_path)] == ["model.safetensors"]
    (tmp_path / "model.safetensors").rename(tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=r"must say which .* adapter.safetensors, weights.safetensors"):
        shards(tmp_path)
    (tmp_path / "adapter.safetensors").rename(tmp_path / "part-00001-of-00002.safetensors")
    (tmp_path / "weights.safetensors").rename(tmp_path / "part-00002-of-00002.safetensors")
    assert len(shards(tmp_path)) == 2
    (tmp_path / "part-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="must say which"):
        shards(tmp_path)


def test_loading_imports_no_compiler() -> None:
    """An initialiser on the meta device would import torch._dynamo: 1.4 s of CPU for numbers that nobody reads."""
    program = (
        "import sys, infogain; infogain.load('zoo:tiny-reason', device='cpu'); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
