"""Any Hugging Face masked language model: BERT, RoBERTa, ALBERT, ModernBERT, ESM-2, and those to come.

Such a model was trained with a small share of its tokens masked, so it is no calibrated diffusion
model near a full mask; samplers run on it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.models.full_canvas import FullCanvas


def masked_lm(network: Any, mask_id: int) -> FullCanvas:
    """A loaded `AutoModelForMaskedLM` (or anything that is called like one) as a model the loop can decode with."""

    def logits(tokens: Tensor, inside: Tensor) -> Tensor:
        output: Tensor = network(input_ids=tokens, attention_mask=inside.long()).logits
        return output

    return FullCanvas(logits, mask_id, network.config.vocab_size, network.device, context_of(network))


def context_of(network: Any) -> int | None:
    """The columns a masked LM has positions for. RoBERTa and its kin count them from the id after padding's."""
    positions: int | None = getattr(network.config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return None
    tables = [part for name, part in network.named_modules() if name.endswith("position_embeddings")]
    first = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
    return positions - max(first, default=0)


def context_in(folder: Path) -> int | None:
    """The same of a folder, without its weights; None where transformers cannot tell."""
    try:
        import transformers

        kind: Any = transformers.AutoModelForMaskedLM
        with torch.device("meta"):
            return context_of(kind.from_config(transformers.AutoConfig.from_pretrained(folder)))
    except (ImportError, OSError, ValueError):
        return None


def load_masked_lm(
    name: str, dtype: torch.dtype | None = None, device: str | torch.device = "cpu"
) -> tuple[FullCanvas, Any]:
    """A masked LM and its tokenizer from a local folder or a hub id; needs the extra `hf`."""
    tokenizer = load_masked_words(name)
    with _explained(name):
        from transformers import AutoModelForMaskedLM

        network = AutoModelForMaskedLM.from_pretrained(name, dtype=dtype or "auto")
    if tokenizer.mask_token_id is None:
        raise InputError(f"a masked LM's tokenizer must have a mask token; that of {name} has none. Use masked_lm.")
    return masked_lm(network.to(device).eval(), tokenizer.mask_token_id), tokenizer


def load_masked_words(name: str) -> Any:
    """Its tokenizer alone."""
    with _explained(name):
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(name)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        with _no_bars():
            yield
    except ModuleNotFoundError as error:
        raise InputError("Hugging Face models need transformers: pip install 'infogain[hf]'.") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{name} must hold a masked LM and its tokenizer; transformers says: {reason}") from error


@contextmanager
def _no_bars() -> Iterator[None]:
    """transformers draws its own on the error stream, into pipes too."""
    from transformers.utils import logging

    bars: Any = logging  # has no types
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
