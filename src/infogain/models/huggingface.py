"""Any Hugging Face masked language model: BERT, RoBERTa, ALBERT, ModernBERT, ESM-2, and those to come.

Such a model was trained with a small share of its tokens masked, so it is no calibrated diffusion
model near a full mask; samplers run on it all the same.
"""

from __future__ import annotations

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

    return FullCanvas(logits, mask_id, network.config.vocab_size, network.device)


def load_masked_lm(
    name: str, dtype: torch.dtype | None = None, device: str | torch.device = "cpu"
) -> tuple[FullCanvas, Any]:
    """A masked LM and its tokenizer from a local folder or a hub id; needs the extra `hf`."""
    try:
        from transformers import AutoModelForMaskedLM, AutoTokenizer
    except ModuleNotFoundError as error:
        raise InputError("Hugging Face models need transformers: pip install 'infogain[hf]'.") from error
    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.mask_token_id is None:
        raise InputError(f"a masked LM's tokenizer must have a mask token; that of {name} has none. Use masked_lm.")
    network = AutoModelForMaskedLM.from_pretrained(name, dtype=dtype or "auto").to(device).eval()
    return masked_lm(network, tokenizer.mask_token_id), tokenizer
