"""Observes the steps while a cell is decoded: sums on the device, read once at the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infogain.evals.bypass_count import decisions, look_ahead_of
from infogain.loop.batch import Observer
from infogain.loop.step import StepEvent
from infogain.options import Plain
from infogain.recipe import Recipe

LEVELS = tuple(i / 100 for i in range(101))  # of the quantiles of J
NEAR = -5e-4  # Fig. 6: above it, J counts as close to its bound


class PathStep(NamedTuple):
    """One step of one decode."""

    decode: int
    rows: list[int]  # of each hypothesis before the step, its row
    told: Tensor  # [rows still live, 3] number of the hypothesis, tokens written in the step, H̃ after it


class CellObserver:
    """An observer of one decode after another: bypasses, scores of the actions taken, and H̃ over the steps."""

    def __init__(self, recipe: Recipe, keep: tuple[str, ...]) -> None:
        traits = recipe.sampler.traits
        self.sampler = look_ahead_of(recipe)
        self.paths: list[PathStep] | None = [] if "path" in keep and traits.beam == traits.copies == 1 else None
        self.scores: list[Tensor] | None = [] if "scores" in keep else None
        self.counts: list[Tensor] = []  # of each step: choices, those that were bypassed, those with one candidate
        self.decodes = 0

    @property
    def observer(self) -> Observer | None:
        """Itself, where there is something to observe, else None."""
        watched = [x for x in (self.sampler, self.scores, self.paths) if x is not None]
        return self if watched else None

    def __call__(self, event: StepEvent) -> None:
        if self.sampler is not None:
            self.counts.append(decisions(event, self.sampler).sum(-1))
        if self.scores is not None:
            self.scores.append(event.score[event.kept])
        if self.paths is not None:
            self._follow(event)

    def _follow(self, event: StepEvent) -> None:
        """Note what each row has written in the step, and its H̃ after it."""
        assert self.paths is not None
        self.decodes += event.step == 0
        a, kept = event.a, event.kept
        told = (a.parent[kept].double(), a.chosen[kept].sum(-1).double(), event.cost[kept].double())
        self.paths.append(PathStep(self.decodes, event.rows, torch.stack(told, -1)))

    def read(self) -> Plain:
        found: Plain = {}
        if self.counts:
            choices, bypassed, single = torch.stack(self.counts).sum(0).tolist()
            found["bypassed"], found["single"] = bypassed / max(choices, 1), single / max(choices, 1)
        if self.scores is not None:
            found["scores"] = summarize_scores(torch.cat(self.scores).double().cpu())
        if self.paths:
            found["path"] = join_paths([(1, written, cost) for written, cost in row_paths(self.paths)])
        return found


def summarize_scores(scores: Tensor) -> Plain:
    ordered = scores.sort().values
    place = (torch.tensor(LEVELS) * (len(ordered) - 1)).round().long()
    return {
        "count": len(ordered),
        "mean": float(ordered.mean()),
        "quantiles": [float(f"{x:.6g}") for x in ordered[place].tolist()],
        "near": float((ordered >= NEAR).double().mean()),
        "positive": float((ordered > 0).double().mean()),
    }


def row_paths(steps: Sequence[PathStep]) -> list[tuple[list[float], list[float]]]:
    """Tokens written and H̃ after each step of each row. Rows of a stream begin and end at different steps."""
    told = iter(torch.cat([step.told for step in steps]).tolist())  # read back once
    found: dict[tuple[int, int], tuple[list[float], list[float]]] = {}
    for step in steps:
        for hypothesis, count, cost in islice(told, len(step.told)):
            written, costs = found.setdefault((step.decode, step.rows[int(hypothesis)]), ([], []))
            written.append(count + (written[-1] if written else 0))
            costs.append(cost)
    return list(found.values())


def join_paths(paths: list[tuple[int, list[float], list[float]]]) -> list[Any]:
    """Rows of one cell, or groups of so many: their mean; one that ended earlier stays where it ended."""
    steps = max(len(written) for _, written, _ in paths)
    total = sum(rows for rows, _, _ in paths)
    joined = []
    for step in range(steps):
        at = [
            (rows, written[min(step, len(written) - 1)], cost[min(step, len(cost) - 1)])
            for rows, written, cost in paths
        ]
        joined.append([round(sum(rows * part[i] for rows, *part in at) / total, 5) for i in (0, 1)])
    return [[0.0, 0.0], *joined]
