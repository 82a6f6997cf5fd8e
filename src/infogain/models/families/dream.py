"""Dream-7B (Base, Instruct) and DiffuCoder-7B: Qwen2's shape, logits shifted by one column."""

from __future__ import annotations

from dataclasses import replace

from infogain.models.families.family import QWEN, Config, Family
from infogain.models.families.spec import Spec

KEYS = frozenset(
    [
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "max_position_embeddings",
        "max_window_layers",
        "rms_norm_eps",
        "rope_theta",
        "sliding_window",
        "attention_dropout",
        "tie_word_embeddings",
    ]
)
MUST = (
    ("hidden_act", ("silu",)),
    ("rope_scaling", (None,)),
    ("use_sliding_window", (False,)),
    ("use_mrope", (False,)),
)
MASK_ID = 151666


def read_qwen(config: Config, family: str, mask_id: int) -> Spec:
    """The Spec of a config with Qwen's keys, before what Dream or SDAR does in its own way."""
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    return Spec(
        family=family,
        vocab_size=config["vocab_size"],
        hidden=hidden,
        layers=config["num_hidden_layers"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads", heads),
        head_dim=config.get("head_dim", hidden // heads),
        intermediate=config["intermediate_size"],
        rope_theta=float(config.get("rope_theta", 10000.0)),
        norm_eps=config.get("rms_norm_eps", 1e-6),
        mask_id=config.get("mask_token_id", mask_id),
        eos_ids=config.ids("eos_token_id"),
        context=config.get("max_position_embeddings", None),
        tied=config.get("tie_word_embeddings", False),
    )


def read_spec(config: Config) -> Spec:
    return replace(read_qwen(config, "dream", MASK_ID), qkv_bias=True, shift=True)


TURN_ENDS = ("<|im_end|>", "<|dlm_pad|>")  # the second one is DiffuCoder's
DREAM = Family("Dream", ("Dream", "dream"), read_spec, QWEN, KEYS, MUST, turn_ends=TURN_ENDS)
