"""Checkpoint folders as the families publish them, with tiny random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

Weights = dict[str, Tensor]

LLADA: dict[str, Any] = {
    "model_type": "llada",
    "architectures": ["LLaDAModelLM"],
    "d_model": 32,
    "n_heads": 4,
    "n_kv_heads": 4,
    "n_layers": 3,
    "mlp_hidden_size": 56,
    "mlp_ratio": 4,
    "vocab_size": 64,
    "embedding_size": 64,
    "max_sequence_length": 128,
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": 500000.0,
    "rms_norm_eps": 1e-5,
    "layer_norm_type": "rms",
    "include_bias": False,
    "include_qkv_bias": False,
    "weight_tying": False,
    "activation_type": "silu",
    "block_type": "llama",
    "alibi": False,
    "mask_token_id": 60,
    "eos_token_id": 61,
    "pad_token_id": 61,
    "transformers_version": "4.46.3",
}
QWEN: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 56,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "rope_scaling": None,
    "sliding_window": None,
    "use_sliding_window": False,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_dropout": 0.0,
    "torch_dtype": "bfloat16",
}
DREAM = {**QWEN, "model_type": "Dream", "mask_token_id": 60, "eos_token_id": 61, "pad_token_id": 61}
SDAR = {
    **QWEN,
    "model_type": "sdar",
    "head_dim": 12,
    "attention_bias": False,
    "fuse_cross_entropy": True,
    "mask_token_id": 60,
    "eos_token_id": 61,
}
MMADA = {**LLADA, "model_type": "mmada", "new_vocab_size": 64, "codebook_size": 8, "tie_word_embeddings": False}

LLADA_NAMES = {  # transformers' Llama -> LLaDA
    "model.embed_tokens": "model.transformer.wte",
    "model.norm": "model.transformer.ln_f",
    "lm_head": "model.transformer.ff_out",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
    "model.layers": "model.transformer.blocks",
}


def as_llada(weights: Weights) -> Weights:
    renamed = {}
    for name, tensor in weights.items():
        for old, new in LLADA_NAMES.items():
            name = name.replace(old, new)
        renamed[name] = tensor
    return renamed


def write_folder(folder: Path, config: dict[str, Any], weights: Weights, files: int = 1) -> Path:
    """A checkpoint folder with one weight file, or with shards and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    weights = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
    if files == 1:
        save_file(weights, folder / "model.safetensors")
        return folder
    where = {}
    for i in range(files):
        name = f"model-{i + 1:05}-of-{files:05}.safetensors"
        part = dict(list(weights.items())[i::files])
        save_file(part, folder / name)
        where.update(dict.fromkeys(part, name))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def randomised(model: Any, seed: int = 0) -> Any:
    """Every weight random, norms and biases too, so that none can be left out unseen."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.2 * noise if parameter.ndim == 1 else noise / parameter.shape[-1] ** 0.5)
    return model.eval()
