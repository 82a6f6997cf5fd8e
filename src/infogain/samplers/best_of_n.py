"""Best-of-N: independent decodes with any sampler, the one of least H̃ is returned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from infogain.algorithm.state import Candidates, State
from infogain.algorithm.vocabulary import Vocabulary
from infogain.options import option
from infogain.samplers.base import SAMPLERS, Sampler, TokenizerInfo, Traits


@SAMPLERS.register("best-of-n")
@dataclass(frozen=True)
class BestOfN(Sampler):
    """Fig. 4, the baseline: N decodes of each prompt side by side, least H̃ wins."""

    purpose: ClassVar[str] = (
        "Decodes n times with another sampler and keeps the text of least H̃. For single answers, at n times the cost."
    )
    criteria: ClassVar[str] = "−H̃ over n decodes of the base"
    greedy: ClassVar[bool] = False

    n: int = option(8, "independent decodes per prompt", low=1)
    base: Sampler = option("confidence", "sampler of each decode")

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", SAMPLERS.parse(self.base))
        super().__post_init__()

    @property
    def traits(self) -> Traits:
        base = self.base.traits
        return replace(base, copies=self.n * base.copies)

    def check(self, vocabulary: Vocabulary) -> None:
        self.base.check(vocabulary)

    def check_tokenizer(self, tokenizer: TokenizerInfo) -> None:
        self.base.check_tokenizer(tokenizer)

    def propose(self, z: State, budget: Tensor) -> Candidates:
        return self.base.propose(z, budget)

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        return self.base.score(z, a, z_next)
