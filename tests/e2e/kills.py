"""Does a run that is killed end like one that is not?  python -m tests.e2e.kills FOLDER --kills 20

An evaluation is run to its end, then again in processes that are killed −9 at random points, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

import torch

from infogain import Recipe, load
from infogain.algorithm.schedule import TokensPerStep
from infogain.evals.evaluate import Plan, evaluate, prepare
from infogain.evals.runs import ITEMS, Run
from infogain.evals.tasks import load_task
from infogain.samplers import make

BATCH = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=18)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # processes are forked, which threads do not survive
    task, model = load_task("zoo:sudoku"), load("zoo:tiny-reason", device="cpu")
    protocol = task.protocol(model.tokenizer, seeds=2, limit=given.limit)
    recipe = Recipe(make("info-gain", n=2), TokensPerStep(4))
    plan = prepare(task, model, {"name": "zoo:tiny-reason"}, protocol, recipe)
    whole, parts = (Run(given.folder / name / plan.name) for name in ("whole", "parts"))
    began = time.perf_counter()
    list(evaluate(plan, whole.folder.parent, BATCH))
    soon = (time.perf_counter() - began) / 10  # so that a fast machine, too, is killed before its end
    rng = Random(given.seed)
    points = sorted(rng.sample(range(size(whole) * 8 // 10), given.kills))
    after = [kill_at(point, rng.uniform(0, soon), plan, parts) for point in points]
    list(evaluate(plan, parts.folder.parent, BATCH))
    equal = results(whole) == results(parts)
    print(json.dumps({"equal": equal, "after": after, "lines": len(whole.items())}))


def kill_at(point: int, delay: float, plan: Plan, run: Run) -> int:
    """Start a process and kill it soon after the items take up so many bytes; the lines they then are."""
    child = os.fork()
    if child == 0:
        list(evaluate(plan, run.folder.parent, BATCH))
        os._exit(0)
    while size(run) < point:
        time.sleep(0.0005)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return len(run.items())


def size(run: Run) -> int:
    path = run.folder / ITEMS
    return path.stat().st_size if path.exists() else 0


def results(run: Run) -> list[dict[str, Any]]:
    """The lines by key, without their times."""
    lines = [{name: value for name, value in line.items() if name != "seconds"} for line in run.items()]
    return sorted(lines, key=lambda line: json.dumps(line["key"], sort_keys=True))


if __name__ == "__main__":
    main()
