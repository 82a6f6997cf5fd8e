"""What a sampler is: a value that proposes candidate actions and scores the states they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from infogain.algorithm.state import Candidates, State
from infogain.algorithm.vocabulary import Vocabulary
from infogain.options import Options, Registry


class TokenizerInfo(Protocol):
    """All that a sampler may know of a model's tokenizer."""

    @property
    def vocabulary(self) -> str:
        """A fingerprint of all tokens and their ids."""


@dataclass(frozen=True)
class Traits:
    """All that the loop knows of a sampler before it runs."""

    beam: int = 1  # hypotheses kept per attempt
    copies: int = 1  # independent decodes per prompt, the least H̃ of which is returned
    candidates: int = 1  # actions proposed for each hypothesis in a step
    memory: int = 0  # earlier steps whose marginals `State.before` must hold
    adaptive: bool = False  # a step may commit more tokens than the schedule's budget
    erases: bool = False  # an action may write the mask token over columns of its block that were written before
    draws: bool = True  # another seed may give another text; where not, a second decode of a prompt tells nothing new
    draws_positions: bool = True  # another seed may choose other positions of a canvas; where not, they are one choice


class Sampler(Options):
    """Table 6: expand (`propose`) → evaluate (the loop) → select (`score`)."""

    purpose: ClassVar[str] = ""  # in a sentence or two: what it does, and when to use it
    criteria: ClassVar[str] = ""  # what it maximises at each step
    sensitivity: ClassVar[str] = "–"  # to temperature, where the paper says
    greedy: ClassVar[bool] = True  # chooses positions by immediate certainty alone

    @property
    def traits(self) -> Traits:
        """Say where this sampler differs from the usual; it may depend on the options."""
        return Traits()

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuse a vocabulary this sampler cannot work with, before any work is done."""

    def check_tokenizer(self, tokenizer: TokenizerInfo) -> None:
        """Refuse a tokenizer that this sampler's settings were not made for; called if the model has one."""

    def propose(self, z: State, budget: Tensor) -> Candidates:
        """Candidates for each row, one or more: which columns to write, and what. `budget` is K_t. [R]"""
        raise NotImplementedError

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        """The worth of each candidate, higher is better; ties go to the first. [M]"""
        return torch.zeros_like(z_next.cost)


SAMPLERS: Registry[Sampler] = Registry("sampler", {})
