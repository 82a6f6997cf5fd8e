"""A batch that lives on: rows come as others leave, fail or are cancelled, and lanes open and close."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from typing import NamedTuple, TypeVar

import torch

from infogain import Batch, Canvas, Lane, NumericsError, Recipe, TokensPerStep
from infogain.algorithm import noise
from infogain.models import random_joint
from infogain.samplers import make
from tests.ailing import Ailing

JOINT = random_joint(6, 3, seed=5, support=60)
Seen = TypeVar("Seen")
ILL = 2  # the first token of rows whose logits become NaN
AT_ONCE = 16
RECIPES = [
    Recipe(make("entropy"), TokensPerStep(2)),
    Recipe(make("eb", bound=1.0), block=2, eos_ids=(1,)),
    Recipe(make("info-gain", n=2), TokensPerStep(2), block=3),
    Recipe(make("best-of-n", n=2, base="ar"), TokensPerStep(2)),
]


class Held(NamedTuple):
    """What is alive: objects that Python's collector knows, and the bytes of all tensors among them."""

    objects: int
    tensor_bytes: int

    @classmethod
    def now(cls) -> Held:
        noise._of_steps.cache_clear()  # type: ignore[attr-defined]  # bounded, but it fills slowly and unevenly
        gc.collect()
        tensors = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
        storages = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors}
        del tensors
        # counted after the tensors were asked: a storage that was asked for once is an object from then on
        return cls(len(gc.get_objects()), sum(storages.values()))


def canvas(number: int) -> Canvas:
    """A row of two to six columns; one in eleven falls ill."""
    first = ILL if number % 11 == 5 else number % 2
    return Canvas.from_prompts([[first]], 1 + number % 5, JOINT.mask_id)


def rows_done(trace: bool) -> Iterator[int]:
    """Decodes without end in one batch that is never empty; gives the number of rows that have left or been cancelled.

    One lane stays open for ever and takes every other row; every 50 rows another is closed, and one is opened in its
    stead. One row in 13 is cancelled.
    """
    batch = Batch(Ailing(JOINT, ILL, lambda start, left: left == 1), trace=trace)
    recipes, rows = cycle(RECIPES), count(2)
    lanes = [batch.open(Lane(canvas(number), next(recipes))) for number in (0, 1)]
    done, flying = 0, 2
    for number in rows:
        lane = lanes[number % 2]
        if number % 50 == 0:
            batch.close(lane)
            lane, row = batch.open(Lane(canvas(number), next(recipes))), 0
            lanes[0] = lane
        else:
            (row,) = batch.admit(lane, canvas(number))
        flying += 1
        if number % 13 == 7:
            batch.cancel(lane, [row])
            done, flying = done + 1, flying - 1
        while flying >= AT_ONCE:
            batch.step()
            left = batch.leave()
            assert all(each.error is None or isinstance(each.error, NumericsError) for each in left)
            done, flying = done + len(left), flying - len(left)
        yield done


def seen_after(marks: Sequence[int], trace: bool, look: Callable[[], Seen]) -> list[Seen]:
    """What one sees when so many rows are done, each time."""
    done = rows_done(trace)
    found = []
    for mark in marks:
        next(number for number in done if number >= mark)
        found.append(look())
    return found
