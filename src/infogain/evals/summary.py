"""What a run's lines come to. Problems are independent, seeds of one problem are not: intervals are over problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from infogain.errors import InputError
from infogain.evals.numbers import half_width, interval, mean
from infogain.options import Plain


def summary(lines: Sequence[Plain]) -> Plain:
    """Pass@1 with its 95 % interval, and means of what it cost; each problem is first averaged over its seeds."""
    if not lines:
        raise InputError("a summary needs at least one finished line; got none.")
    accuracy, low, high = interval(by_problem(lines, lambda line: line["score"]))
    entropy = by_problem(lines, lambda line: line["cumulative_entropy"])
    choices, seconds = _sum(lines, "choices"), _sum(lines, "seconds")
    return {
        "lines": len(lines),
        "problems": len(entropy),
        "seeds": len({line["key"]["seed"] for line in lines}),
        "accuracy": accuracy,
        "accuracy_95": [low, high],
        "entropy": mean(entropy),
        "entropy_95": half_width(entropy),
        "forwards": mean(by_problem(lines, lambda line: line["forwards"])),
        "token_forwards": mean(by_problem(lines, lambda line: line["token_forwards"])),
        "bypass_rate": _sum(lines, "bypassed") / choices if choices else None,
        "tokens_per_second": _sum(lines, "committed") / seconds if seconds else None,
        "seconds": seconds,
    }


def by_problem(lines: Sequence[Plain], value: Callable[[Plain], float]) -> list[float]:
    """A value of each problem: the mean over its seeds."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        found[line["key"]["item"]].append(value(line))
    return [mean(values) for values in found.values()]


def _sum(lines: Sequence[Plain], name: str) -> float:
    return sum(line[name] or 0 for line in lines)
