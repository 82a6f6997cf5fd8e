"""Tables and sentences about images: how near samplers and settings come to the data, and how varied they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infogain.evals.intervals import Interval, apart
from infogain.report.numbers import grouped, percent
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Columns, tabulate
from infogain.studies.cell import CellResult, pick
from infogain.studies.image_methods import COLD, CONTROLS, SAMPLERS, WARM
from infogain.studies.image_search import BEST, setting_in, shown, tried
from infogain.studies.independent import interval

SAMPLER: Columns = {"sampler": lambda row: str(row["sampler"]), "τ_token": lambda row: f"{row['τ_token']:g}"}
GUIDANCE: Columns = {"guidance": lambda row: f"{row['guidance']:g}"}
SCORES: Columns = {
    "Fréchet": lambda row: interval(row, "frechet").show(2),
    "as asked %": lambda row: interval(row, "accuracy").show(scale=100),
    "spread": lambda row: interval(row, "spread").show(2),
    "distinct %": lambda row: percent(row["distinct"]),
    "H̃": lambda row: interval(row, "entropy").show(),
    "token-forwards": lambda row: grouped(row["token_forwards"]),
}


def nearest_first(rows: Iterable[CellResult]) -> list[CellResult]:
    return sorted(rows, key=lambda row: float(row["frechet"]))


def compared(rows: Sequence[CellResult]) -> list[CellResult]:
    """The rows that compare samplers without guidance."""
    return pick(list(rows), part=SAMPLERS, guidance=0.0)


def extent(row: CellResult) -> str:
    """How much was decoded, for a title: `5 steps (linear), 5 times 10,000 images`."""
    steps = f"{row['steps']} steps ({row['shape']})"
    return f"{steps}, {len(row.cell.seeds)} times {grouped(row.cell.problems)} images"


def samplers_table(rows: Sequence[CellResult]) -> Table:
    """Samplers without guidance at one number of steps, the nearest to the data first."""
    own = nearest_first(compared(rows))
    return tabulate(f"Samplers: {extent(own[0])}", own, {**SAMPLER, **SCORES}, text_columns=2)


def guidance_table(rows: Sequence[CellResult]) -> Table:
    """Samplers at one number of steps by their weight of guidance."""
    own = sorted(nearest_first(rows), key=lambda row: float(row["guidance"]))
    return tabulate(f"Guidance: {extent(own[0])}", own, {**GUIDANCE, **SAMPLER, **SCORES}, text_columns=3)


def settings_tables(rows: Sequence[CellResult]) -> list[Table]:
    """Settings of look-ahead that were tried and what needs none, the nearest first; no table without a search."""
    own = nearest_first([*tried(rows), *pick(list(rows), part=CONTROLS)])
    if not own:
        return []
    columns: Columns = {"setting or sampler": named, **SCORES}
    steps = f"{own[0]['steps']} steps, {len(own[0].cell.seeds)} times {grouped(own[0].cell.problems)} images"
    return [tabulate(f"Settings of look-ahead, on other seeds: {steps}", own, columns)]


def named(row: CellResult) -> str:
    """What a row of a search was decoded with."""
    if row["part"] == CONTROLS:
        return f"{row['sampler']}, τ_token {row['τ_token']:g}, {row['shape']} steps"
    return shown(setting_in(row))


def of(rows: Sequence[CellResult], sampler: str, tau: float | None = None) -> CellResult | None:
    """The row of a sampler without guidance, at a temperature of tokens or at its only one; None: not finished."""
    found = [row for row in compared(rows) if row["sampler"] == sampler and tau in (None, row["τ_token"])]
    return found[0] if found else None


def saved_distance(one: CellResult, other: CellResult) -> Interval:
    """How much nearer to the data one is than the other, in hundredths, as it is shown."""
    return apart(interval(other, "frechet"), interval(one, "frechet")).rounded(2)


def nearer(rows: Sequence[CellResult], others: Iterable[str], at: str) -> list[Check]:
    """Whether Info-Gain's images are nearer to the data than those of others, all as the paper has them."""
    own = of(rows, "info-gain", COLD)
    found = []
    for label in others:
        other = of(rows, label, COLD)
        if own and other:
            gap = saved_distance(own, other)
            evidence = f"{own['frechet']:.2f} against {other['frechet']:.2f}, {gap.show(2, signed=True)} nearer"
            found.append(Check(f"Info-Gain nearer to the data than {label}, {at}", gap.above(), evidence))
    return found


def told(row: CellResult) -> str:
    """A sampler and its scores, for a sentence."""
    name = str(row["sampler"]) if row["sampler"] != BEST else f"look-ahead with {shown(setting_in(row))}"
    at = "" if row["sampler"] == BEST else f" at τ_token {row['τ_token']:g}"
    distance, share = interval(row, "frechet").show(2), percent(row["accuracy"])
    return f"{name}{at}: Fréchet distance {distance}, spread {row['spread']:.2f}, as asked {share} %"


def summary_of(rows: Sequence[CellResult], at: str) -> list[str]:
    """Sentences about samplers without guidance at one number of steps: the nearest, and those that matter."""
    own = nearest_first(compared(rows))
    if not own:
        return []
    shown_rows = [own[0], of(own, "info-gain", COLD), of(own, BEST), of(own, "uniform", WARM)]
    unique = list({id(row): row for row in shown_rows if row}.values())
    return [f"{at}, nearest to the data: {told(unique[0])}.", *(f"{at}: {told(row)}." for row in unique[1:])]
