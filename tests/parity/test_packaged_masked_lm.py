"""A masked LM as a package may ship it: a class of its own around BERT, and a vocabulary of characters in vocab.txt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

import infogain
from infogain import InputError
from infogain.load import is_masked_lm
from infogain.models.families.family import Config
from tests.e2e.test_cli import ok
from tests.parity.folders import randomised

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def packaged(folder: Path, words: list[str], architecture: str = "PackagedBert") -> Path:
    """A tiny BERT whose config names a class that transformers does not have, with further weights and a vocab.txt."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=160, pad_token_id=0, **sizes)  # type: ignore[arg-type]
    network = randomised(transformers.AutoModelForMaskedLM.from_config(config))
    network.save_pretrained(folder)
    weights = {**network.state_dict(), "cls.species.weight": torch.zeros(6, 16)}
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "architectures": [architecture]}))
    (folder / "vocab.txt").write_text("\n".join(words))
    return folder


def test_a_text_of_characters_is_filled_without_spaces(tmp_path: Path) -> None:
    model = infogain.load(packaged(tmp_path, [*SPECIAL, *RESIDUES]), device="cpu")
    ids = model.tokenizer.encode("EVQLY")
    assert ids == [5 + RESIDUES.index(residue) for residue in "EVQLY"]
    assert model.tokenizer.encode("E V Q L Y") == ids
    assert model.tokenizer.decode(ids) == "EVQLY"
    for sampler in ("entropy", "info-gain:validated"):
        text = infogain.infill(model, "EVQ[MASK:4]WG[MASK]", sampler)[0].text
        assert len(text) == 10
        assert (text[:3], text[7:9]) == ("EVQ", "WG")
        assert set(text) <= set(RESIDUES)
    assert "25 tokens (mask 4)" in ok("inspect", tmp_path, env={"COLUMNS": "200"})


def test_residues_that_are_not_known_are_named(tmp_path: Path) -> None:
    model = infogain.load(packaged(tmp_path, [*SPECIAL, *RESIDUES]), device="cpu")
    with pytest.warns(UserWarning, match="does not know 'Bv'"):
        infogain.infill(model, "EBvQ[MASK]")


@pytest.mark.parametrize(("words", "text"), [(["the", "cat"], "the cat"), (["The", "cat"], "The cat")])
def test_a_bare_vocabulary_of_words_keeps_case_where_it_has_any(tmp_path: Path, words: list[str], text: str) -> None:
    model = infogain.load(packaged(tmp_path, [*SPECIAL, *words, "##s"]), device="cpu")
    assert model.tokenizer.encode("The cats") == [5, 6, 7]
    assert model.tokenizer.decode([5, 6]) == text


def test_a_file_that_describes_the_tokenizer_goes_before_the_bare_vocabulary(tmp_path: Path) -> None:
    folder = packaged(tmp_path, [*SPECIAL, *RESIDUES])
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')
    model = infogain.load(folder, device="cpu")
    assert model.tokenizer.encode("E V") == [8, 22]
    assert model.tokenizer.encode("EV") == [1], "BERT's own splits at spaces"


def test_a_packaged_class_without_the_head_is_refused(tmp_path: Path) -> None:
    path = packaged(tmp_path, [*SPECIAL, *RESIDUES]) / "pytorch_model.bin"
    weights = torch.load(path, weights_only=True)
    torch.save({name: value for name, value in weights.items() if not name.startswith("cls.predictions")}, path)
    with pytest.raises(InputError, match=r"masked-LM head included. Missing: cls.predictions"):
        infogain.load(tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("config", "masked"),
    [
        ({"model_type": "bert", "architectures": ["PackagedBert"]}, True),
        ({"model_type": "bert", "architectures": ["BertForSequenceClassification"]}, False),
        ({"model_type": "bert"}, False),
        ({"model_type": "llama", "architectures": ["PackagedLlama"]}, False),
        ({"model_type": "llada", "architectures": ["LLaDAModelLM"]}, False),
        ({"architectures": ["StrangeForMaskedLM"]}, True),
    ],
)
def test_which_configs_are_of_masked_lms(tmp_path: Path, config: dict[str, object], masked: bool) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert is_masked_lm(Config(tmp_path)) is masked
