"""What the model believes about each column: one distribution over the vocabulary, and its statistics.

All statistics are computed together, once per state. Nats everywhere; p is the model's distribution at
temperature 1, with the mask token excluded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True)
class Marginals:
    logits: Tensor  # [R, W, V]
    log_z: Tensor  # [R, W] log-normaliser: log p = logits − log_z
    entropy: Tensor  # [R, W] H
    confidence: Tensor  # [R, W] p of the most likely token
    margin: Tensor  # [R, W] p_top1 − p_top2
    argmax: Tensor  # [R, W]

    @classmethod
    def of(cls, logits: Tensor, mask_id: int) -> Marginals:
        """Statistics of a model's logits, which become ours: the mask token is struck out in place.

        The mask is a state of the canvas, never a prediction; left in, it would take probability
        from real tokens and could be committed.
        """
        if mask_id < logits.shape[-1]:
            logits[..., mask_id] = -torch.inf
        x = wide(logits)
        log_z = x.logsumexp(-1)
        p = (x - log_z[..., None]).exp()
        top = p.topk(min(2, p.shape[-1]))
        confidence = top.values[..., 0]
        margin = confidence - top.values[..., 1] if p.shape[-1] > 1 else confidence
        # argmax and not top's indices: of equal tokens it takes the first, on every device
        return cls(logits, log_z, torch.special.entr(p).sum(-1), confidence, margin, p.argmax(-1))

    def __getitem__(self, index: Tensor | slice) -> Marginals:
        return Marginals(*(getattr(self, field.name)[index] for field in fields(self)))

    def join(self, other: Marginals) -> Marginals:
        return Marginals(*(torch.cat([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))

    def probability(self, tokens: Tensor) -> Tensor:
        """p of given tokens. [R, N, W] -> [R, N, W]"""
        logit = self.logits.gather(-1, tokens.transpose(1, 2)).transpose(1, 2)
        return (wide(logit) - self.log_z[:, None]).exp().clamp(max=1)  # rounding can rise above

    def draw(self, tau: float, u: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
        """Tokens from p^(1/τ), cut to the top-k and then the top-p; one for each u in [R, N, W].

        τ = 0 takes the most likely token. Otherwise the inverse of the cumulative distribution at u:
        one number per draw, where Gumbel noise would need one per word of the vocabulary.
        """
        if tau == 0:
            return self.argmax[:, None].expand(u.shape)
        x = wide(self.logits)
        p = _cut(((x - x.amax(-1, keepdim=True)) / tau).softmax(-1), top_k, top_p)
        cdf = p.cumsum(-1)  # [R, W, V]
        total = cdf[..., -1:]
        # below `total`, so that rounding never reaches past the last possible token
        at = torch.minimum(u.transpose(1, 2).to(cdf) * total, total.nextafter(torch.zeros_like(total)))
        tokens = torch.searchsorted(cdf, at.contiguous(), right=True)  # [R, W, N]
        tokens = tokens.clamp(max=cdf.shape[-1] - 1)  # matters for NaN only, which the loop reports one line later
        # A parallel sum may dip in its last bits and let the search end on a token of probability 0.
        tokens = torch.where(p.gather(-1, tokens) > 0, tokens, self.argmax[..., None])
        return tokens.transpose(1, 2)

    def kl(self, other: Marginals) -> Tensor:
        """D_KL(self ‖ other) per column. [R, W]"""
        log_p = wide(self.logits) - self.log_z[..., None]
        log_q = wide(other.logits) - other.log_z[..., None]
        terms = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * (log_p - log_q))
        return terms.sum(-1).clamp(min=0)  # rounding can dip below zero


def wide(x: Tensor) -> Tensor:
    """At least float32: half precision loses the entropy's digits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _cut(p: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Zero all but the top k tokens, then all but the smallest set that holds probability top_p."""
    if top_k is None and top_p is None:
        return p
    ranked, index = p.sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(ranked, dtype=torch.bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        within = ranked * keep
        before = within.cumsum(-1) - within  # probability ahead of each token
        keep &= before < top_p * within.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, index, ranked * keep)
