"""The tasks, by name."""

from __future__ import annotations

from infogain.errors import UnknownName
from infogain.evals.code import CodeTask
from infogain.evals.task import EvalTask
from infogain.evals.tasks.countdown import Countdown
from infogain.evals.tasks.gsm8k import GSM8K
from infogain.evals.tasks.humaneval import HumanEval
from infogain.evals.tasks.math500 import Math500
from infogain.evals.tasks.mbpp import MBPP
from infogain.evals.tasks.stories import Stories
from infogain.evals.tasks.sudoku import Sudoku
from infogain.evals.tasks.writing import Writing
from infogain.evals.tasks.zoo import ZooTask
from infogain.zoo.tasks import TASKS as ZOO

TASKS: dict[str, EvalTask] = {}


def register(task: EvalTask) -> EvalTask:
    if task.name in TASKS:
        raise ValueError(f"task {task.name!r} is registered twice")
    TASKS[task.name] = task
    return task


for _task in (
    GSM8K(),
    Math500(),
    HumanEval(),
    MBPP(),
    Sudoku(),
    *map(Countdown, (3, 4, 5)),
    Writing(),
    Stories(),
    *map(ZooTask, ZOO.values()),
):
    register(_task)


def load_task(name: str, unsafe: bool = False) -> EvalTask:
    """The task of this name. If `unsafe`, programs run with all rights of the caller where the sandbox is refused."""
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    task = TASKS[name]
    return type(task)(unsafe=True) if unsafe and isinstance(task, CodeTask) else task


__all__ = ["TASKS", "load_task", "register"]
