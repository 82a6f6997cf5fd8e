"""A recipe: every setting of a decode except the model and the canvas, as one value that is stored with each result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from infogain.algorithm.guidance import CONSTANT, GUIDANCE_SHAPES
from infogain.algorithm.schedule import SCHEDULES, Schedule, TokensPerStep
from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import OptionError, UnknownName
from infogain.options import MOST, Options, Plain, fields, option, plain
from infogain.samplers import SAMPLERS, Sampler

EOS_HELP = "stop after a block that holds one of these tokens; for texts unset: the tokenizer's, otherwise unset: none"
BLOCK_HELP = "columns decoded together; 0: all of them; for texts unset: 16, otherwise unset: all of them (global)"


DEFAULT_SAMPLER = "info-gain:validated"  # ADR 22 says why


@dataclass(frozen=True)
class Recipe(Options):
    """All settings of a decode except the model and the canvas. Unset options are filled in by whoever decodes."""

    name: ClassVar[str] = "recipe"

    sampler: Sampler = option(DEFAULT_SAMPLER, "how each step chooses")
    schedule: Schedule = option(TokensPerStep(), "how many tokens each step commits")
    block: int | None = option(None, BLOCK_HELP, low=0, high=MOST)
    order: str = option("sequence", "order of the blocks", choices=("sequence", "random"))
    eos_ids: tuple[int, ...] | None = option(None, EOS_HELP, low=0)
    seed: int = option(0, "one seed for the decode; rows get their own from it", low=-(2**63), high=2**63 - 1)
    guidance: float = option(
        0.0,
        "weight g of guidance: (1 + g) · logits with the prompt − g · logits without it; 0 is none",
        low=0,
        implied=True,
    )
    guidance_shape: str = option(
        CONSTANT,
        "how g changes while a block's masks are filled: rising and cosine from 0, falling to 0",
        choices=tuple(GUIDANCE_SHAPES),
        implied=True,
    )

    def __post_init__(self) -> None:
        if self.guidance_shape != CONSTANT and not self.guidance:
            raise OptionError(
                f"guidance_shape says how guidance changes; it is {self.guidance_shape!r}, and guidance is 0. Give a "
                "weight above 0 (--guidance), or drop the shape."
            )
        object.__setattr__(self, "sampler", SAMPLERS.parse(self.sampler))
        given: Any = self.schedule
        schedule = TokensPerStep(given) if isinstance(given, int) else SCHEDULES.parse(given)  # 2: two tokens per step
        object.__setattr__(self, "schedule", schedule)
        super().__post_init__()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Recipe:
        """The recipe that a plain table holds, as `plain` gives it and TOML files keep it."""
        for key in table:
            if key not in fields(cls):
                raise UnknownName("recipe key", key, fields(cls))
        return cls(**table)

    def check(self, vocabulary: Vocabulary, block_causal: bool, stops: bool = False) -> None:
        """Refuse what a model cannot follow; `stops`: a caller's function may end texts at block ends."""
        self.sampler.check(vocabulary)
        size, mask_id, eos_ids = vocabulary.size, vocabulary.mask_id, self.eos_ids or ()
        if wrong := [eos for eos in eos_ids if eos >= size or eos == mask_id]:
            raise OptionError(
                f"eos_ids must be below the vocabulary of {size} and not the mask id {mask_id}; got {wrong[0]}."
            )
        if unseen := [eos for eos in eos_ids if eos not in vocabulary]:
            raise OptionError(f"eos_ids must be predicted by the model, {vocabulary.span} here; got {unseen[0]}.")
        if block_causal and self.order == "random":
            raise OptionError("a block-causal model needs order='sequence': a block cannot see what comes after it.")
        if stops and (self.order == "random" or self.sampler.traits.beam > 1):
            raise OptionError(
                "`stop` needs order='sequence' and a sampler that keeps one hypothesis; cut the finished text instead."
            )
        if self.order == "random" and eos_ids and self.sampler.traits.beam > 1:
            raise OptionError(
                "order='random' with eos_ids needs a sampler that keeps one hypothesis, for each hypothesis would go "
                "through other blocks. Use order='sequence', or width 1."
            )

    def plain(self) -> Plain:
        """The recipe as a plain table, for JSON and TOML."""
        table = plain(self)
        del table["name"]
        return table
