"""The tasks of the zoo, by name."""

from infogain.errors import UnknownName
from infogain.zoo.tasks.arithmetic import Arithmetic, figure_set
from infogain.zoo.tasks.countdown import Countdown
from infogain.zoo.tasks.judgement import Judgement
from infogain.zoo.tasks.oneway import OneWay
from infogain.zoo.tasks.problem import SPLITS, Problem, Task
from infogain.zoo.tasks.sudoku import Sudoku

TASKS: dict[str, Task] = {task.name: task for task in (OneWay(), Judgement(), Sudoku(), Countdown(), Arithmetic())}


def load_task(name: str) -> Task:
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[name]


__all__ = ["SPLITS", "TASKS", "Problem", "Task", "figure_set", "load_task"]
