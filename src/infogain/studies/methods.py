"""The samplers under comparison, each as its authors define it, and sizes of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from infogain.algorithm.schedule import TokensPerStep
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.studies.cell import Cell, Point
from infogain.zoo.tasks import load_task

T = TypeVar("T")
SIZES = ("small", "medium", "full")
SEEDS = (0, 1, 2, 3, 4)
TAU = 0.7  # the paper's token temperature for reasoning
BUDGET = 8  # candidates, hypotheses or copies: what every method that looks ahead may spend
PC_LAMBDA = {"sudoku": 0.0, "sudoku6": 0.0, "countdown": 0.5, "countdown4": 0.5}  # its authors'; .25 elsewhere

DEAR = ("arithmetic",)  # tasks that cost as much as all others together: 64 masks in 124 columns
PRESET = "info-gain:validated"  # chosen on validation problems, see preset.py
METHODS: dict[str, Plain] = {
    "uniform": {"name": "uniform"},
    "ar": {"name": "ar"},
    "entropy": {"name": "entropy"},
    "confidence (top-1)": {"name": "confidence"},
    "confidence (drawn)": {"name": "confidence", "of": "drawn"},
    "margin": {"name": "margin"},
    "klass": {"name": "klass"},
    "klass (original)": {"name": "klass", "variant": "original"},
    "pc": {"name": "pc"},
    "eb": {"name": "eb"},
    "threshold": {"name": "threshold"},
    "threshold (factor)": {"name": "threshold", "variant": "factor"},
    "best-of-8": {"name": "best-of-n", "n": BUDGET, "base": {"name": "confidence", "of": "drawn"}},
    "lookum": {"name": "lookum"},
    "info-gain": {"name": "info-gain"},
    "info-gain (φ top-1)": {"name": "info-gain", "phi": "top1"},
    "info-gain-beam": {"name": "info-gain-beam", "width": 2, "n": BUDGET // 2},
}
VARIANTS: dict[str, Plain] = {  # beyond the paper: gain_power α, whose random numbers draw tokens, bypass and cost
    "info-gain (α ½)": {"name": "info-gain", "gain_power": 0.5},
    "info-gain (α 0)": {"name": "info-gain", "gain_power": 0.0},
    "info-gain (shared)": {"name": "info-gain", "draws": "shared"},
    "info-gain (fixed)": {"name": "info-gain", "draws": "fixed"},
    "info-gain (α 0, shared)": {"name": "info-gain", "gain_power": 0.0, "draws": "shared"},
    "lookum (shared)": {"name": "lookum", "draws": "shared"},
    "info-gain (bypass drawn)": {"name": "info-gain", "bypass_of": "drawn"},
    "lookum (bypass drawn)": {"name": "lookum", "bypass_of": "drawn"},
    "info-gain (surprisal, α 0)": {"name": "info-gain", "cost_of": "surprisal", "gain_power": 0.0},
    PRESET: {"name": PRESET},
}
MOLECULE_METHODS: dict[str, Plain] = {
    "lookum (τ_pos .4)": {"name": "lookum", "tau_pos": 0.4},
    "lookum (τ_pos .4, N 32)": {"name": "lookum", "tau_pos": 0.4, "n": 32},
    "info-gain:validated (N 32)": {"name": PRESET, "n": 32},
}
GREEDY = ("entropy", "confidence (top-1)", "confidence (drawn)", "margin", "klass", "pc")  # Table 6, column 4
# With τ_token = 0 the drawn token is the likeliest, so these are one sampler.
TWINS = {
    "confidence (drawn)": "confidence (top-1)",
    "info-gain (φ top-1)": "info-gain",
    "best-of-8": "confidence (top-1)",
}


def of_size(size: str, small: T, medium: T, full: T) -> T:
    return {"small": small, "medium": medium, "full": full}[size]


def recipe(sampler: Plain, k: int, tau_token: float = TAU, tau_pos: float | None = None) -> Recipe:
    """Decoding of the whole canvas at once, K tokens a step. Temperatures of best-of-n are its base's."""
    own: Plain = {"tau_token": tau_token, **({} if tau_pos is None else {"tau_pos": tau_pos})}
    table = {**sampler, **({"base": {**sampler["base"], **own}} if "base" in sampler else own)}
    return Recipe(table, TokensPerStep(k))  # type: ignore[arg-type]  # Recipe parses tables


def method_recipe(label: str, task: str, k: int, tau: float = TAU) -> Recipe:
    """A named method, with the settings that its authors have for a task."""
    return recipe(method_table(TWINS.get(label, label) if tau == 0 else label, task), k, tau)


def method_table(label: str, task: str) -> Plain:
    """A named method as a table, with the options that its authors have for a task."""
    table = {**METHODS, **VARIANTS, **MOLECULE_METHODS}[label]
    return {**table, "lam": PC_LAMBDA.get(task, 0.25)} if label == "pc" else table


def method_cell(label: str, task: str, k: int, tau: float, problems: int, seeds: Sequence[int], **rest: Any) -> Cell:
    """A named method on a task."""
    asked = method_recipe(label, task, k, tau)
    return Cell(task, asked, problems, seeds_for(asked, seeds), **rest)


def seeds_for(asked: Recipe, seeds: Sequence[int]) -> tuple[int, ...]:
    """These seeds, or one where nothing is drawn: it tells all."""
    return tuple(seeds) if asked.sampler.traits.draws else (0,)


def method_points(
    labels: Sequence[str],
    tasks: Sequence[str],
    ks: Sequence[int],
    taus: Sequence[float],
    problems: int,
    seeds: int,
    **rest: Any,
) -> list[Point]:
    """Every method on every task, the dearest task last."""
    return [
        Point(
            {"task": task, "K": k, "τ_token": tau, "sampler": label},
            method_cell(label, task, k, tau, problems, SEEDS[:seeds], **rest),
        )
        for task in sorted(tasks, key=lambda name: load_task(name).width)
        for tau in taus
        for k in ks
        for label in labels
    ]
