"""From a task and a model to a run: every item from every seed, decoded, scored, and written down at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from infogain.decode import Observer
from infogain.errors import UnfitModel
from infogain.evals.bypass import BypassCount
from infogain.evals.desk import Came, Desk
from infogain.evals.protocol import Protocol
from infogain.evals.runs import VERSION, Run, hash_of, run_name
from infogain.evals.task import Item, Task
from infogain.generate import default_recipe, stream
from infogain.job import Job, completions, infills
from infogain.noise import row_seeds
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text import TextModel
from infogain.trace import StepEvent

PIECE = 4  # batches decoded as one job


@dataclass(frozen=True)
class Plan:
    """All that is to be decoded, and what run.json will say of it."""

    task: Task
    model: TextModel
    items: list[Item]  # those wanted
    job: Job  # a row for each of them
    seeds: list[list[int]]  # of the rows, for each seed
    protocol: Protocol
    recipe: Recipe
    about: Plain

    @property
    def name(self) -> str:
        return run_name(self.about)

    @property
    def keys(self) -> set[tuple[str, int]]:
        """The items and seeds that are wanted."""
        return {(item.id, seed) for item in self.items for seed in range(self.protocol.seeds)}

    def pieces(self, batch_size: int, done: set[tuple[str, int]]) -> Iterator[list[tuple[int, int]]]:
        """The (seed, number of the item) pairs of each job that has something missing.

        A job is decoded whole even where a part of it is done: then its rows stand in the same batches as they would
        have without the interruption, and come out equal to the last digit.
        """
        every = [(seed, i) for seed in range(self.protocol.seeds) for i in range(len(self.items))]
        for first in range(0, len(every), PIECE * batch_size):
            piece = every[first : first + PIECE * batch_size]
            if any((self.items[i].id, seed) not in done for seed, i in piece):
                yield piece

    def part(self, piece: Sequence[tuple[int, int]]) -> Job:
        return replace(
            self.job,
            prompts=[self.job.prompts[i] for _, i in piece],
            rows=[self.job.rows[i] for _, i in piece],
        )


def default_for(task: Task, protocol: Protocol, model: TextModel) -> Recipe:
    """What suits the model, with one block for planning and infilling, unless the model has blocks of its own."""
    recipe = default_recipe(model.model)
    whole = (task.one_block or protocol.style == "infill") and not model.model.attention_block
    return replace(recipe, block=None) if whole else recipe


def check(tasks: Iterable[Task], data: Path | None) -> None:
    """What can be found wrong before a model is loaded: with this machine, and in the benchmarks' files."""
    for task in tasks:
        task.demand()
        if data and task.files:
            task.items(data)


def prepare(
    task: Task, model: TextModel, described: Plain, protocol: Protocol, recipe: Recipe, data: Path | None = None
) -> Plan:
    """Read the items and pose them; a model that cannot be asked is found out here.

    described  the model in run.json: its name, and what else tells it from others
    data       folder or file of the benchmark; unset: the hub
    """
    if reason := task.unfit(model):
        raise UnfitModel(f"{described['name']} cannot be asked {task.name}: {reason}")
    task.demand()
    source, every = task.items(data)
    items = every[: protocol.limit]
    seeds = [row_seeds(recipe.seed + seed, len(every)) for seed in range(protocol.seeds)]
    about = {
        "version": VERSION,
        "task": task.name,
        "model": described,
        "protocol": protocol.plain(),
        "recipe": recipe.plain(),
        "recipe_hash": hash_of(recipe.plain()),
        "data": {"source": source, "fingerprint": hash_of([vars(item) for item in every]), "items": len(every)},
        "provenance": model.provenance,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return Plan(task, model, items, pose(task, model, items, every, protocol), seeds, protocol, recipe, about)


def pose(task: Task, model: TextModel, items: list[Item], every: list[Item], protocol: Protocol) -> Job:
    """A row for each item, its examples before it."""
    free = task.free_examples(every)
    prompts = [task.build(item, task.shots_for(item, free, protocol.shots), protocol.style) for item in items]
    if protocol.style == "infill":
        return infills(model, [str(prompt) for prompt in prompts])
    return completions(model, prompts, protocol.length, chat=protocol.style == "chat")


def evaluate(
    plan: Plan, runs: Path, batch_size: int = 16, traces: bool = False, observe: Observer | None = None
) -> Generator[Plain, None, None]:
    """Decode what the run lacks; gives each line once it is written."""
    run = Run(runs / plan.name)
    with run.writing(plan.about) as add:
        done = run.done()
        for piece in plan.pieces(batch_size, done):
            desk = Desk(plan.task, plan.items, plan.about["recipe_hash"], run, add)
            for came in _decode(plan, piece, batch_size, traces, observe, desk.settle):
                if (plan.items[came.item].id, came.seed) not in done:
                    desk.waiting.append(came)
                yield from desk.collect()
            desk.settle()
            yield from desk.collect()


def _decode(
    plan: Plan,
    piece: list[tuple[int, int]],
    batch_size: int,
    traces: bool,
    observe: Observer | None,
    settle: Callable[[], None],
) -> Iterator[Came]:
    """Each text as it comes; after every step, what came before it is settled, off the clock."""
    count, began = BypassCount(plan.recipe), time.perf_counter()

    def watch(event: StepEvent) -> None:
        nonlocal began
        paused = time.perf_counter()
        settle()
        began += time.perf_counter() - paused
        count(event)
        if observe:
            observe(event)

    seeds = [plan.seeds[seed][i] for seed, i in piece]
    stops = plan.task.stops if plan.protocol.style == "plain" else ()
    for at, text in stream(plan.model, plan.part(piece), plan.recipe, stops, seeds, batch_size, watch, traces):
        seconds = time.perf_counter() - began
        choices, bypassed = count.take(text.seed)
        yield Came(*piece[at], text, {"choices": choices, "bypassed": bypassed, "seconds": round(seconds, 6)})
        began = time.perf_counter()
