"""Proposition 1, counted out: the mean of J over a position's tokens, for the model and for exact toys."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals
from infogain.models.toys import load_toy
from infogain.options import Plain
from infogain.studies.cell import Cell
from infogain.studies.subject import Subject
from infogain.zoo.tasks import load_task

TOY = "toy:"
AT_ONCE = 4000  # rows in one forward
RARE = 1e-9  # tokens less likely than this do not count
ROUNDING = 1e-5


def proposition(subject: Subject, cell: Cell) -> Plain:
    """Prop. 1: E[J] ≤ 0 for one position and tokens drawn from p (K = 1, τ_token = 1), exact over the vocabulary.

    States are solutions with random holes. The proof takes the marginals for those of one joint
    distribution: true of a toy, and of a trained model as far as it learned one.
    """
    if cell.task.startswith(TOY):
        model, solutions, holes = toy_states(cell)
    elif subject.is_zoo:
        model, solutions, holes = zoo_states(subject, cell)
    else:
        return {"note": "asked in chat; the canvas is not looked at"}
    expected = torch.cat([expected_j(model, row, masked) for row, masked in mask_some(solutions, holes, cell.seeds[0])])
    return {
        "count": len(expected),
        "mean": float(expected.mean()),
        "largest": float(expected.max()),
        "above_zero": float((expected > ROUNDING).double().mean()),
        "quantiles": [float(f"{x:.6g}") for x in expected.quantile(torch.linspace(0, 1, 101).double()).tolist()],
    }


def toy_states(cell: Cell) -> tuple[Any, Tensor, Tensor]:
    toy = load_toy(cell.task.removeprefix(TOY))
    texts = sorted(toy.solutions)
    chosen = [texts[i * len(texts) // cell.problems] for i in range(cell.problems)]
    tokens = torch.tensor([toy.encode(text) for text in chosen])
    given = torch.tensor(toy.encode(toy.problems[0])) != toy.model.mask_id
    return toy.model, tokens, (~given).expand(tokens.shape)


def zoo_states(subject: Subject, cell: Cell) -> tuple[Any, Tensor, Tensor]:
    model, alphabet = subject.zoo
    problems = load_task(cell.task).problems(cell.problems, cell.split)
    tokens = torch.tensor([alphabet.encode(problem.solution) for problem in problems])
    canvas = torch.tensor([alphabet.encode(problem.canvas) for problem in problems])
    return model, tokens, canvas == alphabet.mask_id


def mask_some(solutions: Tensor, holes: Tensor, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Each solution with a random number of its holes masked, two at least."""
    made = []
    for i, (row, hole) in enumerate(zip(solutions, holes, strict=True)):
        columns = hole.nonzero()[:, 0]
        u = noise.uniform(torch.tensor(seed), noise.ORDER, i, torch.arange(len(columns) + 1))
        count = 2 + int(u[-1] * (len(columns) - 1))
        masked = torch.zeros_like(hole)
        masked[columns[u[:-1].argsort()[:count]]] = True
        made.append((row, masked))
    return made


def expected_j(model: Any, row: Tensor, masked: Tensor) -> Tensor:
    """Eq. 18: J̄ at every masked column of one state. [M]"""
    z = torch.where(masked, model.mask_id, row)
    p, entropy = look(model, z[None])
    entropy, columns = entropy[0], masked.nonzero()[:, 0]
    before = entropy[columns].mean()
    weight = p[0, columns]  # [M, V]
    at, token = (weight > RARE).nonzero(as_tuple=True)
    after = z.expand(len(at), -1).clone()
    after[torch.arange(len(at)), columns[at]] = token
    _, left = look(model, after)
    still = after == model.mask_id
    uncertain = (left * still).sum(-1) / still.sum(-1)
    mean_after = torch.zeros_like(before).expand(len(columns)).index_add(0, at, weight[at, token] * uncertain)
    return before - mean_after - entropy[columns]


@torch.inference_mode()
def look(model: Any, rows: Tensor) -> tuple[Tensor, Tensor]:
    """p and H of every column, on the host. [R, L, V], [R, L]"""
    found = []
    for first in range(0, len(rows), AT_ONCE):
        part = rows[first : first + AT_ONCE]
        canvas = Canvas.infill(part.tolist(), model.mask_id).to(model.device)
        _, logits = model.prefill(canvas, [0] * len(part), part.shape[1])
        m = Marginals.of(logits, model.vocabulary)
        found.append(((m.logits.double() - m.log_z[..., None]).exp().cpu(), m.entropy.double().cpu()))
    p, entropy = (torch.cat(parts) for parts in zip(*found, strict=True))
    return p, entropy
