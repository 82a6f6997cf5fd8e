"""Counts how often the bypass spared a look-ahead: on the device step by step, read when a text is done."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from infogain.loop.step import StepEvent
from infogain.recipe import Recipe
from infogain.samplers import LookAhead


def look_ahead_of(recipe: Recipe) -> LookAhead | None:
    """The sampler, if it has a bypass; only those that look ahead do."""
    return recipe.sampler if isinstance(recipe.sampler, LookAhead) else None


def decisions(event: StepEvent, sampler: LookAhead) -> Tensor:
    """Three flags of each hypothesis: it had a choice, the bypass decided it, one candidate was left. [3, R]

    The first candidate that is left of a hypothesis stands for its candidate 0. Only in a beam that may be another.
    """
    z, a = event.z, event.a
    candidates = torch.zeros_like(z.left).index_add(0, a.parent, torch.ones_like(a.parent))
    first = (candidates.cumsum(0) - candidates).clamp(max=len(a.parent) - 1)  # each hypothesis's first candidate
    budget = a.chosen.sum(-1)[first]  # K_t, the same for all its candidates
    choice = (z.left > budget) & (candidates > 0)  # of a beam's hypotheses one may do what another does
    pinned = sampler.pinned(z, sampler.sureness(z, a.tokens[first])).sum(-1) >= budget
    return torch.stack([choice, choice & pinned, choice & (candidates == 1)])


class BypassCount:
    """An observer that counts for each row of a job, whatever batches it is decoded in; rows are told apart by seed."""

    def __init__(self, recipe: Recipe) -> None:
        self.sampler = look_ahead_of(recipe)
        self.unread: list[tuple[list[int], Tensor, Tensor]] = []
        self.counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])  # by seed: choices, of them bypassed

    def __call__(self, event: StepEvent) -> None:
        if self.sampler is not None:
            self.unread.append((event.rows, event.z.seed, decisions(event, self.sampler)[:2]))

    def take(self, seed: int) -> tuple[int | None, int | None]:
        """Choices and bypassed ones of the row with this seed, which is finished."""
        if self.sampler is None:
            return None, None
        for prompts, seeds, flags in self.unread:
            self._read(prompts, seeds.tolist(), flags.tolist())
        self.unread.clear()
        choices, bypassed = self.counts.pop(seed, [0, 0])
        return choices, bypassed

    def _read(self, prompts: list[int], seeds: list[int], flags: list[list[bool]]) -> None:
        """Hypotheses of a beam count for their prompt, whose seed the first of them has."""
        own: dict[int, int] = {}
        for prompt, seed, choice, bypassed in zip(prompts, seeds, *flags, strict=True):
            count = self.counts[own.setdefault(prompt, seed)]
            count[0] += choice
            count[1] += bypassed
