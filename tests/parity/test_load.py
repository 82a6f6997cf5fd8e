"""Checkpoint folders become models that read and write text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import infogain
from infogain import InputError, UnknownName
from infogain.models.backbone import Backbone
from infogain.text import HubTokenizer
from tests.parity.checkpoints import FAMILIES, write_checkpoint

CHATS = {
    "llada": "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nthe cat<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "mmada": "<|startoftext|><|start_header_id|>user<|end_header_id|>\nthe cat<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n",
    "dream": "<|im_start|>user\nthe cat<|im_end|>\n<|im_start|>assistant\n",
    "sdar": "<|im_start|>user\nthe cat<|im_end|>\n<|im_start|>assistant\n",
}
TURN_ENDS = {"llada": "<|eot_id|>", "mmada": "<|eot_id|>", "dream": "<|im_end|>", "sdar": "<|im_end|>"}


@pytest.mark.parametrize("family", FAMILIES)
def test_tokenizer_template_and_ids_come_from_the_folder(family: str, tmp_path: Path) -> None:
    model, tokenizer = infogain.load(write_checkpoint(tmp_path, family), device="cpu")
    assert isinstance(tokenizer, HubTokenizer)
    assert isinstance(model, Backbone)
    text = "hello to the cat"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    ids = tokenizer.chat([{"role": "user", "content": "the cat"}])
    assert "".join(tokenizer.word(i) for i in ids) == CHATS[family]
    assert {tokenizer.word(i) for i in tokenizer.eos_ids} == {"<|endoftext|>", TURN_ENDS[family]}
    assert "mask" in tokenizer.word(model.mask_id).lower()
    assert tokenizer.frame == ([], [])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampler", ["entropy", "info-gain"])
def test_every_family_generates(family: str, sampler: str, tmp_path: Path) -> None:
    model = infogain.load(write_checkpoint(tmp_path, family), device="cpu")
    texts = infogain.generate(model, ["the cat", "hello dogs said"], sampler, length=9, batch_size=1)
    assert [text.recipe["block"] for text in texts] == [model.model.attention_block or 16] * 2
    for text in texts:
        assert model.model.mask_id not in text.tokens
        assert len(text.tokens) == len(text.revealed) <= text.committed <= 9
        assert text.text == model.tokenizer.decode(text.tokens)
        assert text.recipe["eos_ids"] == list(model.tokenizer.eos_ids)


def test_dtype_by_name_and_a_device_that_is_not_there(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, "llada")
    model, _ = infogain.load(folder, "bf16", "cpu")
    assert isinstance(model, Backbone)
    assert model.transformer.norm.weight.dtype == torch.bfloat16
    with pytest.raises(UnknownName, match="Did you mean 'float16'"):
        infogain.load(folder, "flot16")
    with pytest.raises(InputError, match="device must be one torch knows"):
        infogain.load(folder, device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="needs a CUDA build"):
            infogain.load(folder, device="cuda")


def test_rows_of_mmada_are_those_of_the_file(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, "mmada")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": 300, "embedding_size": 300}))
    assert infogain.load(folder, device="cpu").model.vocab_size == 320


def broken(folder: Path, **changes: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_what_cannot_be_loaded_says_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'nowhere' is none of them"):
        infogain.load("nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.md").touch()
    with pytest.raises(InputError, match=r"needs a config\.json.* holds notes\.md"):
        infogain.load(tmp_path / "empty")
    folder = write_checkpoint(tmp_path / "llada", "llada")
    with pytest.raises(InputError, match="model_type 'gpt2', architectures GPT2LMHeadModel; supported are LLaDA"):
        infogain.load(broken(folder, model_type="gpt2", architectures=["GPT2LMHeadModel"]))
    broken(folder, model_type="llada")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="holds neither"):
        infogain.load(folder)
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match=r"tokenizer in .* cannot be read"):
        infogain.load(folder)


def test_a_hub_id_is_fetched_with_what_a_checkpoint_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    folder = write_checkpoint(tmp_path, "sdar")
    asked: dict[str, Any] = {}

    def fetch(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    model, _ = infogain.load("JetLM/SDAR-1.7B-Chat", device="cpu", revision="main")
    assert model.attention_block == 4
    assert (asked["name"], asked["revision"]) == ("JetLM/SDAR-1.7B-Chat", "main")
    assert "*.py" not in asked["allow_patterns"]

    def fail(name: str, **options: Any) -> str:
        raise OSError("the network cannot be reached")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(InputError, match="fetching it from the hub failed: the network cannot be reached"):
        infogain.load("JetLM/SDAR-1.7B-Chat")
