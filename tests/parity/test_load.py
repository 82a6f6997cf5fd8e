"""Checkpoint folders become models that read and write text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import infogain
from infogain import ContextError, InputError, OptionError, UnknownName
from infogain.bench import Bench, Case
from infogain.models.backbone.backbone import Backbone
from infogain.models.families.checkpoint import find_family
from infogain.models.families.family import Config
from infogain.samplers import Entropy
from infogain.text.tokenizer import HubTokenizer
from infogain.zoo.tasks.sudoku import is_grid
from tests.e2e.test_cli import ok, refused
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
    assert tokenizer.special_tokens_around == ([], [])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampler", ["entropy", "info-gain"])
def test_every_family_generates(family: str, sampler: str, tmp_path: Path) -> None:
    model = infogain.load(write_checkpoint(tmp_path, family), device="cpu")
    texts = infogain.generate(model, ["the cat", "hello dogs said"], sampler, length=9, batch_size=1)
    assert [text.recipe["block"] for text in texts] == [model.denoiser.attention_block or 16] * 2
    for text in texts:
        assert model.denoiser.mask_id not in text.tokens
        assert len(text.tokens) == len(text.revealed) <= text.committed <= 9
        assert text.text == model.tokenizer.decode(text.tokens)
        assert text.recipe["eos_ids"] == list(model.tokenizer.eos_ids)


@pytest.mark.parametrize("device", ["meta", "xpu", "mps", "hpu", "vulkan"])
def test_a_device_is_one_that_computes(device: str) -> None:
    """What backends raise where they are missing differs from one to the next; what we say does not."""
    if device in ("xpu", "mps") and getattr(torch, device).is_available():
        pytest.skip("it is there")
    with pytest.raises(InputError, match=f"device {device} must be one that computes in float64.* Found: cpu"):
        infogain.load("zoo:tiny-reason", device=device)


def test_there_is_one_cpu() -> None:
    assert str(infogain.load("zoo:tiny-reason", device="cpu:0").denoiser.device) == "cpu"
    with pytest.raises(InputError, match="there is one CPU"):
        infogain.load("zoo:tiny-reason", device="cpu:99")


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
    assert infogain.load(folder, device="cpu").denoiser.vocab_size == 320


def broken(folder: Path, **changes: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_what_cannot_be_loaded_says_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"zoo:tiny-digits, zoo:tiny-image, zoo:tiny-molecule, .*\); 'nowhere' is none of"
    ):
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


def test_mmada_is_told_by_its_config_where_it_calls_itself_llada(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "keys", "mmada")
    model, tokenizer = infogain.load(
        broken(folder, model_type="llada", vocab_size=300, embedding_size=300), device="cpu"
    )
    assert model.vocab_size == 320
    ids = tokenizer.chat([{"role": "user", "content": "the cat"}])
    assert "".join(tokenizer.word(i) for i in ids) == CHATS["mmada"]
    folder = write_checkpoint(tmp_path / "class", "llada")
    assert find_family(Config(folder)).name == "LLaDA"
    assert find_family(Config(broken(folder, architectures=["MMadaModelLM"]))).name == "MMaDA"


def test_trado_is_an_sdar(tmp_path: Path) -> None:
    folder = broken(write_checkpoint(tmp_path, "sdar"), architectures=["SDARForCausalLM"])
    assert infogain.load(folder, device="cpu").denoiser.attention_block == 4


def test_diffucoder_ends_its_texts_with_padding_of_its_own(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, "dream")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    free = 1 + max(int(i) for i in settings["added_tokens_decoder"])
    settings["added_tokens_decoder"][str(free)] = {"content": "<|dlm_pad|>", "special": True, "normalized": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert free in infogain.load(folder, device="cpu").tokenizer.eos_ids


def test_of_several_chat_templates_the_default_is_used(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, "llada")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    own = settings["chat_template"]
    settings["chat_template"] = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": own}]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = infogain.load(folder, device="cpu").tokenizer
    ids = tokenizer.chat([{"role": "user", "content": "the cat"}])
    assert "".join(tokenizer.word(i) for i in ids) == CHATS["llada"]
    assert tokenizer.chats
    settings["chat_template"] = settings["chat_template"][:1]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert not infogain.load(folder, device="cpu").tokenizer.chats


@pytest.mark.parametrize(
    "name", ["", "./no/where", "../nowhere", "./nowhere", "/no/where", "~/nowhere", Path("no/where")]
)
def test_a_path_is_never_fetched(name: str | Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: pytest.fail("asked the hub"))
    with pytest.raises(InputError, match="there is no such folder"):
        infogain.load(name)


def test_a_revision_is_of_a_hub_id(tmp_path: Path) -> None:
    for name in (write_checkpoint(tmp_path, "llada"), "zoo:tiny-reason"):
        with pytest.raises(InputError, match=r"a revision is of a hub id; .* came with 'main'"):
            infogain.load(name, device="cpu", revision="main")


def test_a_gpu_beyond_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match="cuda:99 must be one of the 2 GPUs"):
        infogain.load("zoo:tiny-reason", device="cuda:99")


def test_graphs_are_refused_where_there_is_no_cuda(tmp_path: Path) -> None:
    """Recorded forwards run on a CPU in the laws, as plain ones: a user would be told of graphs that were none."""
    folder = write_checkpoint(tmp_path, "llada")
    (folder / "model.safetensors").unlink()  # it is found out before weights are read
    with pytest.raises(OptionError, match=r"must be a GPU; it is cpu\. Leave the engine unset, or use engine='eager'"):
        infogain.load(folder, device="cpu", engine="graphs")
    with pytest.raises(OptionError, match="must be a GPU"):
        infogain.models.load_model(folder, engine="graphs")
    case = Case("tiny", Entropy(), context=24, block=8, length=16, engine="graphs")
    with pytest.raises(OptionError, match="must be a GPU"):
        Bench("cpu").run(case)
    flags = ("generate", "C24,13,6=31:", "-m", "zoo:tiny-reason", "--length", 2, "--device", "cpu", "--engine")
    assert "engine 'graphs' records CUDA graphs" in refused(*flags, "graphs")
    assert json.loads(ok(*flags, "eager"))["provenance"]["engine"] == "eager"


def test_a_text_with_holes_must_fit_the_context(tmp_path: Path) -> None:
    for name, context in ((write_checkpoint(tmp_path, "llada"), 128), ("zoo:tiny-reason", 124)):
        model = infogain.load(name, device="cpu")
        for hole in (f"[MASK:{context + 1}]", "[MASK:9999]"):
            with pytest.raises(ContextError, match=f"context of {context} columns"):
                infogain.infill(model, hole)


def test_the_zoo_s_canvases_are_filled_as_they_are_written() -> None:
    model = infogain.load("zoo:tiny-reason", device="cpu")
    text = infogain.infill(model, "S14_____1_13_2__4", "entropy")[0]
    assert is_grid(text.text[1:])
    assert text.text.startswith("S14")
