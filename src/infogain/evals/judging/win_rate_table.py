"""Table 5, made again: win rates of Info-Gain against other samplers, and the commands that ask for them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infogain.errors import InputError
from infogain.evals.intervals import stored
from infogain.evals.judging.asking import Question, questions
from infogain.evals.judging.judge_client import JudgeModel
from infogain.evals.judging.judge_report import judge_entry, rates_entry
from infogain.evals.judging.sides import pair_up, side_of_run
from infogain.evals.judging.win_rate import win_rates
from infogain.evals.reproduce import PlannedCell, heading
from infogain.evals.run_lines import Key
from infogain.evals.runs import Run
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.report.numbers import number
from infogain.report.paper import PaperRow, PaperTable
from infogain.report.tables import Table

OURS = "info-gain"
ASK = "infogain judge {a} {b} --judge-url https://api.openai.com/v1 --judge-model gpt-4.1"
LINES = {
    "here": "this package's, length-controlled",
    "95 %": "its interval over prompts",
    "paper": "the paper's",
    "difference": "here less the paper's",
}


@dataclass(frozen=True)
class Contest:
    """Info-Gain's run and that of another sampler, with equal K and τ_token."""

    row: PaperRow  # the other sampler's
    ours: Run
    theirs: Run
    asked: set[Key]  # items and seeds; the runs may hold more

    @property
    def setting(self) -> tuple[float, int]:
        return tau_token(self.row), self.row.k


def tau_token(row: PaperRow) -> float:
    return float(row.recipe.plain()["sampler"]["tau_token"])


def check_contests(table: PaperTable) -> None:
    """Refuse a selection of rows in which nobody stands against Info-Gain."""
    if not _opposed(table.rows):
        raise InputError(
            f"{table.title} sets Info-Gain against other samplers at the same K and τ_token; the rows asked for hold "
            f"no such pair. Add --only {OURS} and another sampler."
        )


def _opposed(rows: Sequence[PaperRow]) -> list[tuple[PaperRow, PaperRow]]:
    """Each other sampler's row, with the row of Info-Gain at its K and τ_token."""
    ours = {(tau_token(row), row.k): row for row in rows if row.recipe.sampler.name == OURS}
    others = [row for row in rows if row.recipe.sampler.name != OURS]
    return [(row, ours[at]) for row in others if (at := (tau_token(row), row.k)) in ours]


def contests(cells: Sequence[PlannedCell], runs: Path) -> list[Contest]:
    """The runs that stand against each other."""
    made, asked = {cell.row.name: cell.plan.run(runs) for cell in cells}, cells[0].plan.keys
    opposed = _opposed([cell.row for cell in cells])
    return [Contest(row, made[ours.name], made[row.name], asked) for row, ours in opposed]


def questions_of(contest: Contest, judge: JudgeModel) -> list[Question]:
    ours, theirs = (side_of_run(run, contest.asked) for run in (contest.ours, contest.theirs))
    return questions(pair_up(ours, theirs), judge)


def record(
    table: PaperTable,
    cells: Sequence[PlannedCell],
    beside: str | None,
    runs: Path,
    judged: tuple[JudgeModel, Mapping[str, Plain]] | None,
) -> Plain:
    """All numbers of the table beside the paper's; without a judge, and what it said, the paper's alone."""
    about, found = cells[0].plan.about, contests(cells, runs)
    return {
        **heading(table, cells, beside),
        "remarks": cells[0].plan.task.remarks(cells[0].plan.protocol, about["data"]["items"]),
        "judge": judge_entry(judged[0]) if judged else None,
        "columns": list(dict.fromkeys(contest.row.sampler for contest in found)),
        "rows": [_row([c for c in found if c.setting == at], beside, judged) for at in _settings(found)],
        "runs": {cell.row.name: cell.plan.run(runs).name for cell in cells},
        "commands": [ASK.format(a=_word(c.ours.folder), b=_word(c.theirs.folder)) for c in found],
    }


def _settings(found: Sequence[Contest]) -> list[tuple[float, int]]:
    return sorted({contest.setting for contest in found})


def _word(folder: Path) -> str:
    return shlex.quote(str(folder))


def _row(found: Sequence[Contest], beside: str | None, judged: tuple[JudgeModel, Mapping[str, Plain]] | None) -> Plain:
    tau, k = found[0].setting
    paper = {contest.row.sampler: contest.row.paper[beside][0] for contest in found} if beside else {}
    cells = {contest.row.sampler: _cell(contest, *judged) for contest in found} if judged else {}
    here = {name: 100 * cell["length_controlled"] for name, cell in cells.items()}
    difference = {name: value - paper[name] for name, value in here.items() if name in paper}
    return {"tau_token": tau, "k": k, "here": here, "paper": paper, "difference": difference, "cells": cells}


def _cell(contest: Contest, judge: JudgeModel, held: Mapping[str, Plain]) -> Plain:
    found = win_rates(questions_of(contest, judge), held)
    return {"a": contest.ours.name, "b": contest.theirs.name, "counts": found.counts, **rates_entry(found)}


def table_of(found: Plain) -> Table:
    """Lines for each τ_token and K: our number, its interval, the paper's, and their difference."""
    rows = []
    for row in found["rows"]:
        lines = {
            "here": {name: number(value) for name, value in row["here"].items()},
            "95 %": {name: _interval(cell) for name, cell in row["cells"].items()},
            "paper": {name: number(value) for name, value in row["paper"].items()},
            "difference": {name: number(value, signed=True) for name, value in row["difference"].items()},
        }
        shown = [what for what, numbers in lines.items() if numbers]
        for what in shown:
            first = [str(row["tau_token"]), str(row["k"])] if what == shown[0] else ["", ""]
            rows.append([*first, what, *(lines[what].get(name, "–") for name in found["columns"])])
    shown_at_all = {row[2] for row in rows}
    told = "; ".join(f"{what}: {meaning}" for what, meaning in LINES.items() if what in shown_at_all)
    means = {"number": told, **dict.fromkeys(found["columns"], "win rate of Info-Gain against it, in per cent")}
    return Table(["τ_token", "K", "number", *found["columns"]], rows, text_columns=3, explained=means)


def _interval(cell: Plain) -> str:
    return stored(cell["length_controlled"], cell["length_controlled_95"]).bounds(digits=0, scale=100)


def notes(found: Plain) -> list[str]:
    """Sentences to print with the table: what was asked of whom, and what the numbers do not tell."""
    said = [f"Here: {found['model']['name']}, seeds: {found['extent']['seeds']}.", *found["remarks"]]
    if found["beside"]:
        said.append(f"Paper: {found['beside']}, judged by GPT-4.1 with a question it does not print.")
    if judge := found["judge"]:
        said.append(f"Judge: {judge['model']} at {judge['host']}, question {judge['template']}.")
        said += _left_out(found)
    if made := made_with([found.get("provenance")]):
        said.append(made)
    if not found["judge"]:
        said += ["Nobody has judged the texts yet. Add --judge-url and --judge-model, or ask one by one:"]
        said += found["commands"]
    return said


def _left_out(found: Plain) -> list[str]:
    """Comparisons that lack pairs, because the judge refused or gave no clear verdict."""
    cells = {f"τ_token {r['tau_token']}, K {r['k']}, {n}": c for r in found["rows"] for n, c in r["cells"].items()}
    counts = {name: (cell["counts"]["pairs"], cell["counts"]["judged"]) for name, cell in cells.items()}
    return [
        f"Left out: {name}: {pairs - done} of {pairs} pairs." for name, (pairs, done) in counts.items() if done < pairs
    ]
