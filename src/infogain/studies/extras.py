"""Numbers about the order of writing, one per row, from the step that wrote each column; and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from infogain.evals.intervals import Interval, mean_interval, share_interval
from infogain.evals.means import mean
from infogain.report.numbers import NONE
from infogain.studies.cell import Cell, CellResult
from infogain.studies.independent import interval, opening, units, within
from infogain.studies.posed import Parts

BEGUN, SHARES = "factors_begun", ("factors_finished", "verdict_last")
NAMES = (BEGUN, *SHARES, "verdict_at")


def oneway(factors: Tensor, product: Tensor) -> dict[str, Tensor]:
    """Fig. 1a: were the factors begun first, finished first? Of several columns in the first step, their share."""
    begun = (factors == 0).sum(-1) / ((factors == 0).sum(-1) + (product == 0).sum(-1))
    return {BEGUN: begun, "factors_finished": factors.amax(-1) < product.amax(-1)}


def judgement(reasoning: Tensor, verdict: Tensor) -> dict[str, Tensor]:
    """Table 1: when the verdict is written, from 0 (first step) to 1 (last), and whether all else came before."""
    decided, reasoned = verdict.amax(-1), reasoning.amax(-1)
    last = torch.maximum(decided, reasoned)
    return {"verdict_at": decided / last.clamp(min=1), "verdict_last": decided >= reasoned}


ORDERS: dict[str, Callable[..., dict[str, Tensor]]] = {"oneway": oneway, "judgement": judgement}


def order_numbers(task: str, revealed: Tensor, parts: Parts) -> dict[str, Tensor]:
    """The numbers of a task's rows from the step that wrote each column [R, L]; none where it has no parts."""
    if task not in ORDERS:
        return {}
    return ORDERS[task](**{name: revealed[:, list(columns)] for name, columns in parts.items()})


def order_interval(cell: Cell, name: str, values: Sequence[float]) -> Interval:
    """The mean of one of these numbers over problems, given that of each; what a decode begins with is one choice."""
    if name == BEGUN:
        return opening(cell, mean(values))
    of = units(cell)
    found = within(values, of)
    if name in SHARES:
        return share_interval(found, len(of) * len(cell.seeds))
    return mean_interval(found).as_share()


def show_order(row: CellResult, name: str, digits: int = 1, scale: float = 100.0) -> str:
    """A number of a row with its interval, in per cent unless scaled otherwise; a dash where the row has none."""
    return interval(row, name).show(digits, scale) if name in row.numbers else NONE
