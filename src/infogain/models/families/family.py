"""A family of checkpoints: how its config becomes a Spec, and what its weights are called."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.models.families.spec import Spec

# Our names of a layer's weights; `bias` and the q/k norms exist where the Spec says so.
LAYER = ("attn_norm", "q", "k", "v", "o", "q_norm", "k_norm", "mlp_norm", "gate", "up", "down")

# The names of transformers' Llama, Qwen2 and Qwen3, which most checkpoints follow.
QWEN = {
    "embed": "model.embed_tokens",
    "norm": "model.norm",
    "head": "lm_head",
    "attn_norm": "model.layers.{}.input_layernorm",
    "q": "model.layers.{}.self_attn.q_proj",
    "k": "model.layers.{}.self_attn.k_proj",
    "v": "model.layers.{}.self_attn.v_proj",
    "o": "model.layers.{}.self_attn.o_proj",
    "q_norm": "model.layers.{}.self_attn.q_norm",
    "k_norm": "model.layers.{}.self_attn.k_norm",
    "mlp_norm": "model.layers.{}.post_attention_layernorm",
    "gate": "model.layers.{}.mlp.gate_proj",
    "up": "model.layers.{}.mlp.up_proj",
    "down": "model.layers.{}.mlp.down_proj",
}


class Config:
    """A checkpoint's config.json, or another JSON object beside it, read key by key."""

    def __init__(self, folder: Path, name: str = "config.json") -> None:
        self.path = folder / name
        try:
            self.values: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            held = ", ".join(sorted(path.name for path in folder.glob("*"))[:8]) or "nothing"
            raise InputError(
                f"a checkpoint folder needs a {name} that can be read; {self.path}: {error}. {folder} holds {held}."
            ) from error
        if not isinstance(self.values, dict):
            raise InputError(f"{self.path} must be a JSON object; it is a {type(self.values).__name__}.")

    def __getitem__(self, key: str) -> Any:
        if key not in self.values:
            raise InputError(f"{self.path} must hold {key!r}; it has {', '.join(sorted(self.values))}.")
        return self.values[key]

    def get(self, key: str, default: Any) -> Any:
        """The value of a key, or the default where the key is missing or null."""
        value = self.values.get(key)
        return default if value is None else value

    def ids(self, key: str) -> tuple[int, ...]:
        """The ids of a key that holds one id, several, or none."""
        value = self.get(key, [])
        return tuple(value) if isinstance(value, list) else (value,)


@dataclass(frozen=True)
class Family:
    """What is known of all checkpoints of a family."""

    name: str
    model_types: tuple[str, ...]  # as config.json spells them
    spec: Callable[[Config], Spec]
    names: dict[str, str]  # our names of the weights -> the checkpoint's
    keys: frozenset[str]  # config keys that are known to be harmless or handled
    must: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # config values that this backbone can run; absent is fine
    ties_silently: bool = False  # a missing head means the embedding
    rows_from_weights: bool = False  # the vocabulary size is that of the stored embedding, not the config's
    turn_ends: tuple[str, ...] = ()  # tokens that close an answer
    template: str | None = None  # chat template, where the checkpoint's own is not to be used

    def spec_of(self, config: Config) -> Spec:
        """The Spec of a config. Refuses what the backbone cannot run, and warns of keys that are not known."""
        for key, allowed in self.must:
            if key in config.values and config.values[key] not in allowed:
                raise InputError(
                    f"{self.name}: {key} must be {' or '.join(map(repr, allowed))}; {config.path} has "
                    f"{config.values[key]!r}. This backbone does not run it."
                )
        unknown = sorted(set(config.values) - self.keys - COMMON_KEYS - {key for key, _ in self.must})
        if unknown:
            warnings.warn(
                f"{config.path} has keys this loader never saw in a {self.name} checkpoint: {', '.join(unknown)}. "
                "They are ignored; check that they change nothing.",
                stacklevel=2,
            )
        return self.spec(config)


COMMON_KEYS = frozenset(
    [
        "_name_or_path",
        "architectures",
        "auto_map",
        "model_type",
        "torch_dtype",
        "dtype",
        "transformers_version",
        "use_cache",
        "mask_token_id",
        "eos_token_id",
        "bos_token_id",
        "pad_token_id",
        "vocab_size",
        "initializer_range",
    ]
)
