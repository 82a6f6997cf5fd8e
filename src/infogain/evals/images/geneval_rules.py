"""GenEval's rules: whether what was detected in an image is what its prompt asks for. No model is needed for them.

The thresholds are those of GenEval's evaluate_images.py. Detected objects come best first, and rules look at the best:
a prompt for one red car is judged by the car that the detector is surest of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from infogain.evals.images.geneval_prompts import GenEvalPrompt, Wanted
from infogain.options import Plain

CONFIDENCE, COUNTING_CONFIDENCE = 0.3, 0.9  # an object counts above it
MOST_OBJECTS = 16  # of a class
OVERLAP = 0.1  # share of both sizes by which centres must be apart before it counts as a direction
DIRECTION = 0.5  # share of the distance that must lie in a direction


@dataclass(frozen=True)
class Detection:
    """An object that was found: left, top, right and bottom in pixels, and its mask [H, W] where there is one."""

    box: tuple[float, float, float, float]
    confidence: float
    mask: Tensor | None = None

    @property
    def centre(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def size(self) -> tuple[float, float]:
        return abs(self.box[2] - self.box[0]), abs(self.box[3] - self.box[1])


Found = Mapping[str, Sequence[Detection]]  # by class
Colors = Callable[[Sequence[Detection], str], list[str]]  # the colour of each object of a class


@dataclass(frozen=True)
class Judged:
    """Whether an image is what was asked for, and what is wrong with it."""

    correct: bool
    reasons: tuple[str, ...] = ()


def kept(found: Found, tag: str) -> dict[str, list[Detection]]:
    """The objects that count, best first: those above the tag's threshold, sixteen of a class at most."""
    least = COUNTING_CONFIDENCE if tag == "counting" else CONFIDENCE
    sure = {name: [one for one in own if one.confidence > least] for name, own in found.items()}
    best = {name: sorted(own, key=lambda one: -one.confidence)[:MOST_OBJECTS] for name, own in sure.items()}
    return {name: own for name, own in best.items() if own}


def judge(prompt: GenEvalPrompt, found: Found, colors: Colors) -> Judged:
    """Judge an image by all that was detected in it; `colors` is asked only where a colour is wanted."""
    objects = kept(found, prompt.tag)
    groups: list[list[Detection] | None] = []
    reasons: list[str] = []
    for wanted in prompt.include:
        own = list(objects.get(wanted.name, ())[: wanted.count])
        wrong = _missing(wanted, own) or _miscoloured(wanted, own, colors) or _misplaced(wanted, own, groups)
        reasons += [wrong] if wrong else []
        groups.append(None if wrong else own)
    for unwanted in prompt.exclude:
        if (count := len(objects.get(unwanted.name, ()))) >= unwanted.count:
            reasons.append(f"expected {unwanted.name}<{unwanted.count}, found {count}")
    return Judged(not reasons, tuple(reasons))


def _missing(wanted: Wanted, own: Sequence[Detection]) -> str:
    if len(own) >= wanted.count:
        return ""
    return f"expected {wanted.name}>={wanted.count}, found {len(own)}"


def _miscoloured(wanted: Wanted, own: Sequence[Detection], colors: Colors) -> str:
    if wanted.color is None:
        return ""
    seen = colors(own, wanted.name)
    if seen.count(wanted.color) >= wanted.count:
        return ""
    return f"expected {wanted.color} {wanted.name}>={wanted.count}, found {', '.join(seen)}"


def _misplaced(wanted: Wanted, own: Sequence[Detection], groups: Sequence[Sequence[Detection] | None]) -> str:
    if wanted.position is None:
        return ""
    relation, number = wanted.position
    others = groups[number]
    if others is None:
        return f"no target for {wanted.name} to be {relation}"
    for one in own:
        for other in others:
            if relation not in (seen := relations(one, other)):
                return f"expected {wanted.name} {relation} target, found {' and '.join(sorted(seen)) or 'neither side'}"
    return ""


def relations(one: Detection, other: Detection) -> set[str]:
    """Where an object lies as seen from another; none where they overlap too much, two on a diagonal.

    A tenth of both widths (heights) is taken off the distance of the centres; what is left in a direction must be more
    than half of the whole distance.
    """
    offset = [a - b for a, b in zip(one.centre, other.centre, strict=True)]
    slack = [OVERLAP * (a + b) for a, b in zip(one.size, other.size, strict=True)]
    left = [math.copysign(max(abs(x) - less, 0), x) for x, less in zip(offset, slack, strict=True)]
    if all(abs(x) < 1e-3 for x in left):
        return set()
    dx, dy = (x / math.hypot(*offset) for x in left)
    sides = {"left of": -dx, "right of": dx, "above": -dy, "below": dy}
    return {name for name, share in sides.items() if share > DIRECTION}


def thresholds() -> Plain:
    """The numbers that the rules go by."""
    return {
        "confidence": CONFIDENCE,
        "counting_confidence": COUNTING_CONFIDENCE,
        "objects_of_a_class": MOST_OBJECTS,
        "position_overlap": OVERLAP,
        "direction": DIRECTION,
    }
