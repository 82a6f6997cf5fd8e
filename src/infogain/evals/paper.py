"""The paper's main tables as data: rows with their recipes, columns with their settings, and the paper's numbers.

Table 2: Dream.
Table 3: SDAR and TraDo.
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
from infogain.resolve import change, load_recipe, recipes_folder

FILE = "table.toml"


@dataclass(frozen=True)
class Column:
    """A task, and what the paper sets for it that is not in the recipes."""

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
class Row:
    name: str
    k: int
    sampler: str  # as the paper calls it
    recipe: Recipe
    paper: dict[str, list[float]]  # by model: accuracies of all columns in percent, their average, H̃


@dataclass(frozen=True)
class Model:
    """One of those the paper asked."""

    name: str
    hub: str
    length: int | None = None  # tokens it writes, whatever the task


@dataclass(frozen=True)
class PaperTable:
    name: str
    title: str
    about: str
    models: dict[str, Model]
    order: list[str]  # of the columns in the paper, whose numbers stand in this order
    columns: list[Column]  # those wanted
    rows: list[Row]

    def only(self, words: Sequence[str]) -> PaperTable:
        """The rows and columns that are named: a row (k1-info-gain, k1-*), a sampler (info-gain) or a task (gsm8k)."""
        rows = [row for row in self.rows if any(fnmatch(row.name, word) or _sampler(row) == word for word in words)]
        columns = [column for column in self.columns if column.task in words]
        known = {name for row in rows for name in (row.name, _sampler(row))} | {column.task for column in columns}
        for word in words:
            if word not in known and not any(fnmatch(row.name, word) for row in rows):
                every = [*(row.name for row in self.rows), *map(_sampler, self.rows), *self.order]
                raise UnknownName(f"row, sampler or task of {self.name}:", word, set(every))
        return replace(self, rows=rows or self.rows, columns=columns or self.columns)

    def beside(self, model: str, said: str | None) -> str | None:
        """Whose numbers ours are set beside: what is said, or else told by the model's name; None: nobody's."""
        if said is not None and said not in self.models:
            raise UnknownName(f"model of {self.name}:", said, self.models)
        named = [key for key in self.models if key in model.lower()]
        if said or len(self.models) == 1 or len(named) == 1:
            return said or (named or list(self.models))[0]
        if model.startswith("zoo:"):
            return None
        raise InputError(
            f"{self.name} has numbers of {' and '.join(self.models)}; the name {model!r} does not say which. "
            f"Add --beside {next(iter(self.models))}, for instance."
        )


def _sampler(row: Row) -> str:
    return row.recipe.sampler.name


def table_names() -> list[str]:
    return sorted(path.parent.name for path in recipes_folder().glob(f"*/{FILE}"))


def load_table(name: str) -> PaperTable:
    if name not in table_names():
        raise UnknownName("table", name, table_names())
    folder = recipes_folder() / name
    given = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    columns = {
        task: Column(task, told["title"], told.get("zoo"), told.get("global", False), told.get("samplers", {}))
        for task, told in given["columns"].items()
    }
    models = {key: Model(**told) for key, told in given["models"].items()}
    rows = [_row(folder, told, models) for told in given["rows"]]
    return PaperTable(name, given["title"], given["about"], models, list(columns), list(columns.values()), rows)


def _row(folder: Path, told: Plain, models: dict[str, Model]) -> Row:
    recipe = load_recipe(folder / f"{told['recipe']}.toml")
    return Row(told["recipe"], told["k"], told["sampler"], recipe, {key: told[key] for key in models})
