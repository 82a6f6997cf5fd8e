"""Sums up the lines of a run. Problems are independent, seeds of one problem are not: intervals are over problems."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from infogain.errors import InputError
from infogain.evals.intervals import Interval, mean_interval, share_interval
from infogain.evals.means import mean
from infogain.evals.repetition import distinct, grouped, self_bleu, words_of
from infogain.options import Plain

COSTS = {"entropy": "cumulative_entropy", "forwards": "forwards", "token_forwards": "token_forwards"}


def summary(lines: Sequence[Plain]) -> Plain:
    """What the texts are like, and means of what they cost; each problem is first averaged over its seeds.

    Texts that are right or wrong have pass@1 (`accuracy`) with its 95 % interval; others their length and repetition.
    """
    if not lines:
        raise InputError("a summary needs at least one finished line; got none.")
    units = independent(lines)
    costs = {name: _mean(lines, units, key) for name, key in COSTS.items()}
    choices, seconds = _sum(lines, "choices"), _sum(lines, "seconds")
    return {
        "lines": len(lines),
        "problems": len({line["key"]["item"] for line in lines}),
        "independent": len(set(units.values())),
        "seeds": len({line["key"]["seed"] for line in lines}),
        **(_accuracy(lines, units) if is_scored(lines) else _likeness(lines, units)),
        **{name: cost.value for name, cost in costs.items()},
        **{f"{name}_95": cost.plain() for name, cost in costs.items()},
        "bypass_rate": _sum(lines, "bypassed") / choices if choices else None,
        "tokens_per_second": _sum(lines, "committed") / seconds if seconds else None,
        "seconds": seconds,
    }


def is_scored(lines: Sequence[Plain]) -> bool:
    """Whether texts are right or wrong; those of writing are neither."""
    return all(line["score"] is not None for line in lines)


def _accuracy(lines: Sequence[Plain], units: Mapping[str, str]) -> Plain:
    accuracy = share_interval(by_unit(lines, units, lambda line: line["score"]), len(lines))
    return {"accuracy": accuracy.value, "accuracy_95": accuracy.plain()}


def _likeness(lines: Sequence[Plain], units: Mapping[str, str]) -> Plain:
    """Words per text, and how much the texts repeat themselves and each other."""
    length = mean_interval(by_unit(lines, units, lambda line: len(words_of(line["text"]))))
    texts = [(line["key"]["item"], words_of(line["text"])) for line in lines]
    of, groups = grouped(texts)
    shares = {f"distinct_{n}": distinct((words for _, words in texts), n) for n in (1, 2, 3)}
    measured = {**shares, "self_bleu": self_bleu(groups)}
    known = {name: None if math.isnan(value) else value for name, value in measured.items()}  # JSON has no NaN
    return {"words": length.value, "words_95": length.plain(), **known, "self_bleu_of": of}


def independent(*runs: Sequence[Plain]) -> dict[str, str]:
    """The unit each problem belongs to: itself, as a rule.

    Problems that were posed in the same words and always answered by the same text are one unit, for a sampler that
    does not draw decodes them once. Answered by different texts they are independent draws, each a unit of its own.
    Of several runs one that does not draw is enough.
    """
    posed: dict[str, dict[str, None]] = defaultdict(dict)
    texts: dict[tuple[int, str], set[str]] = defaultdict(set)
    for number, lines in enumerate(runs):
        for line in lines:
            prompt = json.dumps(line["prompt"], ensure_ascii=False)
            posed[prompt][line["key"]["item"]] = None
            texts[number, prompt].add(line["text"])
    alike = {prompt for (_, prompt), found in texts.items() if len(found) == 1}
    return {item: next(iter(items)) if prompt in alike else item for prompt, items in posed.items() for item in items}


def by_unit(lines: Sequence[Plain], units: Mapping[str, str], value: Callable[[Plain], float]) -> list[float]:
    """A value of each unit: the mean over its lines."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        found[units[line["key"]["item"]]].append(value(line))
    return [mean(values) for values in found.values()]


def _mean(lines: Sequence[Plain], units: Mapping[str, str], key: str) -> Interval:
    return mean_interval(by_unit(lines, units, lambda line: line[key]))


def _sum(lines: Sequence[Plain], name: str) -> float:
    return sum(line[name] or 0 for line in lines)
