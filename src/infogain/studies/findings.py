"""Findings: sentences whose numbers come from the studies' JSON, and which fail where text and numbers part.

The sentences are a jinja2 template beside the JSON. It asks an `Evidence` for numbers, and says with `claim` what must
hold for a sentence to stand:

    {% set gap = lead("samplers", "info-gain", "entropy", K=2) %}
    - {{ claim(gap.above(), "Looking ahead pays where a step writes two tokens") }}: {{ points(gap) }} points.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.evals.intervals import Interval
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.report.numbers import grouped, percent
from infogain.studies.abstract_study import points
from infogain.studies.cell import Cell, CellResult, pick
from infogain.studies.independent import interval
from infogain.studies.what_counts import mean_lead, mean_measured

TEMPLATE = "findings.jinja"


class Evidence:
    """All that the studies of a folder measured, by study and labels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows = cache(self._load)

    def _load(self, study: str) -> list[CellResult]:
        path = self.folder / f"{study}.json"
        if not path.exists():
            raise InputError(f"a finding needs the numbers of study {study}; there is no {path}. Run it at full size.")
        rows: list[Plain] = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return [CellResult(row["labels"], cell_of(row["cell"]), row["numbers"]) for row in rows]

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

    def mean(self, study: str, sampler: str, **labels: Any) -> Interval:
        """What counts of a sampler, mean over all tasks of the rows that have these labels."""
        found = mean_measured(self.rows(study, **labels), sampler)
        if found is None:
            raise InputError(
                f"a finding asks study {study} for {sampler} on all tasks with {labels}; some are missing."
            )
        return found

    def lead(self, study: str, one: str, other: str, **labels: Any) -> Interval:
        """How much more of what counts one sampler has than another, mean over the tasks."""
        return mean_lead(self.rows(study, **labels), one, other)


def cell_of(table: Plain) -> Cell:
    """The cell that a record holds as a table."""
    return Cell(**{**table, "recipe": Recipe.of(table["recipe"]), **{k: tuple(table[k]) for k in ("seeds", "keep")}})


def claim(holds: bool | None, text: str) -> str:
    """The text, if it holds. That an interval leaves it open is no reason to say it."""
    if not holds:
        how = "leave it open" if holds is None else "say otherwise"
        raise InputError(f"the findings say {text!r}; the numbers {how}. Change the text.")
    return text


def render_findings(folder: Path) -> str:
    """The findings of a folder of studies; nothing where it has no template."""
    path = folder / TEMPLATE
    if not path.exists():
        return ""
    from jinja2 import Environment, StrictUndefined

    evidence = Evidence(folder)
    asked = {name: getattr(evidence, name) for name in ("rows", "row", "number", "mean", "lead")}
    words = {"claim": claim, "points": points, "percent": percent, "grouped": grouped}
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # Markdown: no escapes
    return environment.from_string(path.read_text(encoding="utf-8")).render(asked | words).strip() + "\n"
