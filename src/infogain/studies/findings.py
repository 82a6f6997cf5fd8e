"""Findings: sentences whose numbers come from the studies' JSON, and which fail where text and numbers part.

The sentences are a jinja2 template beside the JSON. It asks an `Evidence` for numbers, and says with `claim` what must
hold for a sentence to stand:

    {% set gap = lead("samplers", "info-gain", "entropy", K=2) %}
    - {{ claim(gap.above(), "Looking ahead pays where a step writes two tokens") }}: {{ points(gap) }} points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.evals import intervals
from infogain.evals.intervals import Interval
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.report.numbers import grouped, percent
from infogain.studies import lowstep, preset, writing
from infogain.studies.abstract_study import Check, points
from infogain.studies.cell import Cell, CellResult, by, pick
from infogain.studies.frontier import frontier_places
from infogain.studies.independent import interval, paired
from infogain.studies.report_page import load_records
from infogain.studies.study_files import read_record
from infogain.studies.what_counts import mean_lead, mean_measured

TEMPLATE = "findings.jinja"
ASKED = (
    *("rows", "row", "number", "mean", "average", "lead", "places", "leader"),
    *("settings", "best_setting", "tried", "wins_of", "fewest", "check", "checks"),
)


class Evidence:
    """All that the studies of a folder measured, by study and labels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows = cache(self._load)

    def _load(self, study: str) -> list[CellResult]:
        record = read_record(self.folder, study)
        if record is None:
            raise InputError(
                f"a finding needs the numbers of study {study}; {self.folder} has none. Run it at full size."
            )
        return [CellResult(row["labels"], cell_of(row["cell"]), row["numbers"]) for row in record["rows"]]

    def rows(self, study: str, **labels: Any) -> list[CellResult]:
        """The rows of a study that have these labels; at least one."""
        found = pick(self._rows(study), **labels)
        if not found:
            raise InputError(f"a finding asks study {study} for {labels}; it has no such row.")
        return found

    def row(self, study: str, **labels: Any) -> CellResult:
        """The one row of a study that has these labels."""
        found = self.rows(study, **labels)
        if len(found) > 1:
            raise InputError(f"a finding asks study {study} for one row with {labels}; it has {len(found)}.")
        return found[0]

    def number(self, study: str, name: str = "accuracy", **labels: Any) -> Interval:
        """A number of the one row that has these labels, with its interval."""
        return interval(self.row(study, **labels), name)

    def mean(self, study: str, sampler: str, without: Sequence[str] = (), **labels: Any) -> Interval:
        """What counts of a sampler, mean over all tasks of the rows that have these labels, or some of them."""
        found = mean_measured([row for row in self.rows(study, **labels) if row["task"] not in without], sampler)
        if found is None:
            raise InputError(
                f"a finding asks study {study} for {sampler} on all tasks with {labels}; some are missing."
            )
        return found

    def average(self, study: str, name: str, **labels: Any) -> Interval:
        """A number of all rows that have these labels: its mean over them, such as those of all tasks."""
        return intervals.average([interval(row, name) for row in self.rows(study, **labels)])

    def lead(self, study: str, one: str, other: str, without: Sequence[str] = (), **labels: Any) -> Interval:
        """How much more of what counts one sampler has than another, mean over the tasks, or some of them."""
        return mean_lead([row for row in self.rows(study, **labels) if row["task"] not in without], one, other)

    def places(self, sampler: str, k: int) -> int:
        """On the frontiers of how many tasks a sampler lies."""
        return frontier_places(self.rows("frontier", K=k))[sampler]

    def leader(self, name: str, k: int) -> str:
        """The sampler that has most of a number, mean over the tasks of the frontiers."""
        samplers = by(self.rows("frontier", K=k), "sampler")
        return str(max(samplers, key=lambda sampler: self.average("frontier", name, sampler=sampler, K=k).value))

    def settings(self, without: Sequence[str] = ()) -> dict[preset.Setting, float]:
        """What counts on validation problems with each setting of Info-Gain that was tried; () is the paper's."""
        return preset.means([row for row in self.rows("preset") if row["task"] not in without])

    def best_setting(self, without: Sequence[str] = ()) -> str:
        """The setting that would have been chosen, without some tasks too, as text."""
        return preset.shown(preset.choose([row for row in self.rows("preset") if row["task"] not in without]))

    def tried(self, **changed: Any) -> float:
        """What counts on validation problems with the chosen setting of Info-Gain, these options changed."""
        return self.settings()[preset.setting_of({**dict(preset.choose(self.rows("preset"))), **changed})]

    def wins_of(self, study: str, sampler: str) -> str:
        """How often a sampler's texts win against the paper's four baselines, in per cent."""
        return shown(writing.win_rate(writing.comparisons(self.rows(study), sampler, writing.BASELINES)))

    def fewest(self, study: str, sampler: str) -> int:
        """The smallest number of steps, of those tried, at which more than half of a sampler's texts are good."""
        found = lowstep.fewest(self.rows(study, sampler=sampler))
        if found is None:
            raise InputError(
                f"a finding asks study {study} how few steps {sampler} needs; none that was tried is enough."
            )
        return found

    def check(self, study: str, claim: str) -> Check:
        """A claim of the paper as a study found it."""
        (found,) = (check for check in self.checks() if check[:2] == (study, claim))
        return Check(*found[1:])

    def checks(self) -> list[tuple[str, str, bool | None, str]]:
        """All claims of the paper: the study, the claim, whether it holds, and the evidence."""
        return [(record["study"], *check) for record in load_records(self.folder) for check in record["checks"]]


def cell_of(table: Plain) -> Cell:
    """The cell that a record holds as a table."""
    return Cell(**{**table, "recipe": Recipe.of(table["recipe"]), **{k: tuple(table[k]) for k in ("seeds", "keep")}})


def claim(holds: bool | None, text: str) -> str:
    """The text, if it holds. That an interval leaves it open is no reason to say it."""
    if not holds:
        how = "leave it open" if holds is None else "say otherwise"
        raise InputError(f"the findings say {text!r}; the numbers {how}. Change the text.")
    return text


def shown(found: Interval) -> str:
    """A share with its interval, in per cent."""
    return found.show(scale=100)


def render_findings(folder: Path) -> str:
    """The findings of a folder of studies; nothing where it has no template."""
    path = folder / TEMPLATE
    if not path.exists():
        return ""
    from jinja2 import Environment, StrictUndefined

    evidence = Evidence(folder)
    asked = {name: getattr(evidence, name) for name in ASKED}
    words = {"claim": claim, "points": points, "percent": percent, "grouped": grouped, "paired": paired, "shown": shown}
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # Markdown: no escapes
    return environment.from_string(path.read_text(encoding="utf-8")).render(asked | words).strip() + "\n"
