"""The masked-diffusion ELBO: what is masked in a training row, and the loss there."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infogain.algorithm import noise
from infogain.models.backbone.transformer import Transformer
from infogain.zoo.pool import COLUMN, TIME


def choose_masks(holes: Tensor, seed: Tensor, step: int) -> Tensor:
    """Which of the holes are masked: k of n, k uniform in 1..n, any k alike. [B, L]

    The same ELBO as masking each with probability t ~ U(0, 1) and weighing by 1/t, without the large
    weights: a set of k then weighs ∫ t^(k−1) (1−t)^(n−k) dt = 1 / (k · C(n, k)), the chance of the set
    times n/k here. The times of a batch are stratified.
    """
    rows, columns = holes.shape
    row = torch.arange(rows, device=holes.device)
    t = (row + noise.uniform(seed, TIME, step, row)) / rows
    k = (t * holes.sum(1)).long() + 1
    u = noise.uniform(seed, COLUMN, step, row[:, None], torch.arange(columns, device=holes.device))
    rank = u.masked_fill(~holes, 2).argsort(1).argsort(1)
    return holes & (rank < k[:, None])


def elbo_loss(transformer: Transformer, tokens: Tensor, masked: Tensor) -> Tensor:
    """Nats per column that is to be written, averaged over the rows. A bound on −log p / columns."""
    column = torch.arange(tokens.shape[1], device=tokens.device)[None]
    x = transformer(torch.where(masked, transformer.spec.mask_id, tokens), column)
    surprise = F.cross_entropy(transformer.logits(x).flatten(0, 1), tokens.flatten(), reduction="none")
    return ((surprise.view_as(masked) * masked).sum(1) / masked.sum(1)).mean()
