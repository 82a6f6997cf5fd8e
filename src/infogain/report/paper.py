"""The paper's numbers: those of tables with recipes are read from recipes/TABLE/table.toml, the others stand here.

Table 2: Dream.
Table 3: SDAR and TraDo.
Table 4: images by MMaDA, by GenEval and ImageNet-512.
Table 5: creative writing, by win rates instead of right answers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from infogain.errors import InputError, UnknownName
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.recipe_files import load_recipe, recipes_folder
from infogain.resolve import change

FILE = "table.toml"
Pair = tuple[float, float]
# Table 1: accuracy in per cent and H̃, by sampler.
JUDGEMENT: dict[str, Pair] = {
    "entropy": (67.0, 32.75),
    "confidence": (73.0, 31.68),
    "margin": (66.0, 35.60),
    "ar": (90.0, 25.19),
}
# App. F: time of Info-Gain (N = 8) over baselines, per cent more and its spread, by shape and K; from the table in the
# paper's source. TraDo-8B has SDAR-8B's shape.
OVERHEAD: dict[tuple[str, int], dict[str, Pair]] = {
    ("dream-7b", 1): {"Dream-7B": (15, 9)},
    ("dream-7b", 2): {"Dream-7B": (64, 26)},
    ("sdar-8b", 1): {"SDAR-8B": (45, 18), "TraDo-8B": (42, 2)},
}
MEMORY = 24  # App. F: memory of N = 8 over that of greedy decoding, per cent more (TraDo-8B, 512 tokens, block 16)


@dataclass(frozen=True)
class PaperColumn:
    """A task, and the settings that the paper has for it beyond those of the recipes."""

    task: str
    title: str
    zoo: str | None  # the zoo's counterpart
    whole: bool  # decoded globally, in one block
    samplers: Plain  # by sampler: options that differ for this task

    def over(self, recipe: Recipe) -> Recipe:
        options = self.samplers.get(recipe.sampler.name, {})
        changed = change(recipe, options)
        return replace(changed, block=0) if self.whole else changed


@dataclass(frozen=True)
class PaperRow:
    """A sampler at one K, with its recipe and the paper's numbers."""

    name: str
    k: int  # 0: as the schedule of its recipe has it
    sampler: str  # as the paper calls it
    recipe: Recipe
    # by model: accuracies of all columns in percent, their average, H̃; or a win rate; of images what table4 says
    paper: dict[str, list[float]]


@dataclass(frozen=True)
class PaperModel:
    """A model that the paper evaluates."""

    name: str
    hub: str
    length: int | None = None  # tokens it writes, whatever the task


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: its rows and columns, with the settings and numbers of both."""

    name: str
    title: str
    about: str
    models: dict[str, PaperModel]
    order: list[str]  # of the columns in the paper, whose numbers stand in this order
    columns: list[PaperColumn]  # those selected
    rows: list[PaperRow]
    measure: str = "pass@1"  # or "images"; or "win rate", of Info-Gain against each other row with the same settings
    seeds: int = 5  # the paper's runs

    def averages(self, model: str, k: int) -> dict[str, Pair]:
        """What the paper has for a model at K: average accuracy in per cent and H̃, by sampler."""
        return {_sampler(row): (row.paper[model][-2], row.paper[model][-1]) for row in self.rows if row.k == k}

    def select(self, names: Sequence[str]) -> PaperTable:
        """The rows and columns that are named: a row (k1-info-gain, k1-*), a sampler (info-gain) or a task (gsm8k)."""
        rows = [row for row in self.rows if any(fnmatch(row.name, name) or _sampler(row) == name for name in names)]
        columns = [column for column in self.columns if column.task in names]
        known = {name for row in rows for name in (row.name, _sampler(row))} | {column.task for column in columns}
        for name in names:
            if name not in known and not any(fnmatch(row.name, name) for row in rows):
                every = [*(row.name for row in self.rows), *map(_sampler, self.rows), *self.order]
                raise UnknownName(f"row, sampler or task of {self.name}:", name, set(every))
        return replace(self, rows=rows or self.rows, columns=columns or self.columns)

    def compared_model(self, model: str, asked: str | None) -> str | None:
        """The paper's model to compare with: the one asked for, or else told by the name of ours; None: no model."""
        if asked is not None and asked not in self.models:
            raise UnknownName(f"model of {self.name}:", asked, self.models)
        named = [key for key in self.models if key in model.lower()]
        if asked or len(self.models) == 1 or len(named) == 1:
            return asked or (named or list(self.models))[0]
        if model.startswith("zoo:"):
            return None
        raise InputError(
            f"{self.name} has numbers of {' and '.join(self.models)}; the name {model!r} does not say which. "
            f"Add --beside {next(iter(self.models))}, for instance."
        )


def _sampler(row: PaperRow) -> str:
    return row.recipe.sampler.name


def table_names() -> list[str]:
    return sorted(path.parent.name for path in recipes_folder().glob(f"*/{FILE}"))


def load_table(name: str) -> PaperTable:
    if name not in table_names():
        raise UnknownName("table", name, table_names())
    folder = recipes_folder() / name
    given = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    columns = {
        task: PaperColumn(task, told["title"], told.get("zoo"), told.get("global", False), told.get("samplers", {}))
        for task, told in given["columns"].items()
    }
    models = {key: PaperModel(**told) for key, told in given["models"].items()}
    rows = [_row(folder, told, models) for told in given["rows"]]
    table = PaperTable(name, given["title"], given["about"], models, list(columns), list(columns.values()), rows)
    return replace(table, **{key: given[key] for key in ("measure", "seeds") if key in given})


def _row(folder: Path, told: Plain, models: dict[str, PaperModel]) -> PaperRow:
    recipe = load_recipe(folder / f"{told['recipe']}.toml")
    return PaperRow(told["recipe"], told.get("k", 0), told["sampler"], recipe, {key: told[key] for key in models})
