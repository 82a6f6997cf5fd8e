"""`python -m infogain.studies.run --model FOLDER --out DIR`: decode the cells of studies, with torch alone.

For a machine that is lent for minutes: it prints what it does, stops between cells when its time
is up, and leaves cells.jsonl, from which `infogain study --out DIR` makes tables, figures and the
report without decoding again.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

from infogain.algorithm.schedule import Steps, TokensPerStep
from infogain.options import MOST, Plain
from infogain.studies import STUDIES, Study, by_model, check_suits, load_study
from infogain.studies.benchmark import check_data
from infogain.studies.cell import BENCHMARKS, IMAGES, Cell
from infogain.studies.decoding import BUDGET, candidates
from infogain.studies.image_cells import columns_per_image
from infogain.studies.methods import SIZES
from infogain.studies.run_cells import Workers, do, missing, run_study
from infogain.studies.scored import WAITING
from infogain.studies.store import Store
from infogain.studies.study_files import expected
from infogain.studies.subject import Subject
from infogain.zoo.tasks import load_task

# What `--plan` goes by.
MASKS = {  # to write, about
    "oneway": 18,
    "oneway-given": 15,
    "judgement": 32,
    "sudoku": 13,
    "sudoku6": 26,
    "countdown": 21,
    "countdown4": 32,
    "arithmetic": 64,
    "tale": 67,
    "molecule": 55,
    "scaffold": 18,
}
STEP = 8e-3  # seconds of the host for a step, and
CANDIDATE = 3e-6  # for each candidate in it
COLUMN = 5e-8  # of the device for a column in a forward
IMAGE = 1.3e-4  # for an image, besides its steps, and
IMAGE_RUN = 2e-5  # for a forward of one candidate of it


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_arguments(arguments)
    began, store = time.monotonic(), Store(Path(options.out))
    deadline = began + 60 * options.minutes if options.minutes else None
    for model, studies in by_model(map(load_study, options.names or STUDIES), options.model).items():
        subject = Subject(model, options.device, options.data)
        if not options.names:
            studies = [study for study in studies if study.suits(subject)]
        check_suits(studies, subject)
        points = [point for study in studies for point in study.points_for(options.size, subject)]
        check_data(subject.data, points)
        if options.plan:
            plan(studies, options.size, subject, store)
            continue
        with Workers(subject, options.workers, deadline) as workers:
            do(missing(points, subject, store), workers, store, say)  # of all studies at once
            for study in studies:
                rows = run_study(study, options.size, workers, store, say)
                of = expected(study, options.size, subject, rows)
                spent = time.monotonic() - began
                print(f"== {study.name}: {len(rows)} of {of} points, {spent:.0f} s so far", flush=True)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infogain.studies.run",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=f"studies, in the order to run them: {', '.join(STUDIES)}; none: all")
    parser.add_argument("--model", help="a model folder; unset: the model of the zoo that each study is about")
    parser.add_argument("--out", default="studies", help="folder of cells.jsonl")
    parser.add_argument("--size", choices=SIZES, default="full", help="of each study")
    parser.add_argument("--minutes", type=float, help="begin no cell after this time; unset: no limit")
    parser.add_argument("--device", help="cpu or cuda; unset: the GPU where there is one")
    parser.add_argument(
        "--data", help="folder or file with GSM8K, for utility on a checkpoint outside the zoo; unset: the hub"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that share the device")
    parser.add_argument("--plan", action="store_true", help="say what is to do and how long it may take on a GPU")
    return parser.parse_args(arguments)


def say(cell: Cell, numbers: Plain) -> None:
    recipe = cell.recipe.plain()
    often = " ".join(f"{name}={value}" for name, value in recipe["schedule"].items() if name in ("k", "count"))
    words = f"{cell.kind} {cell.task} {cell.split} {recipe['sampler']['name']} {often}"
    rows = cell.problems * len(cell.seeds) * cell.draws
    result = f"right {numbers['accuracy']:.1%}  H̃ {numbers['entropy']:.2f}  " if "accuracy" in numbers else ""
    result += f"Fréchet {numbers['frechet']:.3f}  spread {numbers['spread']:.3f}  " if "frechet" in numbers else ""
    result = "not judged yet: its judge is not installed here  " if WAITING in numbers else result
    print(f"{words:<52} {rows:5} rows  {result}{numbers['seconds']:.1f} s", flush=True)


def seconds(cell: Cell) -> float:
    """Seconds that a cell may take. Look-ahead is cheaper than this: bypasses and equal candidates are not counted."""
    if cell.kind == IMAGES:
        return image_seconds(cell)
    if (
        cell.kind not in ("decode", "diversity") or cell.task in BENCHMARKS
    ):  # how long checkpoints take for texts is not known here
        return 1.0
    schedule = cell.recipe.schedule
    k = schedule.k if isinstance(schedule, TokensPerStep) else 1
    steps = min(math.ceil(MASKS[cell.task] / k), schedule.count if isinstance(schedule, Steps) else MOST)
    rows = cell.problems * len(cell.seeds) * cell.draws * candidates(cell.recipe.sampler)
    columns = rows * load_task(cell.task).width
    batches = math.ceil(columns / BUDGET["cuda"])
    return steps * (batches * STEP + rows * CANDIDATE + columns * COLUMN)


def image_seconds(cell: Cell) -> float:
    """Seconds that images may take: the last step evaluates no candidates."""
    schedule = cell.recipe.schedule
    assert isinstance(schedule, Steps)
    runs = (schedule.count - 1) * columns_per_image(cell.recipe, 1) + 1
    return cell.problems * len(cell.seeds) * (IMAGE + runs * IMAGE_RUN)


def plan(studies: Sequence[Study], size: str, subject: Subject, store: Store) -> None:
    seen: set[str] = set()
    for study in studies:
        todo = missing(study.points_for(size, subject), subject, store)
        new = [cell for key, cell in todo.items() if key not in seen]
        seen |= set(todo)
        print(f"{study.name:<13} {len(new):5} cells to do, about {sum(map(seconds, new)):.0f} s on a GPU")


if __name__ == "__main__":
    main()
