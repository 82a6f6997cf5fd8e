"""Checkpoint folders, and how they become models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import InputError
from infogain.models.backbone.backbone import Backbone
from infogain.models.backbone.graphs import engine_for
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.dream import DREAM
from infogain.models.families.family import Config, Family
from infogain.models.families.llada import LLADA, MMADA, is_mmada
from infogain.models.families.sdar import SDAR
from infogain.models.families.spec import Spec
from infogain.models.families.weights import load_weights, stored_shape

FAMILIES = (LLADA, DREAM, SDAR, MMADA)
GENERATION = "generation_config.json"


def load_model(
    folder: str | Path,
    dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    cache: str | None = None,
    engine: str | None = None,
    ceiling: float | None = None,
    refresh: int | None = None,
) -> Backbone:
    """Load LLaDA, Dream, DiffuCoder, SDAR, TraDo or MMaDA from a local folder, for token ids. See also `infogain.load`.

    `dtype` unset keeps what the file holds. `cache` is none, prefix or dual (the default) for models
    that attend everywhere; block-causal ones have an exact cache and take none of these. `engine` is
    eager or graphs (unset: graphs on a GPU); `ceiling` limits what a forward holds, in GiB; `refresh` is how many
    blocks are opened from one reading of the row (unset: 1).
    """
    return Checkpoint.read(Path(folder)).model(dtype, device, cache, engine, ceiling, refresh)


@dataclass(frozen=True)
class Checkpoint:
    """A folder, and what its config says of it."""

    folder: Path
    family: Family
    spec: Spec

    @classmethod
    def read(cls, folder: Path) -> Checkpoint:
        """Read the configs of a folder, and no weights."""
        config = Config(folder)
        family = find_family(config)
        spec = family.spec_of(config)
        if (folder / GENERATION).exists():
            also = Config(folder, GENERATION).ids("eos_token_id")
            spec = replace(spec, eos_ids=tuple(dict.fromkeys((*spec.eos_ids, *also))))
        return cls(folder, family, spec)

    def model(
        self,
        dtype: torch.dtype | None = None,
        device: str | torch.device = "cpu",
        cache: str | None = None,
        engine: str | None = None,
        ceiling: float | None = None,
        refresh: int | None = None,
        predicts: tuple[int, int] | None = None,
    ) -> Backbone:
        """Load the weights. The options are those of `load_model`.

        `predicts`: the first id that the model may predict, and how many follow it; unset: all.
        """
        if dtype is not None and not isinstance(dtype, torch.dtype):
            raise InputError(f"dtype must be a torch dtype such as torch.bfloat16, or unset; got {dtype!r}.")
        chosen = engine_for(torch.device(device), engine)  # refused before weights are read
        spec = self.spec
        if self.family.rows_from_weights:
            rows = stored_shape(self.folder, f"{self.family.names['embed']}.weight")[0]
            spec = replace(spec, vocab_size=rows)
        with torch.device("meta"):
            transformer = Transformer(spec)
        load_weights(transformer, self.family, self.folder, dtype, str(device))
        vocabulary = Vocabulary(spec.vocab_size, spec.mask_id, *(predicts or (0, None)))
        return Backbone(transformer.eval(), cache, chosen, ceiling, refresh, vocabulary)


def find_family(config: Config) -> Family:
    kind = config.get("model_type", None)
    if kind in LLADA.model_types and is_mmada(config):
        return MMADA
    for family in FAMILIES:
        if kind in family.model_types:
            return family
    supported = ", ".join(f"{family.name} ({', '.join(family.model_types)})" for family in FAMILIES)
    classes = ", ".join(config.get("architectures", [])) or "none"
    raise InputError(
        f"{config.path} says model_type {kind!r}, architectures {classes}; supported are {supported}, "
        "and masked LMs that transformers knows by class (…ForMaskedLM) or model_type."
    )
