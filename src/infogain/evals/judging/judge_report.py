"""Win rates as a record, a table and sentences: what was judged, by whom, and what was left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from infogain.evals.intervals import stored
from infogain.evals.judging.asking import Question
from infogain.evals.judging.judge_client import JudgeModel
from infogain.evals.judging.judge_prompt import VERSION, template_hash
from infogain.evals.judging.sides import Side
from infogain.evals.judging.win_rate import WinRates, win_rates
from infogain.options import Plain
from infogain.provenance import in_words
from infogain.report.numbers import grouped, number
from infogain.report.tables import Table
from infogain.version import __version__

RATES = {
    "win_rate": "win rate of A",
    "length_controlled": "length-controlled win rate of A",
    "ties": "ties",
    "first_place": "first place preferred",
}
EXPLAINED = {
    "number": (
        "win rate: how often A's text is preferred to B's, a tie counting half; length-controlled: the same if both "
        "were equally long; ties: of all verdicts; first place: 50 without a bias for what is shown first"
    ),
    "%": "in per cent: of each prompt over its pairs and both orders, then over prompts",
    "95 %": "95 % interval over prompts",
}


def name_of(a: Side, b: Side) -> str:
    """The name of the files that tell of a comparison."""
    return f"{_short(a)}-vs-{_short(b)}"


def _short(side: Side) -> str:
    """A sampler and the beginning of its run's hash, or the name of a file."""
    recipe = side.about.get("recipe")
    made = f"{recipe['sampler']['name']}-{side.name.rpartition('-')[2][:6]}" if recipe else Path(side.name).stem
    return re.sub(r"[^A-Za-z0-9.-]+", "-", made)


def judge_entry(judge: JudgeModel) -> Plain:
    """The judge in a record: all that decides its rulings, and where it was asked."""
    template = {"template": VERSION, "template_hash": template_hash()}
    return {"model": judge.model, "host": judge.host, "options": judge.options, **template}


def question_of(a: Side, b: Side, judge: JudgeModel) -> Plain:
    """What a record answers; another answer to it may replace it."""
    return {"question": {"a": a.name, "b": b.name, "judge": judge.model, "template": template_hash()}}


def record(a: Side, b: Side, judge: JudgeModel, asked: Sequence[Question], held: Mapping[str, Plain]) -> Plain:
    """All numbers of a comparison, as its JSON file holds them."""
    found = win_rates(asked, held)
    lines = [held[question.key] for question in asked if question.key in held]
    return {
        "table": name_of(a, b),
        "title": f"{a.name} against {b.name}",
        "about": f"judged by {judge.model}",
        **question_of(a, b, judge),
        "a": a.about,
        "b": b.about,
        "judge": {**judge_entry(judge), "hosts": sorted({line["host"] for line in lines})},
        "versions": {"infogain": __version__},
        "counts": {**found.counts, "unpaired": len(a.texts) + len(b.texts) - 2 * found.counts["pairs"]},
        **rates_entry(found),
        "usage": usage_of(lines),
    }


def rates_entry(found: WinRates) -> Plain:
    """The rates of a comparison for JSON, with their intervals."""
    rates = {name: getattr(found, name) for name in RATES}
    values = {name: rate.value for name, rate in rates.items()}
    return {
        **values,
        **{f"{name}_95": rate.plain() for name, rate in rates.items()},
        "length_coefficient": found.length_coefficient,
    }


def usage_of(lines: Sequence[Plain]) -> Plain:
    """Tokens that these rulings took, as far as servers counted them."""
    told = [line["usage"] for line in lines if isinstance(line.get("usage"), dict)]
    names = ("prompt_tokens", "completion_tokens")
    return {name: sum(each[name] for each in told if isinstance(each.get(name), int)) for name in names}


def table_of(found: Plain) -> Table:
    """A line for each rate."""
    rows = [
        [words, number(found[name], scale=100), stored(found[name], found[f"{name}_95"]).bounds(scale=100)]
        for name, words in RATES.items()
    ]
    return Table(["number", "%", "95 %"], rows, explained=EXPLAINED)


def notes(found: Plain) -> list[str]:
    """Sentences to print with the table: who was compared, who judged, and what is not in the numbers."""
    judge, counts = found["judge"], found["counts"]
    lengths, options = counts["characters"], ", ".join(f"{key} {value}" for key, value in judge["options"].items())
    said = [
        *(f"{side.upper()}: {_made(found[side])}" for side in ("a", "b")),
        f"Judge: {judge['model']} at {', '.join(judge['hosts'])}{f' ({options})' if options else ''}, question "
        f"{judge['template']} ({judge['template_hash']}), infogain {found['versions']['infogain']}.",
        f"{_many(counts['judged'], 'pair')} of {_many(counts['prompts'], 'prompt')}, each judged in both orders: A won "
        f"{counts['won']}, lost {counts['lost']}, {counts['even']} even. The order changed the preference in "
        f"{counts['order_changed']}.",
        f"Mean length in characters: A {grouped(lengths['a'])}, B {grouped(lengths['b'])}.",
    ]
    if left := counts["pairs"] - counts["judged"]:
        said.append(
            f"Left out: {_many(left, 'pair')} without a verdict in both orders (refusals: {counts['refused']}, "
            f"malformed replies: {counts['malformed']}, not asked: {counts['unasked']})."
        )
    if counts["unpaired"]:
        said.append(f"Left out, as one side lacks them: {_many(counts['unpaired'], 'text')}.")
    return said


def _made(side: Plain) -> str:
    """A side in words: its name, and what made it."""
    made = in_words(side.get("provenance")) or ", ".join(side.get("generators", []))
    return f"{side['name']}{f' ({made})' if made else ''}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
