"""The paper's objective, Eq. 2–5, and the choice of what scores best: the page to read beside Sec. 3.2.

`z` is the current state, `a` a candidate action, `z_next` the state after it. Entropies are summed
over the masked positions of the active block only (Eq. 12 restricts both score and gain to it).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from infogain.algorithm.state import ALL, Candidates, Index, State, masked_or, total
from infogain.device import counting, upload


def immediate_cost(z: State, a: Candidates) -> Tensor:
    """Eq. 2: C(a|z) = Σ_{ℓ∈A} H_ℓ(z), the term that cumulative entropy H̃ adds up over the steps. [M]"""
    return total(masked_or(z.p.entropy[a.parent], a.chosen))


def state_uncertainty(z: State, power: float = 1.0) -> Tensor:
    """Eq. 3: 𝓗(z) = Σ_{ℓ∈M} H_ℓ(z) / |M|^power; 0 when nothing is masked. [R]

    Power 1 is the paper's mean. Power 0 is the plain sum: the same unit as the cost, so that
    look-ahead does not fade while many masks remain.
    """
    masks = z.left.clamp(min=1)
    return z.remaining / (masks if power == 1 else masks.to(z.remaining) ** power)


def information_gain(z: State, a: Candidates, z_next: State, power: float = 1.0) -> Tensor:
    """Eq. 4: IG(a; z) = 𝓗(z) − 𝓗(z′). [M]"""
    return state_uncertainty(z, power)[a.parent] - state_uncertainty(z_next, power)


def info_gain_objective(z: State, a: Candidates, z_next: State, power: float = 1.0, weight: float = 1.0) -> Tensor:
    """Eq. 5: J(a|z) = IG(a; z) − C(a|z), the cost times a weight that is 1 in the paper. [M]

    Candidates that carry their surprisal pay that instead, see ADR 22.
    """
    known = a.cost if a.surprisal is None else a.surprisal
    cost = immediate_cost(z, a) if known is None else known
    return information_gain(z, a, z_next, power) - (cost if weight == 1 else weight * cost)


def surprisal(z: State, a: Candidates) -> Tensor:
    """−Σ_{ℓ∈A} log p_ℓ(x_ℓ): what Eq. 2 is the mean of, over tokens drawn from p. [M]

    For candidates as a sampler proposes them, equally many for each row of the state.
    """
    p = z.p.probability(a.tokens.view(len(z.cost), -1, a.tokens.shape[-1])).flatten(0, 1)
    return total(masked_or(-p.clamp(min=torch.finfo(p.dtype).tiny).log(), a.chosen))


def select(score: Tensor, sizes: Sequence[int], beam: int) -> tuple[Index, list[int]]:
    """Sec. 3.2.2, transition: the best `beam` of each run of `sizes` scores, in their old order; ties to the first.

    Returns their indices and how many each run keeps.
    """
    counts = [min(size, beam) for size in sizes]
    if list(sizes) == counts:
        return ALL, counts  # no copy
    widest, first = max(sizes), accumulate(sizes, initial=0)
    if len(score) == len(sizes) * widest:
        index = counting(len(score), score.device).view(len(sizes), widest)
    else:  # a short run is filled up with its first score; as ties go to the first, the fillers never win
        padded = [[at + j * (j < size) for j in range(widest)] for at, size in zip(first, sizes, strict=False)]
        index = upload(padded, score.device)
    table = score[index]
    if beam == 1:
        return index.gather(1, table.argmax(-1, keepdim=True)).flatten(), counts
    table[:, 1:].masked_fill_(index[:, 1:] == index[:, :1], -torch.inf)  # nor are they ranked
    best = table.argsort(dim=-1, descending=True, stable=True)[:, :beam].sort(-1).values
    best = index.gather(1, best).flatten()
    if min(counts) == beam:
        return best, counts
    return best[upload([i * beam + j for i, count in enumerate(counts) for j in range(count)], score.device)], counts
