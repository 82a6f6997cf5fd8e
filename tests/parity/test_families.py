"""Our backbone against transformers' classes of the same shape, through checkpoint folders of each family's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import infogain
from infogain import Canvas, InputError
from infogain.models.backbone.backbone import Backbone
from infogain.models.families.checkpoint import load_model
from tests.parity.folders import DREAM, LLADA, MMADA, SDAR, Weights, as_llada, randomised, write_folder

ROWS = [[5, 6, 7, 60, 60, 60, 9, 60], [8, 60, 60, 60, 60], [1, 2, 3, 4, 60, 60, 60]]


def reference(config: dict[str, Any]) -> Any:
    """The class of transformers that has the family's shape, with random weights."""
    if config["model_type"] in ("llada", "mmada"):
        shape = transformers.LlamaConfig(
            vocab_size=config["embedding_size"],
            hidden_size=config["d_model"],
            intermediate_size=config["mlp_hidden_size"],
            num_hidden_layers=config["n_layers"],
            num_attention_heads=config["n_heads"],
            num_key_value_heads=config["n_kv_heads"],
            rms_norm_eps=config["rms_norm_eps"],
            rope_parameters={"rope_type": "default", "rope_theta": config["rope_theta"]},
            tie_word_embeddings=config["weight_tying"],
        )
        return randomised(transformers.LlamaForCausalLM(shape))
    keys = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads"
    sizes = {key: config[key] for key in [*keys.split(), "rms_norm_eps", "tie_word_embeddings"]}
    rope = {"rope_type": "default", "rope_theta": config["rope_theta"]}
    if config["model_type"] == "sdar":
        qwen3 = transformers.Qwen3Config(**sizes, head_dim=config["head_dim"], rope_parameters=rope)
        return randomised(transformers.Qwen3ForCausalLM(qwen3))
    return randomised(transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes, rope_parameters=rope)))


def weights_of(model: Any, config: dict[str, Any]) -> Weights:
    weights = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    return as_llada(weights) if config["model_type"] in ("llada", "mmada") else weights


def their_logits(model: Any, row: list[int], block: int | None) -> Tensor:
    """One unpadded row under a mask that allows everything, or earlier blocks and one's own."""
    column = torch.arange(len(row))
    allowed = torch.ones(len(row), len(row), dtype=torch.bool)
    if block:
        allowed = column[:, None] // block >= column // block
    mask = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)[None, None]
    with torch.no_grad():
        logits: Tensor = model(input_ids=torch.tensor([row]), attention_mask=mask, use_cache=False).logits[0]
    return logits


def our_logits(model: Backbone, rows: list[list[int]], width: int) -> list[Tensor]:
    """Every column of ragged rows, block by block, in one padded batch."""
    canvas = Canvas.infill(rows, model.mask_id)
    blocks = []
    with torch.inference_mode():
        for start in range(0, canvas.tokens.shape[1], width):
            blocks.append(model.prefill(canvas, [start] * len(rows), width)[1])
    return [logits[: len(row)] for logits, row in zip(torch.cat(blocks, 1), rows, strict=True)]


@pytest.mark.parametrize(
    "config",
    [
        LLADA,
        {**LLADA, "n_kv_heads": 2},
        {**LLADA, "weight_tying": True},
        MMADA,
        DREAM,
        {**DREAM, "tie_word_embeddings": True},
        SDAR,
        {**SDAR, "block_size": 2, "num_key_value_heads": 4},
    ],
    ids=lambda config: config["model_type"],
)
@pytest.mark.parametrize("files", [1, 3])
def test_logits_are_those_of_transformers(config: dict[str, Any], files: int, tmp_path: Path) -> None:
    theirs = reference(config)
    ours = load_model(write_folder(tmp_path / "model", config, weights_of(theirs, config), files))
    block = ours.spec.block
    for logits, row in zip(our_logits(ours, ROWS, block or 8), ROWS, strict=True):
        expected = their_logits(theirs, row, block)
        if ours.spec.shift:
            expected = torch.cat([expected[:1], expected[:-1]])
        assert (logits - expected).abs().max() < 1e-4
        assert expected.abs().max() > 1


@pytest.mark.parametrize("config", [LLADA, DREAM, SDAR, MMADA], ids=lambda config: config["model_type"])
@pytest.mark.parametrize("sampler", ["entropy", "info-gain", "info-gain-beam", "best-of-n"])
def test_a_folder_decodes(config: dict[str, Any], sampler: str, tmp_path: Path) -> None:
    model = load_model(write_folder(tmp_path / "m", config, weights_of(reference(config), config)))
    canvas = Canvas.infill(ROWS, model.mask_id)
    result = infogain.decode(model, canvas, sampler, block=4, schedule=2)
    assert not (result.tokens[canvas.masked] == model.mask_id).any()
    assert result.committed.tolist() == canvas.masked.sum(-1).tolist()


