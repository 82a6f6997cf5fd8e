"""A checkpoint folder becomes a model that decodes."""

from __future__ import annotations

from pathlib import Path

import torch

from infogain.errors import InputError
from infogain.models.backbone import Backbone
from infogain.models.dream import DREAM
from infogain.models.family import Config, Family
from infogain.models.llada import LLADA, MMADA
from infogain.models.sdar import SDAR
from infogain.models.transformer import Transformer
from infogain.models.weights import load_weights

FAMILIES = (LLADA, DREAM, SDAR, MMADA)


def load_model(
    folder: str | Path,
    dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    cache: str | None = None,
) -> Backbone:
    """Load LLaDA, Dream, DiffuCoder, SDAR, TraDo or MMaDA from a local folder.

    `dtype` unset keeps what the file holds. `cache` is none, prefix or dual (the default) for models
    that attend everywhere; block-causal ones have an exact cache and take none of these.
    """
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise InputError(f"dtype must be a torch dtype such as torch.bfloat16, or unset; got {dtype!r}.")
    path = Path(folder)
    config = Config(path)
    family = find_family(config)
    spec = family.read(config)
    with torch.device("meta"):
        transformer = Transformer(spec)
    load_weights(transformer, family, path, dtype, str(device))
    return Backbone(transformer.eval(), cache)


def find_family(config: Config) -> Family:
    kind = config.get("model_type", None)
    for family in FAMILIES:
        if kind in family.model_types:
            return family
    supported = ", ".join(f"{family.name} ({', '.join(family.model_types)})" for family in FAMILIES)
    raise InputError(f"{config.path} says model_type {kind!r}; supported are {supported}.")
