"""What a decode returns: tokens, what they cost, and the recipe that gives them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infogain.algorithm.canvas import PAD, Canvas
from infogain.device import upload
from infogain.loop.lane import Parked, Request
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.recipe import Recipe


@dataclass(frozen=True, repr=False)
class Result:
    """All rows of a decode, and what each of them cost."""

    tokens: Tensor  # [P, L] the filled canvas, right-padded
    length: Tensor  # [P] columns of each row
    generated: Tensor  # [P, L] columns that were masks
    skipped: Tensor  # [P, L] those that came after the end of the text and were not written
    revealed: Tensor  # [P, L] step of its row that wrote each column; −1 where none did
    cumulative_entropy: Tensor  # [P] H̃, Eq. 2
    forwards: Tensor  # [P] model calls each prompt took part in
    token_forwards: Tensor  # [P] columns run through the model for each prompt, all candidates counted
    committed: Tensor  # [P] tokens written; columns skipped after an EOS are not
    calls: int  # model calls in all
    seeds: list[int]  # of each row: decode the row alone with its seed and it comes out the same
    recipe: Plain
    trace: Trace | None
    provenance: Plain = field(default_factory=dict)  # the model and how it ran, see `infogain.provenance`

    def __repr__(self) -> str:
        mean = float(self.cumulative_entropy.mean())
        return (
            f"Result({len(self.length)} rows, {self.recipe['sampler']['name']}, mean H̃ {mean:.2f}, {self.calls} calls)"
        )

    def rows(self) -> list[list[int]]:
        """The tokens of each row, prompt included, cut before the first EOS that was generated."""
        eos = set(self.recipe.get("eos_ids", ()))
        rows = []
        columns = (x.tolist() for x in (self.tokens, self.length, self.generated, self.skipped))
        for tokens, length, generated, skipped in zip(*columns, strict=True):
            row = tokens[:length]
            ends = (i for i, token in enumerate(row) if (token in eos and generated[i]) or skipped[i])
            rows.append(row[: next(ends, length)])
        return rows

    @property
    def text_lengths(self) -> list[int]:
        """How many tokens of each row were generated and stand before its EOS."""
        return [int(mask[: len(row)].sum()) for mask, row in zip(self.generated, self.rows(), strict=True)]

    def plain(self) -> dict[str, Any]:
        names = ("cumulative_entropy", "forwards", "token_forwards", "committed")
        numbers = {name: getattr(self, name).tolist() for name in names}
        about = {"provenance": self.provenance, "recipe": self.recipe, "seeds": self.seeds, "calls": self.calls}
        return {**about, **numbers, "rows": self.rows()}

    def save(self, path: str | Path) -> None:
        """One JSON file with the recipe, the rows and their costs."""
        text = json.dumps(self.plain(), ensure_ascii=False, indent=1) + "\n"
        Path(path).write_text(text, encoding="utf-8")


class RowResult(NamedTuple):
    """A row that has left: decoded to its end or, where there is an error, as far as it got."""

    lane: int
    row: int  # its number in the lane
    result: Result
    error: Exception | None


class View(NamedTuple):
    """A row in flight as it stands: of its hypotheses, that of least H̃."""

    lane: int
    row: int
    tokens: list[int]  # the mask id where nothing is written yet
    cost: float  # H̃ so far


def views(hypotheses: Sequence[tuple[int, list[Request], Parked]]) -> list[View]:
    """Rows in flight, from the numbers of their lanes, their requests and all hypotheses, which are read back once."""
    if not hypotheses:
        return []
    owners = [(lane, request) for lane, requests, _ in hypotheses for request in requests]
    tokens = Canvas.join(*(parked.canvas for *_, parked in hypotheses)).tokens
    cost = torch.cat([parked.cost for *_, parked in hypotheses]).view(torch.int64)
    table = torch.cat([cost[:, None], tokens], 1).cpu()
    costs = table[:, 0].contiguous().view(torch.float64)
    found = zip(owners, table[:, 1:].tolist(), costs.tolist(), strict=True)
    every = [View(lane, request.row, row[: request.length], cost) for (lane, request), row, cost in found]
    by_row = groupby(sorted(every, key=lambda view: view[:2]), key=lambda view: view[:2])
    return [min(same, key=lambda view: view.cost) for _, same in by_row]


def collect(requests: Sequence[Request], recipe: Recipe, device: torch.device, calls: int, made_by: Plain) -> Result:
    """What became of these rows: of each the finished hypothesis of least H̃. `made_by` is the model's provenance.

    Less than a millionth of a nat is a tie, to the first. A row that never began is as it came.
    """
    began = Canvas.join(*(request.canvas for request in requests)).to(device)
    nothing = torch.zeros(1, dtype=torch.float64, device=device)
    found = [
        request.finished or [Parked(began.take(slice(i, i + 1)), [], nothing, complete=False)]
        for i, request in enumerate(requests)
    ]
    costs = iter(torch.cat([h.cost for each in found for h in each]).tolist())
    best = [
        min(zip(each, costs, strict=False), key=lambda one: (not one[0].complete, round(one[1], 6))) for each in found
    ]
    canvas = Canvas.join(*(h.canvas.fit(began.tokens.shape[1]) for h, _ in best))
    generated = began.masked
    masked = generated & (canvas.tokens == canvas.mask_id)
    skipped = masked & upload([h.complete for h, _ in best], device).bool()[:, None]
    return Result(
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
        trace=None,
        provenance=made_by,
    )


def traced(result: Result, requests: Sequence[Request], row: int | None = None) -> Result:
    """The result with the trace of its rows: of all, or of one, whose number in the lane is `row`."""
    records = {record.step: record for request in requests for record in request.records}
    steps = [records[number] for number in sorted(records)]
    trace = Trace(
        recipe=result.recipe,
        mask_id=requests[0].canvas.mask_id,
        canvas=[row for request in requests for row in request.canvas.rows()],
        rows=result.rows(),
        provenance=result.provenance,
        steps=steps if row is None else [step.of_row(row, i) for i, step in enumerate(steps)],
    )
    return replace(result, trace=trace)
