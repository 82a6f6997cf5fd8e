"""PC-Sampler: confidence corrected for token frequency and weighted by position."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from infogain.algorithm.state import State
from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import OptionError
from infogain.options import option
from infogain.samplers.actions import Greedy, drawn
from infogain.samplers.base import SAMPLERS, TokenizerInfo
from infogain.samplers.frequencies import check_vocabulary, find_table, read_frequencies


@SAMPLERS.register("pc")
@dataclass(frozen=True)
class PC(Greedy):
    """Eq. 11: φ = e^{−λℓ} · min(α, −p(x) log f(x)), ℓ counted from the block's start, f a token's frequency.

    Settings of its authors: λ = .25 for math and code, 0 for Sudoku, .5 to 1 for Countdown; α = 10.
    """

    purpose: ClassVar[str] = "Like confidence, but distrusts frequent tokens. For models that write filler early."
    criteria: ClassVar[str] = "Σ_A w_ℓ · C_ℓ"
    sensitivity: ClassVar[str] = "Moderate"

    lam: float = option(0.25, "λ: how fast the weight falls with the position", low=0)
    alpha: float = option(10.0, "α: cap of the corrected confidence", above=0)
    frequencies: str | None = option(
        None, "table written by `infogain frequencies`, or zoo:tiny-reason; unset: all tokens equally frequent"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frequencies is not None and not find_table(self.frequencies).is_file():
            raise OptionError(
                f"pc: frequencies must name a file; {self.frequencies!r} is none. "
                "Write one with `infogain frequencies`."
            )

    def check(self, vocabulary: Vocabulary) -> None:
        super().check(vocabulary)
        if self.frequencies is not None:
            read_frequencies(self.frequencies, vocabulary.size)

    def check_tokenizer(self, tokenizer: TokenizerInfo) -> None:
        if self.frequencies is not None:
            check_vocabulary(self.frequencies, tokenizer.vocabulary)

    @property
    def phi_draws(self) -> bool:
        return True

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        content = drawn(z, tokens) * _surprise(self.frequencies, z.p.vocabulary.size, z.masked.device)[tokens]
        offset = torch.arange(tokens.shape[1], device=tokens.device)
        return content.clamp(max=self.alpha) * torch.exp(-self.lam * offset)


@lru_cache(maxsize=8)
def _surprise(path: str | None, size: int, device: torch.device) -> Tensor:
    """−log(f + 1e-9) for every token. [V]"""
    frequency = torch.full([size], 1 / size, dtype=torch.float64) if path is None else read_frequencies(path, size)
    return -(frequency + 1e-9).log().to(device)
