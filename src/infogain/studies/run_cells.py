"""Cells that are still to do, done: one after the other, or by several processes that share the device."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import torch

from infogain.options import Plain
from infogain.studies.abstract_study import Study
from infogain.studies.cell import Cell, CellResult, Point
from infogain.studies.decoding import run_cell
from infogain.studies.independent import with_intervals
from infogain.studies.store import Store
from infogain.studies.subject import Subject

Report = Callable[[Cell, Plain], None]
Todo = dict[str, Cell]
_subject: Subject | None = None  # of a worker process


def missing(points: Sequence[Point], subject: Subject, store: Store) -> Todo:
    """The cells that are still to be decoded, by key, each once, in order."""
    keyed = {point.cell.key(subject.fingerprint): point.cell for point in points}
    return {key: cell for key, cell in keyed.items() if key not in store}


def finished(points: Sequence[Point], subject: Subject, store: Store) -> list[CellResult]:
    """The points of a study whose cells are decoded, with their numbers."""
    keyed = [(point, point.cell.key(subject.fingerprint)) for point in points]
    return [
        CellResult(point.labels, point.cell, with_intervals(point.cell, store.numbers(key)))
        for point, key in keyed
        if key in store
    ]


def run_study(
    study: Study,
    size: str,
    subject: Subject,
    store: Store,
    report: Report,
    workers: int = 1,
    deadline: float | None = None,
) -> list[CellResult]:
    """Decode the missing cells of a study, then those that follow from them, and so on; returns all rows there are."""
    points, rows = study.points_for(size, subject), list[CellResult]()
    while len(rows) < len(points):
        do(missing(points, subject, store), subject, store, report, workers, deadline)
        rows = finished(points, subject, store)
        if len(rows) == len(points):
            points = points + study.follow(size, rows)
        else:  # the time is up
            break
    return rows


def do(
    todo: Todo, subject: Subject, store: Store, report: Report, workers: int = 1, deadline: float | None = None
) -> None:
    """Decode and store cells until the deadline (of `time.monotonic`). Those whose time counts run alone, last."""
    shared = {key: cell for key, cell in todo.items() if not cell.alone}
    alone = {key: cell for key, cell in todo.items() if cell.alone}
    outcomes = in_processes(shared, subject, workers, deadline) if workers > 1 else in_turn(shared, subject, deadline)
    for results in (outcomes, in_turn(alone, subject, deadline)):
        for key, numbers in results:
            store.add(key, todo[key].plain(), subject.fingerprint, numbers)
            report(todo[key], numbers)


def in_turn(todo: Todo, subject: Subject, deadline: float | None) -> Iterator[tuple[str, Plain]]:
    """Decode cells one after the other."""
    prepare(subject.device)
    for key, cell in todo.items():
        if deadline is not None and time.monotonic() > deadline:
            return
        yield key, run_cell(subject, cell)


def in_processes(todo: Todo, subject: Subject, workers: int, deadline: float | None) -> Iterator[tuple[str, Plain]]:
    """Decode cells in several processes: the loop is bound by the host, so they share a GPU well."""
    queue = iter(todo.items())
    context = multiprocessing.get_context("spawn")
    start = (subject.name, str(subject.device), subject.data)
    workers = max(1, min(workers, len(todo)))  # a pool starts all of them
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=start) as pool:
        running: dict[Future[Plain], str] = {}
        while True:
            while len(running) < workers and (deadline is None or time.monotonic() < deadline):
                key, cell = next(queue, (None, None))
                if key is None or cell is None:
                    break
                running[pool.submit(_work, cell)] = key
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _start(name: str, device: str, data: Path | None) -> None:
    global _subject
    torch.set_num_threads(1)  # the processes are the parallel part
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all of them: they end without a traceback each
    _subject = Subject(name, device, data)
    prepare(_subject.device)


def _work(cell: Cell) -> Plain:
    assert _subject is not None
    return run_cell(_subject, cell)


def prepare(device: torch.device) -> None:
    """Let a GPU multiply float32 in TF32."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
