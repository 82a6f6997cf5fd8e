"""Tables of images: what samplers give, and what settings of look-ahead give."""

from __future__ import annotations

from collections.abc import Sequence

from infogain.report.numbers import grouped
from infogain.report.tables import Table
from infogain.studies.abstract_study import Columns, tabulate
from infogain.studies.cell import CellResult, pick
from infogain.studies.image_methods import SAMPLERS
from infogain.studies.image_search import setting_in, shown, tried
from infogain.studies.independent import interval

SCORES: Columns = {
    "Fréchet distance": lambda row: interval(row, "frechet").show(2),
    "as asked %": lambda row: interval(row, "accuracy").show(scale=100),
    "spread": lambda row: interval(row, "spread").show(2),
    "distinct %": lambda row: interval(row, "distinct").show(scale=100),
    "H̃": lambda row: interval(row, "entropy").show(),
    "token-forwards": lambda row: grouped(row["token_forwards"]),
}


def samplers_table(rows: Sequence[CellResult]) -> Table:
    own = pick(list(rows), part=SAMPLERS)
    columns: Columns = {
        "sampler": lambda row: str(row["sampler"]),
        "τ_token": lambda row: f"{row['τ_token']:g}",
        **SCORES,
    }
    return tabulate("", own, columns, text_columns=2)


def settings_table(rows: Sequence[CellResult]) -> list[Table]:
    own = tried(rows)
    columns: Columns = {"setting": lambda row: shown(setting_in(row)), **SCORES}
    return [tabulate("", own, columns)] if own else []
