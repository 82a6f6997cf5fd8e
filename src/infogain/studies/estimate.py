"""How long a cell may take on a GPU, before anything is measured: time of the host and of the forwards."""

from __future__ import annotations

import math

from infogain.algorithm.schedule import TokensPerStep
from infogain.studies.cell import Cell
from infogain.studies.decoding import BUDGET, candidates
from infogain.zoo.tasks import TASKS

MASKS = {"oneway": 18, "judgement": 25, "sudoku": 10, "countdown": 18, "arithmetic": 64}  # to write, about
STEP = 8e-3  # seconds of the host for a step, and
CANDIDATE = 3e-6  # for each candidate in it
COLUMN = 5e-8  # of the device for a column in a forward


def seconds(cell: Cell) -> float:
    """Seconds that a cell may take. Look-ahead is cheaper than this: bypasses and equal candidates are not counted."""
    if cell.kind != "decode":
        return 1.0
    schedule = cell.recipe.schedule
    k = schedule.k if isinstance(schedule, TokensPerStep) else 1
    steps = math.ceil(MASKS[cell.task] / k)
    rows = cell.problems * len(cell.seeds) * candidates(cell.recipe.sampler)
    columns = rows * TASKS[cell.task].width
    batches = math.ceil(columns / BUDGET["cuda"])
    return steps * (batches * STEP + rows * CANDIDATE + columns * COLUMN)
