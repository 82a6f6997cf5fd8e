"""The shape of a checkpoint: sizes, and the switches that tell the families apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Spec:
    """The sizes of a transformer, and what its family does in its own way."""

    family: str
    vocab_size: int  # rows of the embedding, the mask's included
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    rope_theta: float
    norm_eps: float
    mask_id: int
    eos_ids: tuple[int, ...] = ()
    context: int | None = None  # the most columns that the config allows
    qkv_bias: bool = False
    qk_norm: bool = False
    tied: bool = False  # the head is the embedding
    shift: bool = False  # the logits at a column predict the next one (Dream)
    block: int | None = None  # set: attention is block-causal, in blocks of this width (SDAR)
    rope_in_float32: bool = False  # q and k are rotated in float32 (LLaDA); else in the activations' dtype
    norm_scales_in_float32: bool = False  # the norm's weight multiplies before the cast back (SDAR); else after

    def kv_numbers(self, columns: int) -> int:
        """How many numbers the K/V of this many columns hold."""
        return 2 * self.layers * self.kv_heads * self.head_dim * columns

    @property
    def widest(self) -> int:
        """About how many numbers a token needs in the widest part of a layer, the MLP."""
        return 3 * self.intermediate + 4 * self.hidden

    @property
    def parameters(self) -> int:
        """How many numbers the weights hold."""
        attention = self.hidden * self.head_dim * 2 * (self.heads + self.kv_heads)
        bias = self.head_dim * (self.heads + 2 * self.kv_heads) * self.qkv_bias
        norms = 2 * self.hidden + 2 * self.head_dim * self.qk_norm
        layer = attention + bias + norms + 3 * self.hidden * self.intermediate
        return self.layers * layer + self.hidden + self.vocab_size * self.hidden * (1 if self.tied else 2)
