"""SDAR (1.7B to 8B) and TraDo (4B, 8B): Qwen3's shape, block-causal attention."""

from __future__ import annotations

from dataclasses import replace

from infogain.models.families.dream import KEYS, MUST, read_qwen
from infogain.models.families.family import QWEN, Config, Family
from infogain.models.families.spec import Spec

MASK_ID, BLOCK = 151669, 4  # the published configs hold neither


def read_spec(config: Config) -> Spec:
    shape = read_qwen(config, "sdar", MASK_ID)
    return replace(shape, qk_norm=True, norm_scales_in_float32=True, block=config.get("block_size", BLOCK))


SDAR = Family(
    "SDAR",
    ("sdar",),
    read_spec,
    QWEN,
    KEYS
    | frozenset(
        [
            "fuse_cross_entropy",
            "attn_implementation",
            "ep_size",
            "debug",
            "micro_forward",
            "skip_checkpoint",
            "use_deepep",
            "block_size",
        ]
    ),
    (*MUST, ("attention_bias", (False,))),
    ties_silently=True,
    turn_ends=("<|im_end|>",),
)
