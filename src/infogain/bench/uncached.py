"""Look-ahead as code without a cache does it: every candidate's whole canvas, and the head on all of it."""

from __future__ import annotations

import torch
from torch import Tensor

from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import OptionError
from infogain.models.backbone.transformer import Transformer
from infogain.models.full_canvas import FullCanvas


def whole_canvas(transformer: Transformer) -> FullCanvas:
    spec = transformer.spec
    if spec.block:
        raise OptionError("a block-causal shape has an exact cache; cache='canvas' is for the others. Leave it unset.")

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        column = torch.arange(tokens.shape[1], device=tokens.device)[None]
        logits = transformer.logits(transformer(tokens, column, inside[:, None]))
        return torch.cat([logits[:, :1], logits[:, :-1]], 1) if spec.shift else logits

    vocabulary = Vocabulary(spec.vocab_size, spec.mask_id)
    return FullCanvas(network, vocabulary, transformer.norm.weight.device, spec.context)
