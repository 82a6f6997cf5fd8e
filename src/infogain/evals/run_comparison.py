"""Two runs of the same problems, set against each other problem by problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infogain.errors import InputError
from infogain.evals.intervals import Interval, paired_bootstrap
from infogain.evals.means import mean
from infogain.evals.run_lines import key_of
from infogain.evals.runs import Run, wanted
from infogain.evals.summary import by_unit, independent, is_scored
from infogain.options import Plain

OUTCOMES = {(0, 1): "gained", (1, 0): "lost", (1, 1): "both_right", (0, 0): "both_wrong"}


@dataclass(frozen=True)
class Change:
    """Means of two runs, and their difference (second less first) with its 95 % interval."""

    first: float
    second: float
    difference: Interval


@dataclass(frozen=True)
class Comparison:
    problems: int
    texts: int  # problems and seeds that both runs have
    unpaired: int  # those that one of them has
    accuracy: Change | None  # None: no text is right or wrong
    entropy: Change  # H̃
    gained: int  # texts wrong in the first run and right in the second
    lost: int  # the other way round
    both_right: int
    both_wrong: int


def compare(first: Run, second: Run) -> Comparison:
    """Paired: only problems and seeds that both runs have."""
    check_same(first.about, second.about)
    one, two = ({key_of(line): line for line in run.items()} for run in (first, second))
    shared = [key for key in one if key in two]
    if not shared:
        raise InputError("two runs are compared over the problems both have finished; they have none in common.")
    pairs = [(one[key], two[key]) for key in shared]
    counts = {outcome: sum((a["score"], b["score"]) == outcome for a, b in pairs) for outcome in OUTCOMES}
    return Comparison(
        problems=len({item for item, _ in shared}),
        texts=len(shared),
        unpaired=len(one) + len(two) - 2 * len(shared),
        accuracy=_change(pairs, "score", most=1.0) if is_scored([line for pair in pairs for line in pair]) else None,
        entropy=_change(pairs, "cumulative_entropy"),
        **{name: counts[outcome] for outcome, name in OUTCOMES.items()},
    )


def check_same(first: Plain, second: Plain) -> None:
    for name, one, two in (
        ("task", first["task"], second["task"]),
        ("fingerprint of the items", first["data"]["fingerprint"], second["data"]["fingerprint"]),
    ):
        if one != two:
            raise InputError(f"runs are compared over the same problems; the {name} is {one} and {two}.")


def differences(first: Plain, second: Plain) -> list[str]:
    """Settings that differ between two runs, such as `sampler.name: entropy → info-gain`."""
    return [change.partition(".")[2] for change in changed(_asked(first), _asked(second))]


def made_differently(about: Plain, line: Plain) -> str:
    """How a line was made that is not how its run was begun, such as on another device; empty where nothing differs."""
    own = line.get("provenance")
    return ", ".join(changed(about.get("provenance", {}), own)) if own else ""


def changed(first: Plain, second: Plain) -> list[str]:
    """Entries that differ between two tables, such as `versions.torch: 2.9.0 → 2.13.0`."""
    here, there = flat(first), flat(second)
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    return [f"{name}: {here.get(name, 'unset')} → {there.get(name, 'unset')}" for name in names]


def _asked(about: Plain) -> Plain:
    """Settings, and hashes of what they do not spell out; runs of the first version lack those."""
    hashes = {"prompts": about["data"].get("prompts"), "content of frequencies": about.get("frequencies")}
    settings = {name: about[name] for name in ("model", "protocol", "recipe")}
    return {**settings, "hashes": {name: value for name, value in hashes.items() if value is not None}}


def unfinished(first: Run, second: Run) -> list[str]:
    """Which of two runs lacks texts that were asked for."""
    counts = [(name, len(run.items()), wanted(run.about)) for name, run in (("first", first), ("second", second))]
    return [f"the {name} run is unfinished: {done} of {texts} texts" for name, done, texts in counts if done < texts]


def _change(pairs: Sequence[tuple[Plain, Plain]], name: str, most: float | None = None) -> Change:
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    units = independent(first, second)
    one, two = (by_unit(lines, units, lambda line: line[name]) for lines in (first, second))
    found = paired_bootstrap([b - a for a, b in zip(one, two, strict=True)], most=most)
    return Change(mean(one), mean(two), found)


def flat(table: Plain, before: str = "") -> Plain:
    """Tables within a table by their whole names: `recipe.sampler.n`."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found
