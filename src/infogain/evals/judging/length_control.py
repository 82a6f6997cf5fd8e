"""The length-controlled win rate: what the win rate would be if both sides wrote equally long texts.

As in Dubois et al. (2024), whether A's text is preferred is a logistic regression on how much longer it is, and the
rate is read where the lengths are equal. Their term for each instruction, which needs the preferences of many other
models, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from infogain.evals.intervals import Interval, resampled_counts
from infogain.evals.means import mean

RIDGE = 0.01  # of both coefficients, as a share of one pair: without it, data that a length separates have no fit
STEPS, LONGEST_STEP, SMALL_STEP = 60, 2.0, 1e-10  # of Newton's iteration

Observation = tuple[str, float, float]  # a pair: its prompt, A's score from 0 to 1, characters that A has more


def length_controlled(pairs: Sequence[Observation]) -> tuple[Interval, float]:
    """The win rate at equal lengths, with a 95 % interval over prompts; and the coefficient of the length.

    The interval is that of a bootstrap with a fixed seed: prompts are drawn anew with all their pairs, among themselves
    and two more, one won and one lost at equal lengths, which may not have come up yet.
    """
    x, y, weights = _prepared(pairs)
    prompts = len({prompt for prompt, _, _ in pairs})
    alpha, beta = fit_logistic(x, y, weights[:-2].sum(0))
    value = float(torch.sigmoid(alpha))
    if prompts < 2:
        return Interval(value, math.nan, math.nan), float(beta)
    rates = torch.cat([torch.sigmoid(fit_logistic(x, y, drawn @ weights)[0]) for drawn in resampled_counts(prompts)])
    low, high = rates.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return Interval(value, min(low, value), max(high, value)), float(beta)


def _prepared(pairs: Sequence[Observation]) -> tuple[Tensor, Tensor, Tensor]:
    """Lengths, scores, and the weight of each pair for its prompt; those of the two more prompts come last. [n] [P, n]

    A length is tanh(Δ/s), Δ how many characters A has more and s the standard deviation of the Δ; where all Δ are
    alike nothing tells what a length does, and it is 0. A prompt's pairs share one weight, however many there are.
    """
    lengths = [length for _, _, length in pairs]
    spread = mean([(length - mean(lengths)) ** 2 for length in lengths]) ** 0.5
    x = [math.tanh(length / spread) if spread else 0.0 for length in lengths]
    y = [score for _, score, _ in pairs]
    numbers = {prompt: i for i, prompt in enumerate(dict.fromkeys(prompt for prompt, _, _ in pairs))}
    weights = torch.zeros(len(numbers) + 2, len(pairs) + 2, dtype=torch.float64)
    for i, (prompt, _, _) in enumerate(pairs):
        weights[numbers[prompt], i] = 1.0
    weights[-2, -2] = weights[-1, -1] = 1.0
    x_and_two, y_and_two = (torch.tensor(values, dtype=torch.float64) for values in ([*x, 0, 0], [*y, 1, 0]))
    return x_and_two, y_and_two, weights / weights.sum(1, keepdim=True)


def fit_logistic(x: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The α and β that fit y ≈ σ(α + β·x) best, for each row of weights, by Newton's iteration. [n], [..., n] -> [...]

    Σ w (y log σ + (1 − y) log(1 − σ)) − RIDGE/2 · (α² + β²) is largest there. y may lie anywhere from 0 to 1. Steps are
    cut to a length of 2, which keeps the iteration from overshooting where nearly all y are alike.
    """
    alpha = beta = torch.zeros(weights.shape[:-1], dtype=torch.float64)
    powers = torch.stack([torch.ones_like(x), x, x * x], dim=-1)  # [n, 3]
    for _ in range(STEPS):
        p = torch.sigmoid(alpha[..., None] + beta[..., None] * x)
        slope_a, slope_b = ((weights * (y - p)) @ powers[:, :2]).unbind(-1)
        slope_a, slope_b = slope_a - RIDGE * alpha, slope_b - RIDGE * beta
        aa, ab, bb = ((weights * p * (1 - p)) @ powers).unbind(-1)
        aa, bb = aa + RIDGE, bb + RIDGE
        determinant = aa * bb - ab * ab
        step_a, step_b = (bb * slope_a - ab * slope_b) / determinant, (aa * slope_b - ab * slope_a) / determinant
        size = torch.hypot(step_a, step_b)
        shorter = LONGEST_STEP / size.clamp(min=LONGEST_STEP)
        alpha, beta = alpha + shorter * step_a, beta + shorter * step_b
        if float(size.max()) < SMALL_STEP:
            break
    return alpha, beta
