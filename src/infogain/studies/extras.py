"""Numbers about the order of writing, one per row, from the step that wrote each column."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from infogain.loop.result import Result
from infogain.zoo.tasks.oneway import FACTORS, PRODUCT


def oneway(result: Result) -> dict[str, Tensor]:
    """Fig. 1a: were the factors begun first, finished first? Of several columns in the first step, their share."""
    revealed = result.revealed
    factors, product = revealed[:, list(FACTORS)], revealed[:, list(PRODUCT)]
    begun = (factors == 0).sum(-1) / ((factors == 0).sum(-1) + (product == 0).sum(-1))
    return {"factors_begun": begun, "factors_finished": factors.amax(-1) < product.amax(-1)}


def judgement(result: Result) -> dict[str, Tensor]:
    """Table 1: when the verdict is written, from 0 (first) to 1 (last), and whether all else came before."""
    verdict, reasoning = result.revealed[:, -1], result.revealed[:, :-1].amax(-1)
    last = torch.maximum(verdict, reasoning)
    return {"verdict_at": verdict / last.clamp(min=1), "verdict_last": verdict >= reasoning}


EXTRAS: dict[str, Callable[[Result], dict[str, Tensor]]] = {"oneway": oneway, "judgement": judgement}
