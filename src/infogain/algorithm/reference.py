"""Listings 1 and 2 of the paper in plain Python, to be read beside it: one row, lists, no batch and no cache.

Nothing of the package imports this page; tests hold the loop to it, token for token. It says what the listings leave
open: blocks and the bypass (Sec. 3.2.3), K columns a step, when a text ends (ADR 10), what a state is worth (ADR 3).

A canvas z is a list of token ids, MASK_ID where a token is to be written. A model is a function: model(z) gives p, and
p[c] is the distribution over all tokens in column c. Entropies are in nats; H̃ is their sum over all columns written.

No draw comes from a generator: each is looked up in `infogain.algorithm.noise` by its name, which is (seed, stream,
step of the block, candidate, column). The loop looks up the same names for many rows at once, so both get the same
numbers.

Two tokens a step, once greedily (one candidate) and once by looking ahead:

>>> from infogain.algorithm.reference import MASK_ID, Hyperparameters, exact_model, ig_beam, info_gain_sampler
>>> texts = {"2*3=06": 1, "3*2=06": 2, "3*5=15": 3, "5*3=15": 4, "5*7=35": 5, "7*5=35": 6}  # how often each occurs
>>> alphabet = "*=0123567"
>>> model = exact_model({tuple(map(alphabet.index, text)): count for text, count in texts.items()})
>>> z = [MASK_ID if character == "_" else alphabet.index(character) for character in "_*_=__"]
>>> for n in (1, 8):
...     row, cumulative_entropy = info_gain_sampler(model, z, Hyperparameters(n=n, k=2))
...     print(n, "".join(alphabet[token] for token in row), round(cumulative_entropy, 2))
1 7*7=35 2.77
8 5*3=15 1.68
>>> row == ig_beam(model, z, Hyperparameters(n=8, k=2), beam_size=1)[0]
True
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate

import torch

from infogain.algorithm import noise

MASK_ID = -1

Row = list[int]  # z: the tokens of a canvas
Action = dict[int, int]  # a: the columns to write, and the token for each
Distribution = list[float]
State = tuple[Row, list[Distribution]]  # z and p = model(z)
Model = Callable[[Row], list[Distribution]]


@dataclass(frozen=True)
class Hyperparameters:
    n: int = 8  # N, candidate actions
    k: int = 1  # K, columns written in a step
    gamma: float = 0.8  # γ of the bypass; 1 turns it off
    bypass_of: str = "top1"  # whose probability γ is held against, by its name in CERTAINTY
    tau_token: float = 0.7
    tau_pos: float = 0.1
    phi: str = "drawn"  # φ, by its name in CERTAINTY
    gain_power: float = 1.0  # 𝓗 = Σ H / |M|^power: 1 is the paper's mean
    cost_of: str = "entropy"  # of Listing 1: what J counts as the cost of a token, by its name in PRICES
    draws: str = "fresh"  # numbers that tokens are drawn by, see `token_noise`
    tau_select: float = 0.0  # of Listing 1: one of the candidates is taken by softmax(J/τ); 0: the best
    block: int | None = None  # columns of a block; None: all are one
    eos_id: int | None = None  # a text ends with the block in which this token is written
    seed: int = 0


def info_gain_sampler(model: Model, z: Row, h: Hyperparameters) -> tuple[Row, float]:
    """Listing 1: Info-Gain Sampler. Gives the finished canvas and its H̃."""
    start, cumulative_entropy = z, 0.0
    for block in blocks(start, h.block):
        if ended(start, z, h.eos_id):
            break
        # Initial forward pass
        p = model(z)
        for t in range(steps(start, block, h.k)):
            # 1. Sample candidate actions
            candidates = action_sampler(p, masks(z, block), t, h, h.seed)
            # 2. Parallel evaluation
            z_candidates = [apply(z, a) for a in candidates]
            p_candidates = [model(z_next) for z_next in z_candidates]
            scores = [
                information_gain((z, p), (z_next, p_next), block, h.gain_power) - PRICES[h.cost_of](p, a)  # Eq. 5: J
                for a, z_next, p_next in zip(candidates, z_candidates, p_candidates, strict=True)
            ]
            # 3. State transition
            distinct_candidates = [i for i, a in enumerate(candidates) if candidates.index(a) == i]
            luck = [h.tau_select * gumbel(h.seed, noise.SELECT, t, i, block.start) for i in range(len(candidates))]
            best = max(distinct_candidates, key=lambda i: scores[i] + luck[i])
            cumulative_entropy += immediate_cost(p, candidates[best])
            z, p = z_candidates[best], p_candidates[best]
    return filled(z, h.eos_id), cumulative_entropy


def ig_beam(model: Model, z: Row, h: Hyperparameters, beam_size: int = 4) -> tuple[Row, float]:
    """Listing 2: Info-Gain Beam Search. Gives the finished canvas of least H̃, and that H̃.

    Here g is −H̃ and f is g − 𝓗(z). Within a block f is Σ J up to a constant, so that a beam of one is Listing 1.
    """
    # Initialize the queue
    start, beam, finished = z, [(z, 0.0)], []
    for block in blocks(start, h.block):
        finished += [(z, g) for z, g in beam if ended(start, z, h.eos_id)]
        beam = [(z, g) for z, g in beam if not ended(start, z, h.eos_id)]
        for t in range(steps(start, block, h.k)):
            next_beam_candidates, next_f = [], []
            # Expand each beam
            for number, (z, g) in enumerate(beam):
                # 1. Action sampling
                p = model(z)
                candidates = action_sampler(p, masks(z, block), t, h, hypothesis_seed(h.seed, number))
                # 2. Update beam candidates
                for a in candidates:
                    z_next = apply(z, a)
                    transition_score = -immediate_cost(p, a)
                    state_value = -state_uncertainty((z_next, model(z_next)), block, h.gain_power)
                    next_beam_candidates.append((z_next, g + transition_score))
                    next_f.append(g + transition_score + state_value)
            # 3. Selection
            kept_indices = sorted(distinct(next_beam_candidates), key=lambda i: -next_f[i])[:beam_size]
            beam = [next_beam_candidates[i] for i in sorted(kept_indices)]
    best_z, best_g = max(finished + beam, key=lambda x: round(x[1], 6))  # less than a millionth of a nat is a tie
    return filled(best_z, h.eos_id), -best_g


def action_sampler(p: list[Distribution], masked: list[int], t: int, h: Hyperparameters, seed: int) -> list[Action]:
    """Sec. 3.2.2, action sampling: n actions, each with tokens and K columns of its own.

    Sec. 3.2.3, high-confidence bypass: columns above γ come first in every action, with one token for all of them.
    """
    first = {c: draw(p[c], h.tau_token, token_noise(h, seed, t, 0, c)) for c in masked}  # tokens of candidate 0
    sure = {c: CERTAINTY[h.bypass_of](p[c], first[c]) for c in masked}
    pinned = [c for c in masked if sure[c] > h.gamma]
    free = [c for c in masked if c not in pinned]
    candidates = []
    for i in range(h.n if len(masked) > h.k else 1):  # actions that fill the block are worth the same: one will do
        number = {c: token_noise(h, seed, t, 0 if c in pinned else i, c) for c in masked}
        token = {c: draw(p[c], h.tau_token, number[c]) for c in masked}
        tau = h.tau_pos if i > 0 else 0.0  # candidate 0 is the greedy action
        key = {c: CERTAINTY[h.phi](p[c], token[c]) + tau * gumbel(seed, noise.POSITION, t, i, c) for c in free}
        order = sorted(pinned, key=lambda c: -sure[c]) + sorted(free, key=lambda c: -key[c])
        candidates.append({c: token[c] for c in order[: h.k]})
    return candidates


CERTAINTY: dict[str, Callable[[Distribution, int], float]] = {  # φ of a column, given the token drawn there
    "drawn": lambda p, token: p[token],
    "top1": lambda p, token: max(p),
    "entropy": lambda p, token: -entropy(p),
    "margin": lambda p, token: sorted(p)[-1] - sorted(p)[-2],
}


def entropy(p: Distribution) -> float:
    """H = −Σ p log p."""
    return -sum(x * math.log(x) for x in p if x > 0)


def immediate_cost(p: list[Distribution], a: Action) -> float:
    """Eq. 2: C(a|z) = Σ_{ℓ∈A} H_ℓ(z)."""
    return sum(entropy(p[c]) for c in sorted(a))  # left to right: equal costs are equal to the last bit


def surprisal(p: list[Distribution], a: Action) -> float:
    """−Σ_{ℓ∈A} log p_ℓ(x_ℓ): what the tokens themselves cost, where Eq. 2 is the mean over what could be drawn."""
    return -sum(math.log(p[c][a[c]]) for c in sorted(a))


PRICES: dict[str, Callable[[list[Distribution], Action], float]] = {"entropy": immediate_cost, "surprisal": surprisal}


def state_uncertainty(state: State, block: range, power: float) -> float:
    """Eq. 3: 𝓗(z), the mean H of the columns still masked in the block; 0 where none is."""
    z, p = state
    masked = masks(z, block)
    return sum(entropy(p[c]) for c in masked) / len(masked) ** power if masked else 0.0


def information_gain(now: State, then: State, block: range, power: float) -> float:
    """Eq. 4: IG(a; z) = 𝓗(z) − 𝓗(z′)."""
    return state_uncertainty(now, block, power) - state_uncertainty(then, block, power)


def distinct(beam_candidates: list[tuple[Row, float]]) -> list[int]:
    """One index for each canvas: of those that reach it, the first of least H̃ = −g."""
    best: dict[tuple[int, ...], int] = {}
    for i, (z, g) in enumerate(beam_candidates):
        if g > beam_candidates[best.setdefault(tuple(z), i)][1]:
            best[tuple(z)] = i
    return sorted(best.values())


def blocks(z: Row, width: int | None) -> list[range]:
    """Eq. 12: the columns that are decoded together, counted from the first mask."""
    first, width = (z.index(MASK_ID) if MASK_ID in z else len(z)), width or len(z)
    return [range(c, min(c + width, len(z))) for c in range(first, len(z), width)]


def masks(z: Row, block: range) -> list[int]:
    return [c for c in block if z[c] == MASK_ID]


def steps(z: Row, block: range, k: int) -> int:
    """How many steps fill a block: K_t is K, and what is left in the last step."""
    return math.ceil(len(masks(z, block)) / k)


def apply(z: Row, a: Action) -> Row:
    return [a.get(c, token) for c, token in enumerate(z)]


def ended(start: Row, z: Row, eos_id: int | None) -> bool:
    """Whether a block before this one has written the token that ends a text."""
    return any(was == MASK_ID and token == eos_id for was, token in zip(start, z, strict=True))


def filled(z: Row, eos_id: int | None) -> Row:
    """Masks are left only where a text ended early: the blocks behind its end."""
    return [eos_id if token == MASK_ID and eos_id is not None else token for token in z]


def draw(p: Distribution, tau_token: float, u: float) -> int:
    """Sec. 2, token sampling: the token of p^(1/τ) at which the sum of probabilities passes u; τ = 0: the likeliest."""
    if tau_token == 0:
        return p.index(max(p))
    mass = list(accumulate(x ** (1 / tau_token) for x in p))
    return bisect(mass, u * mass[-1])


def token_noise(h: Hyperparameters, seed: int, t: int, i: int, c: int) -> float:
    """The number by which candidate i draws a token for column c in step t; `seed` is the hypothesis's.

    "shared": candidate 0's for all. "fixed": also step 0's and the attempt's, one for the whole decode.
    """
    if h.draws == "fixed":
        return uniform(h.seed, noise.TOKEN, 0, 0, c)
    return uniform(seed, noise.TOKEN, t, 0 if h.draws == "shared" else i, c)


def uniform(seed: int, *name: int) -> float:
    return float(noise.uniform(torch.tensor(seed), *name))


def gumbel(seed: int, *name: int) -> float:
    return float(noise.gumbel(torch.tensor(seed), *name))


def hypothesis_seed(seed: int, number: int) -> int:
    """Each hypothesis of a beam draws for itself; the first draws as a row without a beam does."""
    return int(noise.fork(torch.tensor(seed), noise.HYPOTHESIS, torch.tensor(number)))


def exact_model(weights: Mapping[tuple[int, ...], float]) -> Model:
    """A model that knows how often each row occurs: p is exact.

    In a canvas that no row agrees with, the tokens that a column ever holds are equally likely there.
    """
    vocab_size = max(map(max, weights)) + 1

    def model(z: Row) -> list[Distribution]:
        agree = {x: w for x, w in weights.items() if all(a in (MASK_ID, b) for a, b in zip(z, x, strict=True))}
        return [marginal(c, agree) for c in range(len(z))]

    def marginal(c: int, agree: Mapping[tuple[int, ...], float]) -> Distribution:
        mass = [0.0] * vocab_size
        for x, w in agree.items():
            mass[x[c]] += w
        if not agree:
            mass = [float(any(x[c] == token for x in weights)) for token in range(vocab_size)]
        return [m / sum(mass) for m in mass]

    return model
