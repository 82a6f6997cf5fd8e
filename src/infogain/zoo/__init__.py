"""Small models trained on exact tasks: the tasks, their alphabet, a training program and scores."""

from infogain.zoo.characters import ALPHABET, Alphabet
from infogain.zoo.tasks import SPLITS, TASKS, Problem, Task, load_task

__all__ = ["ALPHABET", "SPLITS", "TASKS", "Alphabet", "Problem", "Task", "load_task"]
