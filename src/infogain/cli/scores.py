"""The second half of the demo: every sampler on the same problems, as numbers, tables and files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from infogain.cli.layout import plain_table
from infogain.decode import decode
from infogain.models.toys import Toy
from infogain.options import Plain
from infogain.samplers import SAMPLERS
from infogain.story import Story, mean_path

NUMBERS = ("accuracy", "cumulative_entropy", "forwards", "token_forwards")
TITLES = {
    "accuracy": "accuracy %",
    "cumulative_entropy": "H̃",
    "forwards": "forwards",
    "token_forwards": "token-forwards",
}


@dataclass(frozen=True)
class Score:
    """One sampler on one toy; means per prompt."""

    toy: str
    sampler: str
    accuracy: float
    cumulative_entropy: float
    forwards: float
    token_forwards: float
    recipe: Plain
    path: list[tuple[int, float]]  # tokens written, mean H̃; empty where it was not asked for

    def numbers(self) -> dict[str, Any]:
        return {"toy": self.toy, "sampler": self.sampler, **{name: getattr(self, name) for name in NUMBERS}}


def compare(
    toy: Toy, count: int, k: int, drawn: Sequence[str], advance: Callable[[], None] = lambda: None
) -> list[Score]:
    """Every registered sampler at its defaults on the same `count` problems; paths for those to be `drawn`."""
    canvas = toy.canvas(count)
    scores = []
    for name in SAMPLERS:
        result = decode(toy.model, canvas, name, schedule=k, trace=name in drawn)
        means = {n: getattr(result, n).double().mean().item() for n in NUMBERS[1:]}
        path: list[tuple[int, float]] = []
        if result.trace:
            story = Story(result.trace)
            for step in result.trace.steps:
                story.follow(step)
            path = mean_path(story.best(prompt) for prompt in range(count))
        scores.append(Score(toy.name, name, toy.accuracy(result.rows()), **means, recipe=result.recipe, path=path))
        advance()
    return scores


def table(scores: Sequence[Score]) -> Table:
    """The scores, the best of each column in bold."""
    columns = {name: [_shown(name, getattr(score, name)) for score in scores] for name in NUMBERS}
    best = {name: (max if name == "accuracy" else min)(shown, key=float) for name, shown in columns.items()}
    grid = plain_table()
    grid.add_column("sampler", no_wrap=True)
    for name in NUMBERS:
        grid.add_column(TITLES[name], justify="right", no_wrap=True)
    for i, score in enumerate(scores):
        cells = [Text(columns[n][i], "bold" if columns[n][i] == best[n] else "") for n in NUMBERS]
        grid.add_row(score.sampler, *cells)
    return grid


def _shown(name: str, value: float) -> str:
    return (
        f"{100 * value:.1f}"
        if name == "accuracy"
        else f"{value:.2f}"
        if name == "cumulative_entropy"
        else f"{value:.1f}"
    )


def save(scores: Sequence[Score], count: int, folder: Path) -> list[Path]:
    """results.json with every recipe, results.csv with the numbers."""
    as_json, as_csv = folder / "results.json", folder / "results.csv"
    rows = [{**score.numbers(), "count": count, "recipe": score.recipe, "path": score.path} for score in scores]
    as_json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    with as_csv.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["toy", "sampler", *NUMBERS, "count"])
        writer.writeheader()
        writer.writerows({**score.numbers(), "count": count} for score in scores)
    return [as_json, as_csv]
