"""The settings of a training run that do not depend on what is learnt: sizes, rows, steps, rates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from infogain.errors import InputError
from infogain.models.families.spec import Spec


def setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class RunSettings(ABC):
    """A transformer's sizes, and how it is trained."""

    layers: int = setting(8, "of the transformer")
    width: int = setting(256, "of its activations")
    heads: int = setting(8, "of its attention")
    intermediate: int = setting(688, "width inside its SwiGLU")
    rows: int = setting(512, "texts of a task, or images, in a step; times the share of a task")
    steps: int = setting(6000, "at most")
    minutes: float = setting(0.0, "end the schedule after this long if the steps take longer; 0: no limit")
    rate: float = setting(1e-3, "highest learning rate")
    warm_up: float = setting(0.02, "share of the run in which the rate rises")
    weight_decay: float = setting(0.1, "of matrices")
    average: float = setting(0.999, "memory of the averaged weights, which are the ones kept")
    clip: float = setting(1.0, "largest norm of a gradient")
    seed: int = setting(0, "of weights, rows and masks")

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise InputError(f"width must be a multiple of twice the heads; got {self.width} and {self.heads} heads.")

    @property
    @abstractmethod
    def shares(self) -> dict[str, float]:
        """The share of each task in a step, by which its rows and its loss are multiplied."""

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The shape of the transformer."""

    def rows_of(self, name: str) -> int:
        """The rows of a task in a step, at least one."""
        return max(1, round(self.shares[name] * self.rows))

    def spec_of(self, ids: int, mask_id: int, eos_ids: tuple[int, ...] = ()) -> Spec:
        """The shape of a transformer over so many ids."""
        return Spec(
            family="llada",
            vocab_size=ids,
            hidden=self.width,
            layers=self.layers,
            heads=self.heads,
            kv_heads=self.heads,
            head_dim=self.width // self.heads,
            intermediate=self.intermediate,
            rope_theta=10000.0,
            norm_eps=1e-5,
            mask_id=mask_id,
            eos_ids=eos_ids,
            rope_in_float32=True,
        )
