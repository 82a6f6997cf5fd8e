"""Decodes a cell: all problems from all seeds, in as few and as large batches as memory allows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.noise import row_seeds
from infogain.decode import decode
from infogain.generate import decode_job, settle
from infogain.options import Plain
from infogain.samplers import Sampler
from infogain.studies.cell import Cell
from infogain.studies.cell_observer import CellObserver
from infogain.studies.cell_scores import COSTS, CellScores, judge_canvas
from infogain.studies.extras import EXTRAS
from infogain.studies.proposition import proposition
from infogain.studies.speed import bench
from infogain.studies.subject import Subject
from infogain.text.prompts import completions
from infogain.zoo.tasks import Problem, load_task

BUDGET = {"cuda": 200_000, "cpu": 20_000}  # columns in one forward, candidates counted
CHAT_LENGTH, CHAT_BATCH = 256, 16  # of a checkpoint that is asked in chat


class CellRow(NamedTuple):
    """A row to decode: a problem from a seed."""

    number: int  # of the problem
    turn: int  # of the seed
    problem: Problem
    seed: int  # of the row


def run_cell(subject: Subject, cell: Cell) -> Plain:
    """Decode a cell; returns everything that is stored of it."""
    kinds = {"decode": decode_scores, "trace": trace, "proposition": proposition, "bench": bench}
    for _ in range(2 if "time" in cell.keep else 1):  # where time counts, the first run only warms up
        began = time.perf_counter()
        numbers = kinds[cell.kind](subject, cell)
    about: Plain = {"device": device_name(subject.device), "float32": torch.get_float32_matmul_precision()}
    if cell.kind in ("decode", "trace"):  # others time a shape, or look at an exact toy
        about["provenance"] = subject.text.provenance
    return {**numbers, "seconds": time.perf_counter() - began, **about}


def decode_scores(subject: Subject, cell: Cell) -> Plain:
    return canvas_scores(subject, cell) if subject.is_zoo else chat_scores(subject, cell)


def lines(cell: Cell) -> list[CellRow]:
    """Every problem from every seed; a row's own seed depends on both."""
    problems = cell.load_problems()
    return [
        CellRow(number, turn, problem, own)
        for turn, seed in enumerate(cell.seeds)
        for number, (problem, own) in enumerate(zip(problems, row_seeds(seed, len(problems)), strict=True))
    ]


def canvas_scores(subject: Subject, cell: Cell) -> Plain:
    """Numbers of a cell whose canvases are decoded by a model of the zoo."""
    model, alphabet = subject.zoo
    observer, scores = CellObserver(cell.recipe, cell.keep), CellScores(cell, judge_canvas(cell.task))
    for batch in batches(cell, subject.device):
        canvas = Canvas.infill([alphabet.encode(line.problem.canvas) for line in batch], alphabet.mask_id)
        seeds = [line.seed for line in batch]
        result = decode(model, canvas, **cell.recipe.plain(), seeds=seeds, observe=observer.observer, trace=False)
        rows = zip(batch, result.tokens.tolist(), result.cumulative_entropy.tolist(), strict=True)
        for line, tokens, entropy in rows:
            scores.check(line.number, line.turn, line.problem, alphabet.decode(tokens), entropy)
        extras = EXTRAS[cell.task](result) if cell.task in EXTRAS else {}
        for name, values in {**{cost: getattr(result, cost) for cost in COSTS}, **extras}.items():
            scores.add(name, values)
    return {**scores.numbers(), **observer.read()}


def chat_scores(subject: Subject, cell: Cell) -> Plain:
    """Numbers of a cell whose problems are asked in chat; those that look at the canvas are left out."""
    task, model = load_task(cell.task), subject.text
    every = lines(cell)
    job = completions(model, [task.chat(line.problem) for line in every], CHAT_LENGTH)
    recipe = settle(replace(cell.recipe, block=None), model)  # that of canvases is no matter for texts
    scores = CellScores(cell, lambda problem, text: (task.check_chat(problem, text),) * 2)
    seeds = [line.seed for line in every]
    for at, reply in decode_job(model, job, recipe, seeds=seeds, batch_size=CHAT_BATCH):
        line = every[at]
        scores.check(line.number, line.turn, line.problem, reply.text, reply.cumulative_entropy)
        for name in COSTS:
            scores.add(name, torch.tensor([getattr(reply, name)]))
    return {**scores.numbers(), "note": "asked in chat; what looks at columns of the canvas is left out"}


def trace(subject: Subject, cell: Cell) -> Plain:
    """Every step of the cell's last problem with all candidates, for the viewer."""
    if not subject.is_zoo:
        return {"note": "asked in chat; no trace is kept"}
    model, alphabet = subject.zoo
    line = lines(cell)[-1]
    canvas = Canvas.infill([alphabet.encode(line.problem.canvas)], alphabet.mask_id)
    result = decode(model, canvas, **cell.recipe.plain(), seeds=[line.seed])
    assert result.trace is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        result.trace.save(path)
        saved = path.read_text()
    text = alphabet.decode(result.tokens[0].tolist())
    right = load_task(cell.task).check(line.problem, text)
    return {"trace": saved, "characters": alphabet.characters, "text": text, "right": right}


def batches(cell: Cell, device: torch.device) -> Iterator[list[CellRow]]:
    every = lines(cell)
    per_batch = max(1, BUDGET[device.type] // (load_task(cell.task).width * candidates(cell.recipe.sampler)))
    count = -(-len(every) // per_batch)
    size = -(-len(every) // count)  # equally large
    for first in range(0, len(every), size):
        yield every[first : first + size]


def candidates(sampler: Sampler) -> int:
    """Rows of a forward for each row of the canvas."""
    traits = sampler.traits
    return traits.candidates * traits.beam * traits.copies


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
