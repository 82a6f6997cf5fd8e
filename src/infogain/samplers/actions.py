"""Actions: how tokens are drawn and positions ranked, and the two kinds of samplers that are made of it.

A `Greedy` sampler proposes one action (Eq. 1), a `LookAhead` sampler N of them (the Action Sampler of Sec. 3.2.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.marginals import Marginals
from infogain.algorithm.state import Candidates, State, masked_or, total
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import counting, remembered
from infogain.errors import ContractError, OptionError
from infogain.options import HOTTEST, option
from infogain.samplers.base import Sampler, Traits

PINNED_FIRST = 2.0**120  # lifts a probability above every other key; a power of two, so that its digits stay


@dataclass(frozen=True)
class Drawing(Sampler):
    """A sampler that draws its tokens at a temperature."""

    tau_token: float = option(0.7, "token temperature; 0 takes the most likely token", low=0, high=HOTTEST)
    top_k: int | None = option(None, "draw among the k most likely tokens only; unset: among all", low=1)
    top_p: float | None = option(
        None, "draw among the fewest tokens that hold this probability; unset: all", above=0, high=1
    )
    draws: str = option(
        "fresh",
        "random numbers of tokens: fresh for each candidate and step; shared by all candidates of a step; or fixed, "
        "one per position for the whole decode",
        choices=("fresh", "shared", "fixed"),
        implied=True,
    )

    @property
    def traits(self) -> Traits:
        draws = self.tau_token > 0 and self.top_k != 1
        return Traits(draws=draws, draws_positions=draws)

    def check(self, vocabulary: Vocabulary) -> None:
        if self.top_k is not None and self.top_k > vocabulary.count:
            raise OptionError(
                f"{self.name}: top_k must be at most the vocabulary of {vocabulary.count}; got {self.top_k}. "
                "Leave it unset to draw among all tokens."
            )

    def draw(self, z: State, n: int = 1) -> Tensor:
        """Sec. 2, token sampling: one token for every column of n candidates. [R, N, W]

        Where candidates share their numbers, all have candidate 0's.
        """
        if self.tau_token == 0:  # no draw
            return z.p.argmax[:, None].expand(-1, n, -1)
        numbers = n if self.draws == "fresh" else 1
        u = noise.of_blocks(noise.uniform, noise.TOKEN, z, numbers, fixed=self.draws == "fixed")
        return z.p.draw(self.tau_token, u, self.top_k, self.top_p).expand(-1, n, -1)


# φ: how certain a position looks, for tokens [R, N, W] drawn there -> broadcasts to [R, N, W]
METRICS: dict[str, Callable[[Marginals, Tensor], Tensor]] = {
    "drawn": lambda p, tokens: p.probability(tokens),
    "top1": lambda p, tokens: p.confidence[:, None],
    "entropy": lambda p, tokens: -p.entropy[:, None],
    "margin": lambda p, tokens: p.margin[:, None],
}


def certainty(name: str, p: Marginals, tokens: Tensor) -> Tensor:
    """φ(ℓ, z) by its name in METRICS. [R, N, W]"""
    return METRICS[name](p, tokens).expand(tokens.shape)


def drawn(z: State, tokens: Tensor) -> Tensor:
    """p of the token drawn at each position. [R, W] -> [R, W]"""
    return certainty("drawn", z.p, tokens[:, None])[:, 0]


def position_noise(z: State, n: int) -> Tensor:
    """Gumbel noise for every column of n candidates. [R, N, W]"""
    return noise.of_blocks(noise.gumbel, noise.POSITION, z, n)


def ordering(masked: Tensor, key: Tensor) -> Tensor:
    """Columns from the most to the least preferred: masked before the rest, then by key; ties to the left. [..., W]"""
    return masked_or(key, masked, -torch.inf).argsort(dim=-1, descending=True, stable=True)


def top(order: Tensor, count: Tensor) -> Tensor:
    """Eq. 1: the first `count` columns of an ordering, as a mask. [..., W], [...] -> [..., W]"""
    first = counting(order.shape[-1], order.device) < count[..., None]
    return torch.empty_like(order, dtype=torch.bool).scatter_(-1, order, first.expand(order.shape))


def _drawing(tokens: Traits, hot: bool, phi_draws: bool) -> Traits:
    """Traits with positions drawn too: where these are hot, and where φ looks at tokens that are drawn."""
    return replace(tokens, draws=tokens.draws or hot, draws_positions=hot or (phi_draws and tokens.draws))


@dataclass(frozen=True)
class Greedy(Drawing):
    """Eq. 1: draw a token everywhere, keep those at the K most certain positions. A subclass says what certain is."""

    tau_pos: float = option(0.0, "position temperature; 0 takes the most certain positions", low=0, high=HOTTEST)

    @property
    def traits(self) -> Traits:
        return _drawing(super().traits, self.tau_pos > 0, self.phi_draws)

    @property
    def phi_draws(self) -> bool:
        """Whether φ looks at the token drawn at a position; a subclass whose φ does must say so."""
        return False

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        """φ(ℓ, z): how much this sampler prefers each position, given the token drawn there. [R, W]"""
        raise NotImplementedError(f"{type(self).__name__} must say what φ is: define phi(z, tokens) -> [R, W]")

    def temperature(self, z: State) -> float | Tensor:
        """The position temperature of this step: one number, or one for each row [R, 1]. Asked where tau_pos is set."""
        return self.tau_pos

    def count(self, z: State, phi: Tensor, order: Tensor, budget: Tensor) -> Tensor:
        """How many positions to take, down the order of preference. [R]"""
        return budget

    def propose(self, z: State, budget: Tensor) -> Candidates:
        tokens = self.draw(z)  # [R, 1, W]
        phi = self.phi(z, tokens[:, 0])
        if phi.shape != z.masked.shape:
            raise ContractError(
                f"phi must give one number per column, shape {list(z.masked.shape)}; "
                f"{type(self).__name__} gave {list(phi.shape)}."
            )
        phi = phi if phi.is_floating_point() else phi.double()
        key = phi.clamp(min=torch.finfo(phi.dtype).min)  # −inf ranks last among masked columns, before written ones
        key = key + self.temperature(z) * position_noise(z, 1)[:, 0] if self.tau_pos else key
        order = ordering(z.masked, key)
        chosen = top(order, self.count(z, phi, order, budget))
        return Candidates.grid((chosen & z.masked & (phi == phi))[:, None], tokens)  # never where φ is NaN


def leading(holds: Tensor) -> Tensor:
    """How many positions hold before the first that does not. [R, W] -> [R]"""
    return holds.long().cumprod(-1).sum(-1)


@dataclass(frozen=True)
class LookAhead(Drawing):
    """Sec. 3.2.2: N candidate actions, each with its own tokens and positions; `score` picks among their futures."""

    greedy: ClassVar[bool] = False

    n: int = option(8, "candidate actions per step", low=1, hint="Use 1 (greedy) or 8 (the paper's).")
    tau_pos: float = option(0.1, "position temperature of candidates 1…n−1; candidate 0 is greedy", low=0, high=HOTTEST)
    gamma: float = option(
        0.8,
        "bypass: positions whose token has a probability above this come first in every candidate; 1 = off",
        above=0,
        high=1,
    )
    bypass_of: str = option(
        "top1",
        "whose probability gamma is held against: that of the likeliest token, top1, or of the one drawn there",
        choices=("top1", "drawn"),
        implied=True,
    )
    phi: str = option("drawn", "certainty that positions are sampled by", choices=tuple(METRICS))
    tau_select: float = option(
        0.0,
        "temperature of the choice among the distinct candidates of a step; 0 takes the best",
        low=0,
        high=HOTTEST,
        implied=True,
    )

    need: float = option(
        0.0,
        "nats: a step whose greedy action has less entropy than this tries fewer candidates, in proportion; 0 = always "
        "n",
        low=0,
        implied=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau_select and self.traits.beam > 1:
            raise OptionError(
                f"{self.name}: tau_select must be 0 where several hypotheses are kept, for a beam keeps the best; "
                f"got {self.tau_select}. Use a sampler without a beam, such as info-gain."
            )

    @property
    def traits(self) -> Traits:
        looks = self.phi == "drawn" or (self.bypass_of == "drawn" and self.gamma < 1)
        drawing = _drawing(super().traits, self.tau_pos > 0 and self.n > 1, looks)
        return replace(drawing, candidates=self.n)

    def sureness(self, z: State, tokens: Tensor) -> Tensor:
        """The probability that the bypass goes by, given candidate 0's tokens. [R, W]"""
        return certainty(self.bypass_of, z.p, tokens[:, None])[:, 0]

    def pinned(self, z: State, sure: Tensor) -> Tensor:
        """Sec. 3.2.3, high-confidence bypass: positions that come first in every action, the surest before. [R, W]"""
        return z.masked & (sure > self.gamma)

    def propose(self, z: State, budget: Tensor) -> Candidates:
        tokens = self.draw(z, self.n)  # [R, N, W]
        tau = _temperatures(self.tau_pos, self.n, tokens.device)
        key = certainty(self.phi, z.p, tokens) + tau * position_noise(z, self.n)
        if self.gamma < 1 or type(self).pinned is not LookAhead.pinned:
            sure = self.sureness(z, tokens[:, 0])
            pinned = self.pinned(z, sure)[:, None]  # those come first, and have one draw that all candidates share
            tokens = torch.where(pinned, tokens[:, :1], tokens)
            key = torch.where(pinned, sure[:, None] * PINNED_FIRST, key)
        masked = z.masked[:, None]
        chosen = top(ordering(masked, key), budget[:, None]) & masked
        if self.need:
            chosen, tokens = self.as_needed(z, chosen, tokens)
        return Candidates.grid(chosen, tokens, self.selection_noise(z))

    def as_needed(self, z: State, chosen: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Sec. 5, adaptive branching: candidates beyond 1 + (n − 1) · C/need, C the greedy action's cost, repeat it.

        Of candidates that are equal the loop evaluates one. [R, N, W] each
        """
        cost = total(masked_or(z.p.entropy, chosen[:, 0]))  # [R]
        tried = 1 + ((self.n - 1) * (cost / self.need).clamp(max=1)).floor()
        spare = (counting(self.n, cost.device) >= tried[:, None])[..., None]
        return torch.where(spare, chosen[:, :1], chosen), torch.where(spare, tokens[:, :1], tokens)

    def selection_noise(self, z: State) -> Tensor | None:
        """Gumbel noise: the best of J + noise is a draw from softmax(J/τ). None: the best of J is taken. [R, N]"""
        if self.tau_select == 0:  # no draw
            return None
        return self.tau_select * noise.of_candidates(noise.gumbel, noise.SELECT, z, self.n)


@remembered
def _temperatures(tau: float, n: int, device: torch.device) -> Tensor:
    """0 for candidate 0, so that look-ahead never does without the greedy action. [N, 1]"""
    return tau * (counting(n, device) > 0).double()[:, None]
