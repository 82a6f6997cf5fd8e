"""Ask a model the items of a task, each from every seed; every text is scored and written to a run at once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from infogain.algorithm.noise import repeat_seed, row_seeds
from infogain.capacity import check_fits
from infogain.errors import InputError, UnsupportedTask
from infogain.evals.bypass_count import BypassCount
from infogain.evals.identity import hash_of, recipe_entry
from infogain.evals.protocol import Protocol
from infogain.evals.runs import VERSION, Run, find_run, run_name
from infogain.evals.scoring_queue import Completion, ScoringQueue
from infogain.evals.task import EvalTask, Item, Shot
from infogain.generate import decode_job
from infogain.loop.batch import Observer
from infogain.loop.step import StepEvent
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text.prompts import Job, Prompt, completions, encode_prompt, infills
from infogain.text.text_model import TextModel

SEED_BYTES = 40  # of a number in a list
BATCHES_PER_JOB = 4
SeedAndItem = tuple[int, int]  # numbers of both


@dataclass(frozen=True)
class Plan:
    """All that is to be decoded, and what run.json will say of it."""

    task: EvalTask
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

    def run(self, runs: Path) -> Run:
        """The run it is written to: one of the same identity that is there, or a new one."""
        return find_run(runs, self.about)

    @property
    def keys(self) -> set[tuple[str, int]]:
        """The items and seeds that are wanted."""
        return {(item.id, seed) for item in self.items for seed in range(self.protocol.seeds)}

    def jobs(self, batch_size: int, done: set[tuple[str, int]]) -> Iterator[list[SeedAndItem]]:
        """The texts of each job that has something missing, by seed and number of the item.

        A job is decoded whole even where a part of it is done: then its rows stand in the same batches as they would
        have without the interruption, and come out equal to the last digit.
        """
        every = [(seed, i) for seed in range(self.protocol.seeds) for i in range(len(self.items))]
        size = BATCHES_PER_JOB * batch_size
        for texts in (every[first : first + size] for first in range(0, len(every), size)):
            if any((self.items[i].id, seed) not in done for seed, i in texts):
                yield texts

    def rows_of(self, texts: Sequence[SeedAndItem]) -> Job:
        """The rows to decode for these texts."""
        rows = [self.job.rows[i] for _, i in texts]
        return replace(self.job, prompts=[self.job.prompts[i] for _, i in texts], rows=rows)


def is_whole(task: EvalTask, protocol: Protocol) -> bool:
    """Whether a text is decoded in one block unless the recipe says otherwise, as in planning and infilling."""
    return task.one_block or protocol.style == "infill"


def check(tasks: Iterable[EvalTask], data: Path | None) -> None:
    """Raise what is wrong with this machine or the benchmarks' files, before a model is loaded."""
    for task in tasks:
        task.demand()
        if data and task.files:
            task.items(data)


def prepare(
    task: EvalTask, model: TextModel, described: Plain, protocol: Protocol, recipe: Recipe, data: Path | None = None
) -> Plan:
    """Read the items and pose them; a model that cannot be asked is found out here.

    described  the model in run.json: its name, and what else tells it from others; `fingerprint.describe` finds it
    data       folder or file of the benchmark; unset: the hub
    """
    if reason := task.unsupported(model):
        raise UnsupportedTask(f"{described['name']} cannot be asked {task.name}: {reason}")
    task.demand()
    source, every = task.items(data)
    items, free = every[: protocol.limit], task.free_examples(every)
    job = pose(task, model, items, free, protocol)
    check_fits("seeds", protocol.seeds, SEED_BYTES * len(every), 4 * SEED_BYTES * len(every))
    seeds = [row_seeds(repeat_seed(recipe.seed, number), len(every)) for number in range(protocol.seeds)]
    about = {
        "version": VERSION,
        "task": task.name,
        "model": described,
        "protocol": protocol.plain(),
        **recipe_entry(recipe),
        "data": {
            "source": source,
            "fingerprint": hash_of([vars(item) for item in every]),
            "prompts": _rendered(task, model, every, free, protocol),
            "items": len(every),
        },
        "provenance": model.provenance,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return Plan(task, model, items, job, seeds, protocol, recipe, about)


def pose(task: EvalTask, model: TextModel, items: Sequence[Item], free: Sequence[Shot], protocol: Protocol) -> Job:
    """The job that asks these items: a row for each, with worked examples from `free` before it."""
    prompts = [_prompt(task, item, free, protocol) for item in items]
    if protocol.style == "infill":
        return infills(model, [str(prompt) for prompt in prompts])
    return completions(model, prompts, protocol.length, chat=protocol.style == "chat")


def _prompt(task: EvalTask, item: Item, free: Sequence[Shot], protocol: Protocol) -> Prompt:
    return task.build(item, task.shots_for(item, free, protocol.shots), protocol.style)


def _rendered(task: EvalTask, model: TextModel, every: Sequence[Item], free: Sequence[Shot], protocol: Protocol) -> str:
    """Hash of what the model is given for all items, as token ids, and of the strings that end a text."""
    rows: list[list[int] | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the items that are asked for come from `pose`
        for item in every:
            try:
                rows.append(_token_ids(model, _prompt(task, item, free, protocol), protocol.style))
            except InputError:
                rows.append(None)  # it cannot be posed, so no run will ever hold it
    return hash_of([rows, model.tokenizer.special_tokens_around, _stops(task, protocol)])


def _token_ids(model: TextModel, prompt: Prompt, style: str) -> list[int]:
    if style == "infill":
        return infills(model, [str(prompt)]).rows[0]
    return encode_prompt(model.tokenizer, prompt, chat=style == "chat")


def _stops(task: EvalTask, protocol: Protocol) -> tuple[str, ...]:
    return task.stops if protocol.style == "plain" else ()


def evaluate(
    plan: Plan, runs: Path, batch_size: int = 16, traces: bool = False, observe: Observer | None = None
) -> Generator[Plain, None, None]:
    """Decode the texts that the run lacks; yields each line once it is written."""
    run = plan.run(runs)
    with run.writing(plan.about) as add:
        done = run.done()
        for texts in plan.jobs(batch_size, done):
            queue = ScoringQueue(plan.task, plan.items, plan.protocol.style, plan.about["recipe_hash"], run, add)
            for text in _decode(plan, texts, batch_size, traces, observe, queue.score_waiting):
                if (plan.items[text.item].id, text.seed) not in done:
                    queue.waiting.append(text)
                yield from queue.take_written()
            queue.score_waiting()
            yield from queue.take_written()


def _decode(
    plan: Plan,
    texts: list[SeedAndItem],
    batch_size: int,
    traces: bool,
    observe: Observer | None,
    after_step: Callable[[], None],
) -> Iterator[Completion]:
    """Each text as soon as it is finished. The time that `after_step` takes is not counted as decoding."""
    count, began = BypassCount(plan.recipe), time.perf_counter()

    def watch(event: StepEvent) -> None:
        nonlocal began
        paused = time.perf_counter()
        after_step()
        began += time.perf_counter() - paused
        count(event)
        if observe:
            observe(event)

    seeds = [plan.seeds[seed][i] for seed, i in texts]
    stops = _stops(plan.task, plan.protocol)
    for at, text in decode_job(plan.model, plan.rows_of(texts), plan.recipe, stops, seeds, batch_size, watch, traces):
        seconds = time.perf_counter() - began
        choices, bypassed = count.take(text.seed)
        yield Completion(*texts[at], text, {"choices": choices, "bypassed": bypassed, "seconds": round(seconds, 6)})
        began = time.perf_counter()
