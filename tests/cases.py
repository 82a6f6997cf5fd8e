"""What the laws are tried on: every sampler in several settings, several layouts of blocks, small exact models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from infogain import Canvas, Vocabulary
from infogain.algorithm.marginals import Marginals
from infogain.algorithm.state import LINES, Draft
from infogain.models import Denoiser, Tabular, Wrapper, random_joint
from infogain.samplers import SAMPLERS, LookAhead, Sampler, make

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "uniform": [{}],
    "ar": [{}, {"tau_pos": 0.5}],
    "confidence": [{"of": "top1"}, {"of": "drawn"}, {"tau_pos": 0.3}, {"tau_token": 0.0}],
    "entropy": [{}, {"tau_pos": 0.3}, {"top_k": 2}, {"top_p": 0.8}],
    "margin": [{}, {"tau_pos": 0.3}],
    "klass": [{}, {"tau_pos": 0.3}, {"variant": "original", "epsilon": 0.5, "threshold": 0.3}],
    "pc": [{}, {"lam": 0.0, "tau_pos": 0.3}],
    "eb": [{}, {"bound": 1.0}],
    "threshold": [{"threshold": 0.4}, {"variant": "factor", "factor": 2.0}, {"tau_pos": 0.3}],
    "lookum": [{"gamma": 1.0}, {"gamma": 0.4, "metric": "top1"}, {"metric": "margin"}],
    "info-gain": [
        {"gamma": 1.0},
        {"gamma": 0.4},
        {"gamma": 0.6, "phi": "entropy", "tau_pos": 0.4},
        {"phi": "margin", "gain_power": 0.0},
        {"n": 3, "phi": "top1", "gain_power": 0.5, "tau_token": 0.0},
    ],
    "info-gain-beam": [{"width": 1, "n": 4}, {"width": 3, "n": 4, "gamma": 1.0}, {"width": 2, "n": 4, "gamma": 0.4}],
    "best-of-n": [
        {"n": 2, "base": "entropy"},
        {"n": 2, "base": {"name": "info-gain", "n": 3, "gamma": 0.4}},
        {"n": 2, "base": {"name": "eb", "bound": 1.0}},
        {"n": 2, "base": {"name": "info-gain-beam", "width": 2, "n": 3}},
    ],
}
assert set(SETTINGS) == set(SAMPLERS), "a sampler without a case here would pass every law"

ALL: list[Sampler] = [make(name, **options) for name, settings in SETTINGS.items() for options in settings]

# Whose random numbers draw tokens, and by which a candidate is taken. Not among ALL, whose decodes are kept.
DRAWS: list[Sampler] = [
    *(make("info-gain", n=4, gamma=0.6, draws=draws, tau_select=0.4) for draws in ("fresh", "shared", "fixed")),
    make("info-gain", n=4, gamma=0.6, need=1.5, cost_weight=0.5),
    make("info-gain", n=4, gamma=0.4, cost_of="surprisal", bypass_of="drawn"),
    make("info-gain-beam", n=3, width=2, gamma=0.4, bypass_of="drawn"),
    *(make("info-gain-beam", n=3, width=3, draws=draws) for draws in ("shared", "fixed")),
    make("lookum", n=4, draws="shared", tau_select=0.1),
    make("lookum", n=4, draws="fixed"),
    make("uniform", draws="fixed"),
    make("klass", variant="original", epsilon=0.5, threshold=0.3, draws="fixed"),
    make("best-of-n", n=2, base={"name": "info-gain", "n": 3, "draws": "fixed", "tau_select": 0.4}),
]


def label(sampler: Sampler) -> str:
    defaults = make(sampler.name)
    changed = {k: v for k, v in vars(sampler).items() if v != getattr(defaults, k)}
    shown = {k: v.name if isinstance(v, Sampler) else v for k, v in changed.items()}
    return sampler.name + "".join(f",{k}={v}" for k, v in shown.items())


def without_bypass(sampler: Sampler) -> bool:
    return not isinstance(sampler, LookAhead) or sampler.gamma == 1


@dataclass(frozen=True)
class Layout:
    """How a canvas is cut: generated lengths of a ragged batch, the block, and how masks lie."""

    name: str
    lengths: tuple[int, ...]
    prompts: tuple[int, ...]
    block: int | None

    def canvas(self, model: Tabular, infill: bool = False) -> Canvas:
        prompts = [_known(model, i, n) for i, n in enumerate(self.prompts)]
        if not infill:
            return Canvas.from_prompts(prompts, self.lengths, model.mask_id)
        rows = [[*p, *[model.mask_id] * n] for p, n in zip(prompts, self.lengths, strict=True)]
        for row in rows:  # a known token between the masks
            row[len(row) // 2] = 0
        return Canvas.infill(rows, model.mask_id)


def _known(model: Tabular, i: int, n: int) -> list[int]:
    return [int(token) for token in model.sequences[i % len(model.sequences), :n]]


LENGTH = 7  # columns of the exact model
LAYOUTS = [
    Layout("one-block", (5,), (2,), None),
    Layout("several-blocks", (6,), (1,), 2),
    Layout("indivisible", (7,), (0,), 3),
    Layout("ragged-one-block", (5, 3, 7, 1), (2, 4, 0, 3), None),
    Layout("ragged-blocks", (6, 2, 7, 4), (1, 3, 0, 2), 3),
]

MODEL = random_joint(LENGTH, 3, seed=1, support=500)


class Counting(Wrapper):
    """A model that counts its calls and keeps what it was asked."""

    def __init__(self, model: Denoiser) -> None:
        super().__init__(model)
        self.prefills = 0
        self.evaluations: list[Tensor] = []
        self.columns_read = 0  # of every row that was read

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        self.prefills += 1
        self.columns_read += int(canvas.length.sum())
        return self.inner.prefill(canvas, start, width, end)

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        self.evaluations.append(tokens)
        self.columns_read += int(context.length[row].sum())
        logits: Tensor = self.inner(tokens, context, row, max_per_row)
        return logits

    @property
    def calls(self) -> int:
        return self.prefills + len(self.evaluations)


def vocabulary_of(count: int, mask_id: int) -> Vocabulary:
    """A vocabulary of logits `count` wide; the mask may lie outside of them."""
    return Vocabulary(max(count, mask_id + 1), mask_id, count=count)


def marginals(logits: Tensor, mask_id: int) -> Marginals:
    return Marginals.of(logits, vocabulary_of(logits.shape[-1], mask_id))


def rows(canvas: Canvas, chosen: Sequence[int]) -> Canvas:
    """Some rows of a canvas, as one would build them alone."""
    return Canvas.infill([canvas.rows()[i] for i in chosen], canvas.mask_id)


def same_tokens(a: Tensor, b: Tensor) -> bool:
    width = min(a.shape[-1], b.shape[-1])
    return torch.equal(a[..., :width], b[..., :width])


def draft_of(tokens: Tensor, masked: Tensor, cost: Tensor | None = None, **lines: Tensor | int) -> Draft:
    """Blocks that show these tokens, with these lines in their table; a line that is not named is 0. [R, W] each"""
    zero = torch.zeros(len(tokens), dtype=torch.int64)
    table = torch.stack([zero + lines.get(name, masked.sum(-1) if name == "left" else 0) for name in LINES])
    return Draft(table, zero.double() if cost is None else cost, tokens, masked, torch.full_like(tokens, -1))
