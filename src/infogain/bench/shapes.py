"""Shapes of published checkpoints, as transformers with random weights made where they are to run."""

from __future__ import annotations

import torch

from infogain.capacity import free_bytes
from infogain.errors import InputError
from infogain.load import ZOO, load, shipped_models
from infogain.models.backbone.backbone import Backbone
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.spec import Spec

_QWEN3 = {"head_dim": 128, "rope_theta": 1e6, "norm_eps": 1e-6, "mask_id": 151669, "eos_ids": (151643,)}
_SDAR = {**_QWEN3, "vocab_size": 151936, "kv_heads": 8, "qk_norm": True, "norm_scales_in_float32": True, "block": 4}

SHAPES: dict[str, Spec] = {
    "tiny": Spec("llada", 512, 64, 2, 4, 2, 16, 192, 1e4, 1e-5, mask_id=511, eos_ids=(510,), rope_in_float32=True),
    "sdar-1.7b": Spec("sdar", hidden=2048, layers=28, heads=16, intermediate=6144, **_SDAR),  # type: ignore[arg-type]
    "dream-7b": Spec(
        "dream", 152064, 3584, 28, 28, 4, 128, 18944, 1e6, 1e-6, 151666, (151643,), qkv_bias=True, shift=True
    ),
    "llada-8b": Spec("llada", 126464, 4096, 32, 32, 32, 128, 12288, 5e5, 1e-5, 126336, (126081,), rope_in_float32=True),
    # LLaDA with the codes of images behind its tokens
    "mmada-8b": Spec("mmada", 134656, 4096, 32, 32, 32, 128, 12288, 5e5, 1e-5, 126336, (126081,), rope_in_float32=True),
    # TraDo-8B is trained from SDAR-8B and has its shape.
    "sdar-8b": Spec("sdar", hidden=4096, layers=36, heads=32, intermediate=12288, **_SDAR),  # type: ignore[arg-type]
}
LOW_PRECISION = torch.bfloat16  # of random weights on a GPU; on a CPU, float32


def make_transformer(name: str, device: torch.device) -> Transformer:
    """A shape with random weights, or the weights of zoo:NAME or of a checkpoint."""
    if name in SHAPES:
        dtype = LOW_PRECISION if device.type == "cuda" else torch.float32
        return random_transformer(SHAPES[name], device, dtype)
    if "/" not in name and not name.startswith(ZOO):
        known = ", ".join([*SHAPES, *shipped_models(images=False)])
        raise InputError(f"a shape is {known}, or a checkpoint's folder or hub id; got {name!r}.")
    model = load(name, device=device).denoiser
    if not isinstance(model, Backbone):
        raise InputError(f"bench times models on the package's own backbone; {name} runs through transformers.")
    return model.transformer


def random_transformer(spec: Spec, device: torch.device, dtype: torch.dtype) -> Transformer:
    """Made on the device: 15 GB of numbers never pass through the host."""
    needed, free = spec.parameters * dtype.itemsize, free_bytes(device)
    if free is not None and needed > free:
        raise InputError(
            f"the weights must fit: {needed / 2**30:.1f} GiB are needed, {free / 2**30:.1f} GiB are free on {device}. "
            "Use a smaller shape, or a device with more memory."
        )
    with torch.device("meta"):
        transformer = Transformer(spec)
    transformer = transformer.to(dtype).to_empty(device=device)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad():
        for parameter in transformer.parameters():
            if parameter.ndim == 1:
                parameter.fill_(1)
            else:
                parameter.normal_(0, parameter.shape[-1] ** -0.5, generator=generator)
    transformer.fuse()
    return transformer.requires_grad_(False).eval()
