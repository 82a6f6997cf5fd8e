"""The tasks of the zoo, by name: those of `tiny-reason`, and those of all models."""

from infogain.errors import UnknownName
from infogain.zoo.tasks.arithmetic import Arithmetic
from infogain.zoo.tasks.countdown import Countdown
from infogain.zoo.tasks.judgement import Judgement
from infogain.zoo.tasks.molecule import Molecule, Scaffold
from infogain.zoo.tasks.oneway import OneWay, OneWayGiven
from infogain.zoo.tasks.problem import SPLITS, FileTask, Problem, Task
from infogain.zoo.tasks.sudoku import DIGITS, Sudoku
from infogain.zoo.tasks.tale import Tale, TaleEnding, TaleHole

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        OneWay(),
        OneWayGiven(),
        Judgement(),
        Sudoku("sudoku", 4, DIGITS, givens=(2, 4)),
        Sudoku("sudoku6", 6, DIGITS[:6]),
        Countdown("countdown", 3, 34),
        Countdown("countdown4", 4, 48),
        Arithmetic(),
    )
}
TALES: dict[str, Task] = {task.name: task for task in (Tale(), TaleHole(), TaleEnding())}
MOLECULES: dict[str, Task] = {task.name: task for task in (Molecule(), Scaffold())}
ALL_TASKS: dict[str, Task] = {**TASKS, **TALES, **MOLECULES}


def load_task(name: str) -> Task:
    if name not in ALL_TASKS:
        raise UnknownName("task", name, ALL_TASKS)
    return ALL_TASKS[name]


__all__ = ["ALL_TASKS", "MOLECULES", "SPLITS", "TALES", "TASKS", "FileTask", "Problem", "Task", "load_task"]
