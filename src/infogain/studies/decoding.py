"""Decodes a cell: all problems from all seeds, in as few and as large batches as memory allows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.noise import row_seeds
from infogain.decode import decode
from infogain.generate import Generation, decode_job, settle
from infogain.loop.batch import Observer
from infogain.options import Plain
from infogain.samplers import Sampler
from infogain.studies.cell import BENCHMARKS, IMAGES, Cell
from infogain.studies.cell_observer import CellObserver
from infogain.studies.cell_scores import COSTS
from infogain.studies.decoded import CellRow, Decoded
from infogain.studies.extras import order_numbers
from infogain.studies.image_cells import image_scores
from infogain.studies.posed import CANVASES, parts_of, pose
from infogain.studies.proposition import proposition
from infogain.studies.scored import scored
from infogain.studies.speed import bench
from infogain.studies.subject import Subject
from infogain.text.prompts import Job, completions
from infogain.zoo.tasks import Problem, load_task

BUDGET = {"cuda": 200_000, "cpu": 20_000}  # columns in one forward, candidates counted
CHAT_LENGTH, CHAT_BATCH = 256, 16  # of a checkpoint that is asked in chat


def run_cell(subject: Subject, cell: Cell) -> Plain:
    """Decode a cell; returns everything that is stored of it."""
    kinds = {
        "decode": decode_scores,
        "diversity": diversity_scores,
        "trace": trace,
        "proposition": proposition,
        "bench": bench,
        IMAGES: image_scores,
    }
    began = time.perf_counter()
    numbers = kinds[cell.kind](subject, cell)
    about: Plain = {"device": device_name(subject.device), "float32": torch.get_float32_matmul_precision()}
    if cell.kind in ("decode", "diversity", "trace"):  # others time a shape, or look at an exact toy
        about["provenance"] = subject.text.provenance
    if cell.kind == IMAGES:
        about["provenance"] = subject.images.provenance
    return {**numbers, "seconds": time.perf_counter() - began, **about}


def decode_scores(subject: Subject, cell: Cell) -> Plain:
    """The scores of a cell's rows, and what an observer of the steps tells."""
    observer = CellObserver(cell.recipe, cell.keep)
    scores = scored(subject, cell, decoded(subject, cell, observer.observer))
    return {**scores, **observer.read(), **note(subject, cell)}


def diversity_scores(subject: Subject, cell: Cell) -> Plain:
    return {**scored(subject, cell, decoded(subject, cell)), **note(subject, cell)}


def note(subject: Subject, cell: Cell) -> Plain:
    if subject.is_zoo:
        return {}
    return {"note": "a canvas behind the question" if cell.task in CANVASES else "asked in chat, answered freely"}


def decoded(subject: Subject, cell: Cell, observe: Observer | None = None) -> Iterator[Decoded]:
    """All rows of a cell. A model of the zoo fills canvases; others do so in case studies, and else reply in chat."""
    if subject.is_zoo:
        return canvases(subject, cell, observe)
    return (posed_canvases if cell.task in CANVASES else replies)(subject, cell, observe)


def canvases(subject: Subject, cell: Cell, observe: Observer | None) -> Iterator[Decoded]:
    model, alphabet = subject.zoo
    for batch in batches(cell, subject.device):
        rows = [alphabet.encode(line.problem.canvas) for line in batch]
        canvas, seeds = Canvas.infill(rows, alphabet.mask_id), [line.seed for line in batch]
        result = decode(model, canvas, **cell.recipe.plain(), seeds=seeds, observe=observe, trace=False)
        texts = [alphabet.decode(tokens) for tokens in result.tokens.tolist()]
        done = list(zip(batch, texts, result.cumulative_entropy.tolist(), strict=True))
        order = order_numbers(cell.task, result.revealed, parts_of(cell.task, rows[0], alphabet.mask_id))
        yield Decoded(done, {**{cost: getattr(result, cost) for cost in COSTS}, **order})


def posed_canvases(subject: Subject, cell: Cell, observe: Observer | None) -> Iterator[Decoded]:
    """Canvases of a case study, each behind its question and in one block, or in those of a block-causal model."""
    model, every = subject.text, lines(cell)
    posed = [pose(model, cell.task, problem) for problem in cell.load_problems()]
    job = Job([line.problem.canvas for line in every], [posed[line.number].row for line in every])
    recipe = settle(cell.recipe, model, stop_at_eos=False, whole=True)
    seeds = [line.seed for line in every]
    for at, filled in decode_job(model, job, recipe, (), seeds, CHAT_BATCH, observe):
        asked = posed[every[at].number]
        order = order_numbers(cell.task, asked.revealed(filled.revealed), asked.parts)
        yield decoded_row(every[at], asked.read(filled.tokens, model.tokenizer), filled, order)


def replies(subject: Subject, cell: Cell, observe: Observer | None) -> Iterator[Decoded]:
    """Free replies to the questions of a task of the zoo, or of a benchmark."""
    model, stops = subject.text, tuple[str, ...]()
    if cell.task in BENCHMARKS:
        benchmark = subject.benchmark(cell.task)
        every = lines(cell, benchmark.problems(cell.problems))
        job, stops = benchmark.job(model, [line.problem for line in every])
    else:
        every, task = lines(cell), load_task(cell.task)
        job = completions(model, [task.chat(line.problem) for line in every], CHAT_LENGTH)
    recipe = settle(cell.recipe, model)
    seeds = [line.seed for line in every]
    for at, reply in decode_job(model, job, recipe, stops, seeds, CHAT_BATCH, observe):
        yield decoded_row(every[at], reply.text, reply)


def decoded_row(line: CellRow, text: str, made: Generation, order: Mapping[str, Tensor] | None = None) -> Decoded:
    """A row that was decoded by itself."""
    costs = {name: torch.tensor([getattr(made, name)]) for name in COSTS}
    return Decoded([(line, text, made.cumulative_entropy)], {**costs, **(order or {})})


def lines(cell: Cell, problems: Sequence[Problem] | None = None) -> list[CellRow]:
    """Every problem from every seed, as often as it is to be drawn; a row's own seed depends on all of these.

    problems  unset: those that the cell draws from the zoo
    """
    problems = cell.load_problems() if problems is None else problems
    count = len(problems)
    seeds = [own for seed in cell.seeds for own in row_seeds(seed, count * cell.draws)]
    return [CellRow(i % count, i // count, problems[i % count], own) for i, own in enumerate(seeds)]


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
    return {"trace": saved, "symbols": list(alphabet.symbols), "text": text, "right": right}


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
