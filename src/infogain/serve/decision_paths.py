"""The path /v1/decisions: a body becomes a decision, whose states are evaluated between steps of the loop."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from functools import partial

from infogain.errors import DeadlinePassed
from infogain.options import Plain
from infogain.serve.bodies import DecisionBody
from infogain.serve.decisions import Decision, Prefix, evaluate
from infogain.serve.served_model import ServedModel


def decision_of(model: ServedModel, body: DecisionBody) -> Decision:
    """What a body asks, checked against the server's limits."""
    most = model.limits.combinations
    answers = {name: slot.listed(most) for name, slot in body.slots.items()}
    decision = Decision.of(model.text_model, body.template, answers, most)
    model.check_columns(len(each.row) for each in decision.combinations)
    decision.check_work()
    assert decision.prefixes
    assert decision.wanted  # both are worked out here, outside the server's loop
    return decision


async def decide(model: ServedModel, decision: Decision) -> Plain:
    """Evaluate every distinct state, as many in a forward as texts are decoded at a time, and sum up."""
    engine, denoiser = model.engine, model.text_model.denoiser
    end = time.monotonic() + model.limits.seconds
    wanted, found = decision.wanted, dict[Prefix, dict[int, float]]()
    calls = 0
    with engine.visit():
        for level in decision.prefixes:
            for first in range(0, len(level), engine.max_in_flight):
                some = level[first : first + engine.max_in_flight]
                if time.monotonic() > end:
                    raise DeadlinePassed(f"a request may take {model.limits.seconds:g} s here. Ask for less.")
                found |= await asyncio.wrap_future(engine.call(partial(evaluate, denoiser, some, wanted)))
                calls += 1
    return _told(model, decision, decision.log_p(found), calls)


def _told(model: ServedModel, decision: Decision, log_p: Sequence[float], calls: int) -> Plain:
    best = max(log_p)
    parts = [math.exp(each - best) if best > -math.inf else 0.0 for each in log_p]
    share = [part / (math.fsum(parts) or 1.0) for part in parts]
    joint = [
        {
            "answers": dict(zip(decision.slots, each.answers, strict=True)),
            "logprob": max(value, -9999.0),
            "probability": part,
        }
        for each, value, part in zip(decision.combinations, log_p, share, strict=True)
    ]
    states = [prefix for level in decision.prefixes for prefix in level]
    return {
        "object": "decision",
        "model": model.name,
        "slots": {slot: _marginal(decision, i, share) for i, slot in enumerate(decision.slots)},
        "joint": joint,
        "infogain": {
            "forwards": calls,
            "states": len(states),
            "token_forwards": sum(len(prefix.row) for prefix in states),
            "provenance": model.text_model.provenance,
        },
    }


def _marginal(decision: Decision, slot: int, share: Sequence[float]) -> Plain:
    """The probabilities of one slot's answers, whatever those of the others are."""
    found: dict[str, float] = {}
    for each, part in zip(decision.combinations, share, strict=True):
        found[each.answers[slot]] = found.get(each.answers[slot], 0.0) + part
    best = max(found, key=found.__getitem__)
    return {"answer": best if found[best] > 0 else None, "probabilities": found}