def test_bfloat16_stays_and_can_be_widened(tmp_path: Path) -> None:
    half = {name: tensor.bfloat16() for name, tensor in weights_of(reference(DREAM), DREAM).items()}
    folder = write_folder(tmp_path / "m", DREAM, half)
    assert load_model(folder).transformer.norm.weight.dtype == torch.bfloat16
    wide = load_model(folder, dtype=torch.float32)
    assert {p.dtype for p in wide.transformer.parameters()} == {torch.float32}
    result = infogain.decode(load_model(folder), Canvas.infill(ROWS, 60), "info-gain", block=4)
    assert torch.isfinite(result.cumulative_entropy).all()


def test_the_spec_counts_its_parameters(tmp_path: Path) -> None:
    for config in (LLADA, {**LLADA, "weight_tying": True}, DREAM, SDAR):
        theirs = reference(config)
        ours = load_model(write_folder(tmp_path / "m", config, weights_of(theirs, config)))
        assert ours.spec.parameters == sum(p.numel() for p in theirs.parameters())


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda folder, weights: weights.pop("model.norm.weight"), "Missing: model.norm.weight"),
        (lambda folder, weights: weights.update(extra=torch.ones(1)), "Not known: extra"),
        (lambda folder, weights: weights.update({"model.norm.weight": torch.ones(3)}), "shape \\[32\\].*has \\[3\\]"),
    ],
)
def test_wrong_weights_are_named(damage: Any, text: str, tmp_path: Path) -> None:
    weights = weights_of(reference(DREAM), DREAM)
    damage(tmp_path, weights)
    with pytest.raises(InputError, match=text):
        load_model(write_folder(tmp_path / "m", DREAM, weights))


def test_broken_folders_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", DREAM, weights_of(reference(DREAM), DREAM), files=2)
    shard = folder / "model-00002-of-00002.safetensors"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-100])
    with pytest.raises(InputError, match=r"00002-of-00002.safetensors cannot be read"):
        load_model(folder)
    shard.unlink()
    with pytest.raises(InputError, match=r"names model-00002-of-00002.safetensors, which .* does not hold"):
        load_model(folder)
    (folder / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(InputError, match=r"index.json must map weights to files"):
        load_model(folder)
    with pytest.raises(InputError, match=r"dtype must be a torch dtype.*got 'bfloat16'"):
        load_model(folder, dtype="bfloat16")  # type: ignore[arg-type]
    (folder / "config.json").write_text("[]")
    with pytest.raises(InputError, match=r"must be a JSON object; it is a list"):
        load_model(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"needs a config.json"):
        load_model(folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text(json.dumps(DREAM))
    with pytest.raises(InputError, match=r"holds no \*.safetensors"):
        load_model(empty)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model_type": "bert"}, "model_type 'bert', architectures none; supported are LLaDA"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu'"),
        ({"rope_scaling": {"type": "yarn"}}, "rope_scaling must be None"),
    ],
)
def test_what_this_backbone_cannot_run_is_refused(change: dict[str, Any], text: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", {**DREAM, **change}, {})
    with pytest.raises(InputError, match=text):
        load_model(folder)


def test_a_config_key_never_seen_is_a_warning_and_a_missing_one_an_error(tmp_path: Path) -> None:
    weights = weights_of(reference(DREAM), DREAM)
    with pytest.warns(UserWarning, match="never saw in a Dream checkpoint: surprise"):
        load_model(write_folder(tmp_path / "a", {**DREAM, "surprise": 1}, weights))
    without = {key: value for key, value in DREAM.items() if key != "hidden_size"}
    with pytest.raises(InputError, match="must hold 'hidden_size'"):
        load_model(write_folder(tmp_path / "b", without, weights))


def test_sdar_without_a_head_uses_its_embedding(tmp_path: Path) -> None:
    weights = weights_of(reference(SDAR), SDAR)
    del weights["lm_head.weight"]
    model = load_model(write_folder(tmp_path / "m", SDAR, weights))
    assert model.transformer.head is None
    published = {key: value for key, value in SDAR.items() if key != "block_size"}
    assert load_model(write_folder(tmp_path / "p", published, weights)).spec.block == 4
    del published["mask_token_id"]
    with pytest.raises(InputError, match="mask id must lie in the vocabulary of 64; got 151669"):
        load_model(write_folder(tmp_path / "q", published, weights))
