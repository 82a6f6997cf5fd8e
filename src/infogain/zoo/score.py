"""How well a model with a sampler does on a task: accuracy, cumulative entropy, cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.noise import row_seeds
from infogain.algorithm.schedule import TokensPerStep
from infogain.decode import decode
from infogain.models import Denoiser
from infogain.recipe import Recipe
from infogain.samplers import SAMPLERS
from infogain.zoo.characters import Alphabet
from infogain.zoo.tasks import Problem, Task

BATCH = 250  # problems decoded together

# What a model card reports, on validation problems: greedy orders alone, for they say how hard a task is.
CARD = tuple(
    Recipe(SAMPLERS.make(name, tau_token=0.7), TokensPerStep(k))
    for k in (1, 2)
    for name in ("ar", "entropy", "confidence", "margin")
)


@dataclass(frozen=True)
class TaskScore:
    task: str
    sampler: str
    k: int  # tokens per step
    problems: int
    accuracy: float  # share of right answers
    sound: float  # share of right answers reached in right steps
    entropy: float  # mean H̃
    forwards: float  # mean model calls a problem took part in
    seconds: float

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        return (
            f"{self.task:<12} {self.sampler:<11} K={self.k}  right {self.accuracy:6.1%}  sound {self.sound:6.1%}  "
            f"H̃ {self.entropy:6.2f}  forwards {self.forwards:5.1f}  {self.seconds:5.1f} s"
        )


def score(model: Denoiser, alphabet: Alphabet, task: Task, problems: Sequence[Problem], recipe: Recipe) -> TaskScore:
    """Decode every problem with the recipe, and check it."""
    began = time.perf_counter()
    seeds = row_seeds(recipe.seed, len(problems))
    texts: list[str] = []
    entropy = forwards = 0.0
    for first in range(0, len(problems), BATCH):
        rows = [alphabet.encode(problem.canvas) for problem in problems[first : first + BATCH]]
        canvas = Canvas.infill(rows, alphabet.mask_id)
        result = decode(model, canvas, **recipe.plain(), seeds=seeds[first : first + BATCH], trace=False)
        texts += [alphabet.decode(row) for row in result.tokens.tolist()]
        entropy += float(result.cumulative_entropy.sum())
        forwards += float(result.forwards.sum())
    pairs = list(zip(problems, texts, strict=True))
    count = len(pairs)
    return TaskScore(
        task.name,
        recipe.sampler.name,
        recipe.plain()["schedule"]["k"],
        count,
        sum(task.check(problem, text) for problem, text in pairs) / count,
        sum(task.sound(problem, text) for problem, text in pairs) / count,
        entropy / count,
        forwards / count,
        time.perf_counter() - began,
    )
