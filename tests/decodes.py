"""Decodes that are kept, so that a change of the loop can be held to them: tokens, H̃ and forwards, case by case.

`python -m tests.decodes` writes them anew from the present code, which is right only where a change means to change
them; `python -m tests.decodes --check` compares to the last bit, as the same machine gives it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

import infogain
from infogain import Canvas, Lane, Recipe, Result, Steps
from infogain.algorithm.schedule import Schedule, TokensPerStep
from infogain.decode import decode_lanes, decode_stream
from infogain.models import FullCanvas
from infogain.samplers import Sampler, make
from tests.cases import ALL, LAYOUTS, MODEL, label
from tests.laws.test_backbone import CASES, canvas_of, model_of

FILE = Path(__file__).parent / "data" / "decodes.json"
SCHEDULES: dict[str, Schedule] = {"k1": TokensPerStep(1), "k2": TokensPerStep(2), "cosine": Steps(3, "cosine")}
FEW: list[Sampler] = [  # one of each way through the loop
    make("entropy"),
    make("klass", variant="original", epsilon=0.5, threshold=0.3),
    make("eb", bound=1.0),
    make("info-gain", n=4, gamma=0.4),
    make("info-gain-beam", width=3, n=4),
    make("best-of-n", n=2, base={"name": "lookum", "n": 3}),
]
Decode = Callable[[], list[Result]]


def exact(sampler: Sampler, schedule: str, layout: int, infill: bool) -> list[Result]:
    """Every sampler on the tabular model: ragged rows, in one block and in several."""
    canvas = LAYOUTS[layout].canvas(MODEL, infill)
    return [infogain.decode(MODEL, canvas, sampler, schedule=SCHEDULES[schedule], block=LAYOUTS[layout].block, seed=5)]


def network(family: str, cache: str | None, refresh: int | None, sampler: Sampler) -> list[Result]:
    """Every family and cache, with text after some masks."""
    model = model_of(family, cache, refresh=refresh)
    return [infogain.decode(model, canvas_of(), sampler, schedule=2, block=4, seed=3)]


def whole_canvas(sampler: Sampler) -> list[Result]:
    """A network without a cache, through the adapter that takes any."""
    inner = model_of("llada", "none")

    def logits(tokens: Any, inside: Any) -> Any:
        canvas = Canvas(tokens, inside.sum(-1), inner.mask_id)
        return inner.prefill(canvas, [0] * len(tokens), tokens.shape[1])[1]

    model = FullCanvas(logits, inner.vocabulary)
    return [infogain.decode(model, canvas_of(), sampler, schedule=2, block=4, seed=3)]


def queue(family: str, sampler: Sampler, order: str, ends: tuple[int, ...]) -> list[Result]:
    """More rows than places: each comes out when it is done, and the next takes its place."""
    model = model_of(family, None)
    rows = canvas_of().rows() * 2
    recipe = Recipe(sampler, TokensPerStep(1), 4, order, ends, 7)
    lane = Lane(Canvas.infill(rows, model.mask_id), recipe, max_in_flight=3)
    came = {row: result for _, row, result in decode_stream(model, [lane])}
    return [came[row] for row in sorted(came)]


def lanes(family: str) -> list[Result]:
    """Lanes with different samplers, budgets and seeds in one batch."""
    model = model_of(family, None)
    recipes = [Recipe(sampler, TokensPerStep(1 + i % 2), 4, seed=i) for i, sampler in enumerate(FEW)]
    return decode_lanes(model, [Lane(canvas_of(), recipe) for recipe in recipes])


def cases() -> Iterator[tuple[str, Decode]]:
    """The name of each case and what decodes it."""
    for i, sampler in enumerate(ALL):
        schedule, layout, infill = list(SCHEDULES)[i % 3], 3 + i % 2, i % 4 < 2
        yield f"exact, {label(sampler)}, {schedule}", partial(exact, sampler, schedule, layout, infill)
    for family, cache in CASES:
        for sampler in FEW:
            yield f"{family}, {cache}, {label(sampler)}", partial(network, family, cache, None, sampler)
            if cache in ("prefix", "dual") and sampler in FEW[3:4]:
                yield f"{family}, {cache} for 2, {label(sampler)}", partial(network, family, cache, 2, sampler)
    for sampler in FEW:
        yield f"whole canvas, {label(sampler)}", partial(whole_canvas, sampler)
        for family in ("dream", "sdar"):
            yield f"queue, {family}, {label(sampler)}", partial(queue, family, sampler, "sequence", (3, 7))
    yield "queue, random order", partial(queue, "llada", FEW[3], "random", ())
    for family in ("llada", "sdar"):
        yield f"lanes, {family}", partial(lanes, family)


def plain(results: Sequence[Result]) -> list[dict[str, Any]]:
    """What is kept of a decode: every number that a user could see."""
    names = ("forwards", "token_forwards", "committed")
    return [
        {
            "rows": result.rows(),
            "revealed": result.revealed.tolist(),
            "entropy": result.cumulative_entropy.tolist(),
            **{name: getattr(result, name).tolist() for name in names},
        }
        for result in results
    ]


def kept() -> dict[str, Any]:
    """The decodes of the file, by the name of their case."""
    table: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def main() -> None:
    torch.set_num_threads(1)  # as in tests: how a sum is shared among threads changes its last bits
    found = {name: plain(decode()) for name, decode in cases()}
    if "--check" not in sys.argv[1:]:
        lines = (f"{json.dumps(name)}: {json.dumps(result, separators=(',', ':'))}" for name, result in found.items())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"wrote {len(found)} cases to {FILE.name}")
        return
    old = kept()
    if changed := [name for name in {**old, **found} if old.get(name) != found.get(name)]:
        raise SystemExit(f"{len(changed)} of {len(found)} cases differ: {'; '.join(changed[:8])}")
    print(f"{len(found)} cases are equal to the last bit")


if __name__ == "__main__":
    main()
