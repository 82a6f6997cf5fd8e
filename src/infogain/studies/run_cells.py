"""Cells that are still to do, done: one after the other, or by several processes that share the device."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path

import torch

from infogain.options import Plain
from infogain.studies.abstract_study import Study
from infogain.studies.cell import Cell, CellResult, Point
from infogain.studies.decoding import run_cell
from infogain.studies.independent import with_intervals
from infogain.studies.scored import WAITING, judge_waiting
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
    """The points of a study whose cells are decoded and judged, with their numbers."""
    keyed = [(point, point.cell.key(subject.fingerprint)) for point in points]
    return [
        CellResult(point.labels, point.cell, with_intervals(point.cell, store.numbers(key)))
        for point, key in keyed
        if key in store and WAITING not in store.numbers(key)
    ]


def run_study(study: Study, size: str, workers: Workers, store: Store, report: Report) -> list[CellResult]:
    """Decode the missing cells of a study, then those that follow from them, and so on; returns all rows there are."""
    points, rows = study.points_for(size, workers.subject), list[CellResult]()
    while len(rows) < len(points):
        do(missing(points, workers.subject, store), workers, store, report)
        judge_waiting(points, workers.subject, store)
        rows = finished(points, workers.subject, store)
        if len(rows) == len(points):
            points = points + study.follow(size, rows)
        else:  # the time is up, or texts wait for their judge
            break
    return rows


def do(todo: Todo, workers: Workers, store: Store, report: Report) -> None:
    """Decode and store cells. Those whose time counts run alone, last."""
    for alone in (False, True):
        own = {key: cell for key, cell in todo.items() if cell.alone is alone}
        for key, numbers in workers.decode(own, alone):
            store.add(key, todo[key].plain(), workers.subject.fingerprint, numbers)
            report(todo[key], numbers)


class Workers:
    """Decode cells in this process, or in several: the loop is bound by the host, so they share a GPU well.

    Processes are started when there is work for them, and kept for what comes next.

    deadline  of `time.monotonic`: no cell is begun after it; unset: no limit
    """

    def __init__(self, subject: Subject, count: int = 1, deadline: float | None = None) -> None:
        self.subject, self.count, self.deadline = subject, count, deadline
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def decode(self, todo: Todo, alone: bool = False) -> Iterator[tuple[str, Plain]]:
        """The numbers of cells, as each is done; `alone`: with nothing beside it."""
        return self._in_turn(todo) if alone or self.count == 1 else self._in_processes(todo)

    def _in_turn(self, todo: Todo) -> Iterator[tuple[str, Plain]]:
        prepare(self.subject.device)
        for key, cell in todo.items():
            if self.late:
                return
            yield key, run_cell(self.subject, cell)

    def _in_processes(self, todo: Todo) -> Iterator[tuple[str, Plain]]:
        queue, running = iter(todo.items()), dict[Future[Plain], str]()
        while True:
            for key, cell in islice(queue, 0 if self.late else self.count - len(running)):
                running[self.pool.submit(_work, cell)] = key
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()

    @property
    def pool(self) -> ProcessPoolExecutor:
        if self._pool is None:
            start = (self.subject.name, str(self.subject.device), self.subject.data)
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, mp_context=context, initializer=_start, initargs=start)
        return self._pool


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
