"""The paper's objective, Eq. 2–5: the page to read beside Sec. 3.2.

`z` is the current state, `a` a candidate action, `z_next` the state after it. Entropies are summed
over the masked positions of the active block only (Eq. 12 restricts both score and gain to it).
"""

from __future__ import annotations

from torch import Tensor

from infogain.algorithm.state import Candidates, State, only, total


def immediate_cost(z: State, a: Candidates) -> Tensor:
    """Eq. 2: C(a|z) = Σ_{ℓ∈A} H_ℓ(z), the term that cumulative entropy H̃ adds up over the steps. [M]"""
    return total(only(z.p.entropy[a.parent], a.chosen))


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


def info_gain_objective(z: State, a: Candidates, z_next: State, power: float = 1.0) -> Tensor:
    """Eq. 5: J(a|z) = IG(a; z) − C(a|z). [M]"""
    return information_gain(z, a, z_next, power) - (immediate_cost(z, a) if a.cost is None else a.cost)
