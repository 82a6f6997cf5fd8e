"""A table of the paper, made again: a plan for each of its cells, and our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infogain.errors import UnsupportedTask
from infogain.evals.evaluate import Plan, prepare
from infogain.evals.identity import recipe_entry
from infogain.evals.means import mean
from infogain.evals.run_lines import key_of
from infogain.evals.summary import summary
from infogain.evals.task import EvalTask
from infogain.evals.tasks import load_task
from infogain.generate import settle
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.report.paper import PaperColumn, PaperRow, PaperTable
from infogain.samplers import PC
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel


@dataclass(frozen=True)
class PlannedCell:
    """A cell of the paper's table, and the plan to make it again."""

    row: PaperRow
    column: PaperColumn
    plan: Plan


@dataclass(frozen=True)
class Setting:
    """The model and settings that all cells of a table share."""

    model: TextModel
    described: Plain  # the model in run.json
    asked: Plain  # seeds, limit, length
    data: Path | None = None
    frequencies: str | None = None  # pc's table
    unsafe: bool = False


def task_for(column: PaperColumn, model: TextModel, unsafe: bool = False) -> EvalTask:
    """The task of a column: the paper's, or for a model of the zoo its counterpart there."""
    small = isinstance(model.tokenizer, Alphabet)
    return load_task(column.zoo if small and column.zoo else column.task, unsafe)


def plan_table(table: PaperTable, setting: Setting) -> tuple[list[PlannedCell], dict[str, str]]:
    """A plan for each cell, row by row; and the tasks that cannot be asked, with the reason."""
    first, unsupported = {}, {}
    for column in table.columns:
        try:
            first[column.task] = _plan(column, table.rows[0], setting)
        except UnsupportedTask as error:
            unsupported[column.task] = str(error)
    asked = [column for column in table.columns if column.task in first]
    cells = [(row, column) for row in table.rows for column in asked]
    return [
        PlannedCell(row, column, _replan(first[column.task], row, column, setting)) for row, column in cells
    ], unsupported


def _plan(column: PaperColumn, row: PaperRow, setting: Setting) -> Plan:
    task = task_for(column, setting.model, setting.unsafe)
    protocol = task.protocol(setting.model.tokenizer, **setting.asked)
    recipe = recipe_of(row, column, setting, stops=protocol.style != "infill")
    return prepare(task, setting.model, setting.described, protocol, recipe, setting.data if task.files else None)


def _replan(plan: Plan, row: PaperRow, column: PaperColumn, setting: Setting) -> Plan:
    """A plan for this row from that of another, which has the same problems, posed alike from the same seeds."""
    recipe = recipe_of(row, column, setting, stops=plan.protocol.style != "infill")
    return replace(plan, recipe=recipe, about={**plan.about, **recipe_entry(recipe)})


def recipe_of(row: PaperRow, column: PaperColumn, setting: Setting, stops: bool) -> Recipe:
    recipe = settle(column.over(row.recipe), setting.model, stops)
    if isinstance(recipe.sampler, PC) and setting.frequencies:
        return replace(recipe, sampler=replace(recipe.sampler, frequencies=setting.frequencies))
    return recipe


def record(
    table: PaperTable, cells: Sequence[PlannedCell], unsupported: dict[str, str], beside: str | None, runs: Path
) -> Plain:
    """All numbers of the table beside the paper's, as the JSON file holds them."""
    return {
        **heading(table, cells, beside),
        "columns": [_column(column, cells, unsupported) for column in table.columns],
        "rows": [_row(table, row, [c for c in cells if c.row is row], beside, runs) for row in table.rows],
    }


def heading(table: PaperTable, cells: Sequence[PlannedCell], beside: str | None) -> Plain:
    """What a record of any table begins with: which table, of which model, beside whose numbers, how much of it."""
    about = cells[0].plan.about
    return {
        "table": table.name,
        "title": table.title,
        "about": table.about,
        "model": about["model"],
        "provenance": about["provenance"],
        "beside": table.models[beside].name if beside else None,
        "extent": {name: about["protocol"].get(name) for name in ("seeds", "limit")},
    }


def _column(column: PaperColumn, cells: Sequence[PlannedCell], unsupported: dict[str, str]) -> Plain:
    asked = next((cell.plan.task.name for cell in cells if cell.column is column), None)
    return {"task": column.task, "title": column.title, "asked": asked, "unfit": unsupported.get(column.task)}


def _row(table: PaperTable, row: PaperRow, cells: Sequence[PlannedCell], beside: str | None, runs: Path) -> Plain:
    paper = dict(zip([*table.order, "average", "entropy"], row.paper[beside] if beside else [], strict=False))
    found = {cell.column.task: _numbers(cell, runs) for cell in cells}
    numbers = {task: 100 * one["accuracy"] for task, one in found.items()}
    numbers |= {"average": mean(list(numbers.values())), "entropy": mean([one["entropy"] for one in found.values()])}
    own = {cell.column.task for cell in cells if cell.plan.task.name == cell.column.task}
    fair = own | ({"average", "entropy"} if own == set(table.order) else set())  # what the paper's numbers are of
    return {
        "row": row.name,
        "k": row.k,
        "sampler": row.sampler,
        "here": numbers,
        "paper": paper,
        "difference": {name: numbers[name] - paper[name] for name in numbers if name in fair and name in paper},
        "cells": found,
    }


def _numbers(cell: PlannedCell, runs: Path) -> Plain:
    """The numbers of a cell, of the texts that were asked for alone: its run may hold more."""
    asked = cell.plan.keys
    run = cell.plan.run(runs)
    lines = [line for line in run.items() if key_of(line) in asked]
    return {"run": run.name, "recipe": cell.plan.recipe.plain(), "wanted": len(asked), **summary(lines)}
