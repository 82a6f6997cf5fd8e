"""An engine that lives on: thousands of requests come, are answered, cancelled or fail, and nothing piles up."""

from __future__ import annotations

from collections import deque

from infogain import NumericsError, TextModel
from infogain.errors import RequestCancelled
from infogain.models import random_joint
from infogain.serve import Engine, TextRequest, Ticket
from infogain.text.alphabet import Alphabet
from infogain.text.prompts import Job
from tests.ailing import Ailing
from tests.endurance.drive import ILL, RECIPES, Held
from tests.endurance.test_rows import MOST_MB, resident_mb

JOINT = random_joint(6, 3, seed=5, support=60)
MODEL = TextModel(Ailing(JOINT, ILL, lambda start, left: left == 1), Alphabet(("a", "~", "c", "_")), "joint")
AT_A_TIME = 16


def asked(number: int) -> TextRequest:
    """A row of two to six columns, with one of four recipes; one in eleven falls ill, and every other is watched."""
    first = ILL if number % 11 == 5 else number % 2
    row = [first, *[JOINT.mask_id] * (1 + number % 5)]
    recipe = RECIPES[number % len(RECIPES)]
    watched = number % 2 == 0 and recipe.sampler.traits.copies == 1
    job = Job(["a"], [row])
    return TextRequest(job, recipe, seeds=[number], stream=True, reveals=watched, logprobs=1 if watched else None)


def answered(engine: Engine, count: int) -> None:
    """Hands in so many requests, a few at a time, and cancels one in 13; all are answered when it returns."""
    waiting: deque[Ticket] = deque()
    for number in range(count):
        waiting.append(engine.submit(asked(number)))
        if number % 13 == 7:
            engine.cancel(waiting[-1])
        if len(waiting) == AT_A_TIME:
            error = waiting.popleft().future.exception(30)
            assert error is None or isinstance(error, NumericsError | RequestCancelled)
    for ticket in waiting:
        ticket.future.exception(30)


def test_memory_is_flat_over_thousands_of_requests() -> None:
    engine = Engine(MODEL, max_in_flight=AT_A_TIME)
    answered(engine, 1000)
    early, early_mb = Held.now(), resident_mb()
    answered(engine, 5000)
    late, late_mb = Held.now(), resident_mb()
    engine.close()
    print(f"{early} and {early_mb:.1f} MB, then {late} and {late_mb:.1f} MB")
    assert engine.counts.requests == 6000
    assert late.objects - early.objects < 300
    assert late.tensor_bytes - early.tensor_bytes < 20_000
    assert late_mb - early_mb < MOST_MB
