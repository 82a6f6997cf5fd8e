"""Scores the rows of a cell where what judges them is installed, and keeps their texts where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from infogain.options import Plain
from infogain.studies.cell import BENCHMARKS, Cell, Point
from infogain.studies.cell_scores import CellScores, Judge, judge_canvas, judge_chat, judge_question
from infogain.studies.decoded import Decoded, pack, unpack
from infogain.studies.diversity import DiversityScores
from infogain.studies.repeated import RepeatedTexts
from infogain.studies.store import Store
from infogain.studies.subject import Subject
from infogain.studies.written_molecules import Chemistry
from infogain.zoo.tasks import load_task

WAITING = "waiting"  # the name of texts that wait for their judge


def scored(subject: Subject, cell: Cell, parts: Iterable[Decoded]) -> Plain:
    """What is stored of a cell's rows: their scores, or the texts where the task's judge is not installed."""
    if waits(cell):
        return {WAITING: pack(parts)}
    return (diversity_scores if cell.kind == "diversity" else decode_scores)(subject, cell, parts)


def waits(cell: Cell) -> bool:
    """Whether what judges a cell's texts is not installed."""
    decodes = cell.kind in ("decode", "diversity") and cell.task not in BENCHMARKS
    return decodes and load_task(cell.task).missing() is not None


def judge_waiting(points: Sequence[Point], subject: Subject, store: Store) -> None:
    """Judge the texts of those cells that were decoded where their judge was not, now that it is here."""
    for cell in {point.cell: None for point in points}:
        key = cell.key(subject.fingerprint)
        if key in store and WAITING in store.numbers(key) and not waits(cell):
            numbers = dict(store.numbers(key))
            parts = unpack(numbers.pop(WAITING), cell.load_problems())
            store.add(key, cell.plain(), subject.fingerprint, {**scored(subject, cell, parts), **numbers})


def waiting(points: Sequence[Point], subject: Subject, store: Store) -> str:
    """How many cells wait for their judge and how to install it, in words; nothing where none does."""
    keyed = {point.cell.key(subject.fingerprint): point.cell for point in points}
    found = [cell for key, cell in keyed.items() if key in store and WAITING in store.numbers(key)]
    if not found:
        return ""
    return f"{len(found)} cells are decoded and wait to be judged. {load_task(found[0].task).missing()}"


def decode_scores(subject: Subject, cell: Cell, parts: Iterable[Decoded]) -> Plain:
    """Right answers, H̃ and costs, and on request how much the texts of a problem repeat each other."""
    scores = CellScores(cell, judge(subject, cell))
    texts = RepeatedTexts(cell.task) if "repetition" in cell.keep else None
    for part in parts:
        for line, text, entropy in part.done:
            scores.check(line.number, line.turn, line.problem, text, entropy)
            if texts:
                texts.add(line.number, line.problem, text)
        for name, values in part.numbers.items():
            scores.add(name, values, [line.number for line, *_ in part.done])
    return {**scores.numbers(), **(texts.numbers() if texts else {})}


def diversity_scores(subject: Subject, cell: Cell, parts: Iterable[Decoded]) -> Plain:
    """Right answers, how many of them are different, and costs, where each problem is decoded many times."""
    scores = DiversityScores(cell, judge(subject, cell), answers_in(subject, cell))
    molecules = Chemistry(cell) if "chemistry" in cell.keep else None
    for part in parts:
        for line, text, entropy in part.done:
            scores.check(line.number, line.problem, text, entropy)
            if molecules:
                molecules.add(line.number, text)
        for name, values in part.numbers.items():
            scores.add(name, values)
    return {**scores.numbers(), **(molecules.numbers() if molecules else {})}


def judge(subject: Subject, cell: Cell) -> Judge:
    if cell.task in BENCHMARKS:
        return judge_question(subject.benchmark(cell.task))
    return judge_canvas(cell.task) if subject.is_zoo else judge_chat(cell.task)


def answers_in(subject: Subject, cell: Cell) -> Callable[[str], str]:
    """Reads the answer of a text in one form, to tell different ones apart; replies differ in their words, too."""
    if cell.task in BENCHMARKS:
        return str.strip
    task = load_task(cell.task)
    return task.form if subject.is_zoo else lambda reply: task.form(task.answer_in(reply))
