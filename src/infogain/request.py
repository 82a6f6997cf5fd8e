"""A row on its way through a lane: what the host keeps of it from the moment it asks to its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from infogain import noise
from infogain.canvas import PAD, Canvas
from infogain.device import upload
from infogain.lane import Group, make_groups
from infogain.recipe import Recipe
from infogain.result import Result
from infogain.trace import Step, Trace


class Finished(NamedTuple):
    """A hypothesis that has left."""

    canvas: Canvas  # [1]
    cost: Tensor  # []
    complete: bool  # False: set aside when decoding broke off


@dataclass
class Request:
    prompt: int  # its number in the lane
    canvas: Canvas  # [1] as it came, on the host
    seed: int
    groups: list[Group]  # its independent copies
    going: int  # of them, those not finished
    forwards: int = 0
    token_forwards: int = 0
    finished: list[Finished] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)  # of its trace, as far as they are read

    @property
    def length(self) -> int:
        return self.groups[0].length

    @property
    def masks(self) -> int:
        """To be filled, in all its copies."""
        return sum(block.masks for group in self.groups for block in group.blocks)


def make_requests(recipe: Recipe, canvas: Canvas, seeds: Sequence[int], first: int, aligned: bool) -> list[Request]:
    """A request for each row, numbered from `first`."""
    copies = torch.arange(recipe.sampler.traits.copies)
    forked = noise.fork(torch.tensor(seeds)[:, None], noise.COPY, copies).tolist()  # [P, copies]
    masked, lengths = canvas.masked, canvas.length.tolist()
    requests = []
    for i, (seed, own) in enumerate(zip(seeds, forked, strict=True)):
        groups = make_groups(recipe, first + i, masked[i, : lengths[i]].tolist(), own, aligned)
        requests.append(Request(first + i, canvas.take(slice(i, i + 1)), seed, groups, going=len(groups)))
    return requests


def read(requests: Sequence[Request], recipe: Recipe, device: torch.device, calls: int, trace: Trace | None) -> Result:
    """What became of these rows: of each the finished hypothesis of least H̃.

    Less than a millionth of a nat is a tie, to the first. A row that never began is as it came.
    """
    began = Canvas.join(*(request.canvas for request in requests)).to(device)
    for i, request in enumerate(requests):
        if not request.finished:
            nothing = torch.zeros((), dtype=torch.float64, device=device)
            request.finished.append(Finished(began.take(slice(i, i + 1)), nothing, complete=False))
    costs = iter(torch.stack([h.cost for request in requests for h in request.finished]).tolist())
    best = [
        min(zip(request.finished, costs, strict=False), key=lambda one: (not one[0].complete, round(one[1], 6)))
        for request in requests
    ]
    columns = began.tokens.shape[1]
    canvas = Canvas.join(*(h.canvas.fit(columns) for h, _ in best))
    generated = began.masked
    masked = generated & (canvas.tokens == canvas.mask_id)
    skipped = masked & upload([h.complete for h, _ in best], device).bool()[:, None]
    result = Result(
        tokens=torch.where(skipped, (*(recipe.eos_ids or ()), PAD)[0], canvas.tokens),
        length=began.length,
        generated=generated,
        skipped=skipped,
        revealed=canvas.revealed,
        cumulative_entropy=torch.tensor([cost for _, cost in best], dtype=torch.float64),
        forwards=torch.tensor([request.forwards for request in requests]),
        token_forwards=torch.tensor([request.token_forwards for request in requests]),
        committed=(generated & ~masked).sum(-1),
        calls=calls,
        seeds=[request.seed for request in requests],
        recipe=recipe.plain(),
        trace=trace,
    )
    if trace:
        trace.rows = result.rows()
    return result
