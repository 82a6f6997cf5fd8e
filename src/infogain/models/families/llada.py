"""LLaDA-8B (Base, Instruct, 1.5) and MMaDA-8B: Llama's shape under names of their own."""

from __future__ import annotations

from dataclasses import replace

from infogain.models.families.family import Config, Family
from infogain.models.families.spec import Spec

NAMES = {
    "embed": "model.transformer.wte",
    "norm": "model.transformer.ln_f",
    "head": "model.transformer.ff_out",
    "attn_norm": "model.transformer.blocks.{}.attn_norm",
    "q": "model.transformer.blocks.{}.q_proj",
    "k": "model.transformer.blocks.{}.k_proj",
    "v": "model.transformer.blocks.{}.v_proj",
    "o": "model.transformer.blocks.{}.attn_out",
    "mlp_norm": "model.transformer.blocks.{}.ff_norm",
    "gate": "model.transformer.blocks.{}.ff_proj",
    "up": "model.transformer.blocks.{}.up_proj",
    "down": "model.transformer.blocks.{}.ff_out",
}
KEYS = frozenset(
    [
        "d_model",
        "n_heads",
        "n_kv_heads",
        "n_layers",
        "mlp_hidden_size",
        "mlp_ratio",
        "embedding_size",
        "max_sequence_length",
        "rope",
        "rope_full_precision",
        "rope_theta",
        "rms_norm_eps",
        "layer_norm_with_affine",
        "attention_layer_norm_with_affine",
        "weight_tying",
        "block_group_size",
        "alibi_bias_max",
        "multi_query_attention",
        "flash_attention",
        "attention_dropout",
        "residual_dropout",
        "embedding_dropout",
        "init_device",
        "init_fn",
        "init_std",
        "init_cutoff_factor",
        "precision",
    ]
)
MUST = (
    ("rope", (True,)),
    ("layer_norm_type", ("rms",)),
    ("block_type", ("llama",)),
    ("activation_type", ("silu",)),
    ("include_bias", (False,)),
    ("include_qkv_bias", (False,)),
    ("bias_for_layer_norm", (False,)),
    ("attention_layer_norm", (False,)),
    ("scale_logits", (False,)),
    ("input_emb_norm", (False,)),
    ("alibi", (False,)),
)
MASK_ID = 126336


def read_spec(config: Config) -> Spec:
    heads, hidden = config["n_heads"], config["d_model"]
    fewest = 1 if config.get("multi_query_attention", False) else heads
    return Spec(
        family="llada",
        vocab_size=config.get("embedding_size", config["vocab_size"]),
        hidden=hidden,
        layers=config["n_layers"],
        heads=heads,
        kv_heads=config.get("n_kv_heads", fewest),
        head_dim=hidden // heads,
        intermediate=config.get("mlp_hidden_size", config.get("mlp_ratio", 4) * hidden),
        rope_theta=float(config.get("rope_theta", 10000.0)),
        norm_eps=config.get("rms_norm_eps", 1e-5),
        mask_id=config.get("mask_token_id", MASK_ID),
        eos_ids=config.ids("eos_token_id"),
        context=config.get("max_sequence_length", None),
        tied=config.get("weight_tying", False),
        rope_in_float32=config.get("rope_full_precision", True),
    )


TURN_ENDS = ("<|eot_id|>",)
LLADA = Family("LLaDA", ("llada",), read_spec, NAMES, KEYS, MUST, turn_ends=TURN_ENDS)

# MMaDA's authors replace LLaDA's template by this one in their programs: a single line break after each header.
MMADA_TEMPLATE = (
    "<|startoftext|>{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n"
    "{{ message['content'] | trim }}<|eot_id|>{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\n' }}"
)
MMADA_KEYS = frozenset(["new_vocab_size", "llm_vocab_size", "codebook_size", "num_vq_tokens", "num_new_special_tokens"])
MMADA = Family(
    "MMaDA",
    ("mmada",),
    lambda config: replace(read_spec(config), family="mmada"),
    NAMES,
    KEYS | MMADA_KEYS,
    (*MUST, ("tie_word_embeddings", (False,))),
    rows_from_weights=True,
    turn_ends=TURN_ENDS,
    template=MMADA_TEMPLATE,
)


def is_mmada(config: Config) -> bool:
    """Whether a config is MMaDA's. Some say `llada`; keys of its image codes, or its class, give it away."""
    return bool(MMADA_KEYS & config.values.keys()) or any("mmada" in c.lower() for c in config.get("architectures", []))
