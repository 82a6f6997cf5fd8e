"""Cells of kind "bench": a recipe timed on a shape with random weights. The task names shape, context and engine."""

from __future__ import annotations

from infogain.algorithm.schedule import TokensPerStep
from infogain.bench import Case
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.samplers import Entropy, InfoGain, Sampler
from infogain.studies.cell import Cell, CellResult
from infogain.studies.subject import Subject

SHAPE = "shape"
BLOCK = 16  # App. F
GREEDY, EVERY = Entropy(), InfoGain(gamma=1.0)  # the second never bypasses
MIB = 2**20


def timed(shape: str, sampler: Sampler, k: int = 1) -> Cell:
    """A cell that times a sampler on a shape with App. F's 512 tokens; the tiny shape, for trials, has fewer."""
    context, engine = (48, "eager") if shape == "tiny" else (512, "graphs")
    recipe = Recipe(sampler, TokensPerStep(k), BLOCK)
    return Cell(f"{SHAPE}:{shape}:{context}:{engine}", recipe, problems=1, kind="bench")


def bench(subject: Subject, cell: Cell) -> Plain:
    _, shape, context, engine = cell.task.split(":")
    schedule, block = cell.recipe.schedule, cell.recipe.block
    assert isinstance(schedule, TokensPerStep)
    assert block is not None
    own = {"k": schedule.k, "block": block, "batch": cell.problems, "engine": engine}
    columns = {"context": int(context), "length": 2 * block}  # hypotheses of a beam part ways in the second block
    found = subject.bench.run(Case(shape, cell.recipe.sampler, **own, **columns))  # type: ignore[arg-type]
    rest = {name: value for name, value in found.items() if name not in ("case", "label", "limits")}
    return {**rest, **found["limits"]}


def mib(count: float | None) -> str:
    return "–" if count is None else f"{count / MIB:,.2f}"


def peaked(rows: list[CellResult]) -> bool:
    """Whether peak memory was counted in all rows, as on a GPU."""
    return all(row["peak_bytes"] is not None for row in rows)
