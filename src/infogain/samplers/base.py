"""What a sampler is: a value that proposes candidate actions and scores the states they lead to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from infogain import noise
from infogain.device import counting
from infogain.errors import OptionError
from infogain.marginals import Marginals
from infogain.options import HOTTEST, Options, Registry, option
from infogain.state import Candidates, State, only
from infogain.vocabulary import Vocabulary


class Words(Protocol):
    """What a sampler may know of the tokenizer that belongs to a model."""

    @property
    def vocabulary(self) -> str:
        """A fingerprint of all tokens and their ids."""


@dataclass(frozen=True)
class Traits:
    """What may be known of a sampler before it runs."""

    beam: int = 1  # hypotheses kept per group
    copies: int = 1  # independent decodes per prompt, the least H̃ of which is returned
    candidates: int = 1  # actions proposed for each hypothesis in a step
    memory: int = 0  # earlier steps whose marginals `State.before` must hold
    adaptive: bool = False  # a step may commit more tokens than the schedule's budget
    erases: bool = False  # an action may write the mask token over columns of its block that were written before
    draws: bool = True  # another seed may give another text; where not, a second decode of a prompt tells nothing new
    draws_positions: bool = True  # another seed may choose other positions of a canvas; where not, they are one choice


class Sampler(Options):
    """Table 6: expand (`propose`) → evaluate (the loop) → select (`score`)."""

    purpose: ClassVar[str] = ""  # in words, what one would take it for
    criteria: ClassVar[str] = ""  # what it maximises at each step
    sensitivity: ClassVar[str] = "–"  # to temperature, where the paper says
    greedy: ClassVar[bool] = True  # chooses positions by immediate certainty alone

    @property
    def traits(self) -> Traits:
        """Say where this sampler differs from the usual; it may depend on the options."""
        return Traits()

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse a vocabulary this sampler cannot work with, before any work is done."""

    def check_tokenizer(self, tokenizer: Words) -> None:
        """Refuse the tokenizer of a model that this sampler's settings were not made for; asked where there is one."""

    def propose(self, z: State, budget: Tensor) -> Candidates:
        """Where to write, and what: one or more candidates per row. `budget` is K_t. [R]"""
        raise NotImplementedError

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        """The worth of each candidate, higher is better; ties go to the first. [M]"""
        return torch.zeros_like(z_next.cost)


SAMPLERS: Registry[Sampler] = Registry("sampler", {})


@dataclass(frozen=True)
class Drawing(Sampler):
    """A sampler that draws its tokens at a temperature."""

    tau_token: float = option(0.7, "token temperature; 0 takes the most likely token", low=0, high=HOTTEST)
    top_k: int | None = option(None, "draw among the k most likely tokens only; unset: among all", low=1)
    top_p: float | None = option(
        None, "draw among the fewest tokens that hold this probability; unset: all", above=0, high=1
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
        """Sec. 2, token sampling: one token for every column of n candidates. [R, N, W]"""
        if self.tau_token == 0:  # no dice
            return z.p.argmax[:, None].expand(-1, n, -1)
        u = noise.of_blocks(noise.uniform, noise.TOKEN, z, n)
        return z.p.draw(self.tau_token, u, self.top_k, self.top_p)


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
    return only(key, masked, -torch.inf).argsort(dim=-1, descending=True, stable=True)


def top(order: Tensor, count: Tensor) -> Tensor:
    """Eq. 1: the first `count` columns of an ordering, as a mask. [..., W], [...] -> [..., W]"""
    first = counting(order.shape[-1], order.device) < count[..., None]
    return torch.empty_like(order, dtype=torch.bool).scatter_(-1, order, first.expand(order.shape))
