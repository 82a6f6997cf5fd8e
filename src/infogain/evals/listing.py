"""Runs as a table: what was asked of each, and what numbers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from infogain.evals.intervals import stored
from infogain.evals.runs import Run, wanted
from infogain.evals.summary import summary
from infogain.options import Plain
from infogain.report.numbers import NONE, number, percent
from infogain.report.tables import Table


def pace(recipe: Plain) -> str:
    """The schedule of a recipe as text: K, or the number of steps."""
    schedule = recipe["schedule"]
    return str(schedule["k"]) if "k" in schedule else f"{schedule.get('count', '?')} steps"


def cache_label(model: Plain) -> str:
    """The cache of a model as text, with `refresh` where it is not 1; a dash for older runs, which do not say."""
    cache, refresh = model.get("cache") or NONE, model.get("refresh", 1)
    return f"{cache}, refresh {refresh}" if refresh > 1 else cache


def extent(found: Plain) -> str:
    """How much a run holds: problems × seeds, or for an unfinished run how many of its texts are there."""
    if found["lines"] < found["wanted"]:
        return f"{found['lines']} of {found['wanted']}"
    return f"{found['problems']}×{found['seeds']}"


# What can be shown of a run: from what was asked, and from what numbers of it.
ASKED: dict[str, Callable[[Run, Plain], str]] = {
    "run": lambda run, about: run.name.rpartition("-")[2][:6],
    "task": lambda run, about: about["task"],
    "model": lambda run, about: about["model"]["name"],
    "sampler": lambda run, about: about["recipe"]["sampler"]["name"],
    "K": lambda run, about: pace(about["recipe"]),
    "block": lambda run, about: str(about["recipe"].get("block") or "all"),
    "cache": lambda run, about: cache_label(about["model"]),
}
IF_DIFFERENT = ("block", "cache")  # left out where all runs have the same
FOUND: dict[str, Callable[[Plain], str]] = {
    "words": lambda found: number(found["words"], 0),
    "distinct-1": lambda found: percent(found["distinct_1"]),
    "distinct-2": lambda found: percent(found["distinct_2"]),
    "distinct-3": lambda found: percent(found["distinct_3"]),
    "self-BLEU": lambda found: percent(found["self_bleu"]),
    "pass@1": lambda found: percent(found["accuracy"]),
    "95 %": lambda found: stored(found["accuracy"], found["accuracy_95"]).bounds(scale=100),
    "texts": extent,
    "H̃": lambda found: number(found["entropy"], 2),
    "forwards": lambda found: number(found["forwards"]),
    "token-fw": lambda found: number(found["token_forwards"], 0),
    "bypass": lambda found: NONE if found["bypass_rate"] is None else f"{found['bypass_rate']:.0%}",
    "tok/s": lambda found: number(found["tokens_per_second"], 0),
}
# Numbers that runs of one kind have: of texts that are right or wrong, and of texts that are neither.
OF_ONE_KIND = {
    **dict.fromkeys(("pass@1", "95 %"), "accuracy"),
    **dict.fromkeys(("words", "distinct-1", "distinct-2", "distinct-3", "self-BLEU"), "words"),
}


def listing(runs: Iterable[Run], asked: Sequence[str] = tuple(ASKED), found: Sequence[str] = tuple(FOUND)) -> Table:
    """A row for each run, with these columns; a run without a finished line has no numbers.

    A column that only runs of another kind have is left out, as pass@1 is where no text is right or wrong.
    """
    runs = list(runs)
    told = [name for name in asked if name not in IF_DIFFERENT or len(runs) == 1 or _differ(runs, name)]
    numbers = [_numbers(run) for run in runs]
    shown = [name for name in found if _of_these(name, numbers)]
    rows = [[*_words(run, told), *(_cell(name, one) for name in shown)] for run, one in zip(runs, numbers, strict=True)]
    return Table([*told, *shown], rows, len(told))


def _differ(runs: Sequence[Run], name: str) -> bool:
    return len({ASKED[name](run, run.about) for run in runs}) > 1


def _numbers(run: Run) -> Plain:
    lines = run.items()
    return {"lines": 0, "wanted": wanted(run.about), **(summary(lines) if lines else {})}


def _of_these(name: str, numbers: Sequence[Plain]) -> bool:
    """Whether a column is of the kind of these runs; of runs without a finished line nobody knows, so pass@1 is."""
    kinds = {kind for one in numbers for kind in ("accuracy", "words") if kind in one} or {"accuracy"}
    return OF_ONE_KIND.get(name) in {None, *kinds}


def _words(run: Run, asked: Sequence[str]) -> list[str]:
    about = run.about
    return [ASKED[name](run, about) for name in asked]


def _cell(name: str, numbers: Plain) -> str:
    has = OF_ONE_KIND[name] in numbers if name in OF_ONE_KIND else numbers["lines"] or name == "texts"
    return FOUND[name](numbers) if has else NONE
