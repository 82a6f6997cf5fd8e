"""What rulings add up to: win rates with intervals over prompts, ties, and how much the order mattered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from infogain.errors import InputError
from infogain.evals.intervals import Interval, share_interval
from infogain.evals.judging.asking import DECIDED, Question
from infogain.evals.judging.length_control import length_controlled
from infogain.evals.judging.sides import TextPair
from infogain.evals.means import mean
from infogain.options import Plain

WORTH = {"first": 1.0, "tie": 0.5, "second": 0.0}  # of a ruling, for the text that was shown first


class JudgedPair(NamedTuple):
    """A pair with a ruling in both orders."""

    pair: TextPair
    score: float  # 1: A is preferred in both orders, 0: B is, .5: a tie, or once each
    first: float  # how far the text that was shown first was preferred
    ties: float  # share of the two rulings that are ties
    agree: bool  # both orders gave the same preference


class WinRates(NamedTuple):
    """How often A was preferred to B."""

    win_rate: Interval
    length_controlled: Interval
    ties: Interval  # share of rulings
    first_place: Interval  # how often the text shown first was preferred; half without a position bias
    length_coefficient: float
    counts: Plain


def judged_pairs(asked: Sequence[Question], held: Mapping[str, Plain]) -> list[JudgedPair]:
    """The pairs with two rulings. One that lacks either is left out: a single order would bring in a position bias."""
    rulings: dict[TextPair, list[tuple[bool, str]]] = defaultdict(list)
    for question in asked:
        if (line := held.get(question.key)) and line["ruling"] in DECIDED:
            rulings[question.pair].append((question.a_first, line["ruling"]))
    return [_judged(pair, found) for pair, found in rulings.items() if len(found) == 2]


def _judged(pair: TextPair, rulings: Sequence[tuple[bool, str]]) -> JudgedPair:
    for_a = [WORTH[ruling] if a_first else 1 - WORTH[ruling] for a_first, ruling in rulings]
    first = mean([WORTH[ruling] for _, ruling in rulings])
    ties = mean([float(ruling == "tie") for _, ruling in rulings])
    return JudgedPair(pair, mean(for_a), first, ties, for_a[0] == for_a[1])


def win_rates(asked: Sequence[Question], held: Mapping[str, Plain]) -> WinRates:
    """The rates of A, over the pairs that were judged in both orders; each prompt is first averaged over its pairs."""
    judged, counts = judged_pairs(asked, held), _counts(asked, held)
    if not judged:
        raise InputError(
            f"a win rate needs pairs that were judged in both orders; of {counts['pairs']} pairs none was "
            f"({counts['refused']} refusals, {counts['malformed']} malformed replies, {counts['unasked']} not asked). "
            "Look at the replies in the rulings file."
        )
    controlled, coefficient = length_controlled(
        [(one.pair.key.instruction, one.score, float(one.pair.longer_by)) for one in judged]
    )
    lengths = {side: mean([float(len(getattr(one.pair, side))) for one in judged]) for side in ("a", "b")}
    return WinRates(
        _by_prompt(judged, lambda one: one.score),
        controlled,
        _by_prompt(judged, lambda one: one.ties),
        _by_prompt(judged, lambda one: one.first),
        coefficient,
        {**counts, **_outcomes(judged), "characters": lengths},
    )


def _by_prompt(judged: Sequence[JudgedPair], value: Callable[[JudgedPair], float]) -> Interval:
    found: dict[str, list[float]] = defaultdict(list)
    for one in judged:
        found[one.pair.key.instruction].append(value(one))
    return share_interval([mean(values) for values in found.values()], 2 * len(judged))


def _counts(asked: Sequence[Question], held: Mapping[str, Plain]) -> Plain:
    """How many questions were answered in which way."""
    found = [held[question.key]["ruling"] if question.key in held else "unasked" for question in asked]
    told = {name: found.count(name) for name in ("refused", "malformed", "unasked")}
    return {"pairs": len({question.pair for question in asked}), **told}


def _outcomes(judged: Sequence[JudgedPair]) -> Plain:
    """How the pairs fell out that were judged in both orders."""
    scores = [one.score for one in judged]
    return {
        "judged": len(judged),
        "prompts": len({one.pair.key.instruction for one in judged}),
        "won": sum(score > 0.5 for score in scores),
        "lost": sum(score < 0.5 for score in scores),
        "even": sum(score == 0.5 for score in scores),
        "order_changed": sum(not one.agree for one in judged),
    }
