"""The best setting of the sampler, chosen on validation problems and reported on test problems.

The search has three stages: a grid of the options that matter most, then further options one by one around the best of
the grid, then those that helped together. What counts is said in what_counts.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from infogain.evals.means import mean
from infogain.report.numbers import percent
from infogain.report.plots import Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.samplers import SAMPLERS
from infogain.studies.abstract_study import Study, points
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.diversity import ALONE
from infogain.studies.methods import TAU, of_size, recipe
from infogain.studies.what_counts import by_task, mean_lead, mean_measured, measured, measuring_cell
from infogain.zoo.tasks import TASKS

Setting = tuple[tuple[str, Any], ...]  # options that differ from the paper's, by name; none: the paper's
GRID: dict[str, tuple[Any, ...]] = {
    "gain_power": (1.0, 0.5, 0.0),
    "tau_pos": (0.1, 0.4, 1.0),
    "draws": ("fresh", "shared", "fixed"),
}
FURTHER: dict[str, tuple[Any, ...]] = {
    "phi": ("drawn", "top1", "entropy", "margin"),
    "cost_weight": (1.0, 0.0, 0.5, 2.0),
    "tau_select": (0.0, 0.05, 0.2),
    "gamma": (0.8, 0.95, 1.0),
    "need": (0.0, 0.5, 1.0),
}
COMPARED = ("entropy", "confidence (drawn)", "margin", "lookum", "info-gain")
STAGES = ("grid", "further", "together")
PAPER: Setting = ()


class PresetStudy(Study):
    name = "preset"
    title = "A preset chosen on validation problems"
    source = "beyond the paper"
    claim = "The paper uses τ_pos = .1 and the mean of what remains (α = 1) throughout, and tunes neither in public."
    figure_size = (12.0, 4.4)

    def points(self, size: str) -> list[Point]:
        grid = of_size(size, {**GRID, "gain_power": (1.0, 0.0), "tau_pos": (0.1,), "draws": ("fresh",)}, GRID, GRID)
        options = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        return validation(size, "grid", map(setting_of, options))

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        done = by(rows, "stage")
        if "further" not in done:
            best = dict(choose(rows))
            further = of_size(size, {"phi": FURTHER["phi"][:2]}, FURTHER, FURTHER)
            changed = [setting_of({**best, name: value}) for name, values in further.items() for value in values]
            return validation(size, "further", new_ones(rows, changed))
        if "together" not in done and (joined := new_ones(rows, together(rows))):
            return validation(size, "together", joined)
        return [] if "test" in done else test_points(size, choose(rows))

    def tables(self, rows: list[CellResult]) -> list[Table]:
        tested = sorted(by(pick(rows, stage="test"), "K").items())
        title = "What counts on test problems, %, K = {}"
        return [*(by_task(title.format(k), own) for k, own in tested), leaders(rows), *option_tables(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        tried = means([row for row in rows if row["stage"] == "grid"])
        taus = sorted({dict(setting).get("tau_pos", 0.1) for setting in tried})
        kinds = [kind for kind in GRID["draws"] if any(dict(s).get("draws", "fresh") == kind for s in tried)]
        panels = figure.subplots(1, len(taus), sharey=True, squeeze=False)[0]
        for axes, tau in zip(panels, taus, strict=True):
            for i, kind in enumerate(kinds):
                at = {p: setting_of({"gain_power": p, "tau_pos": tau, "draws": kind}) for p in GRID["gain_power"]}
                there = sorted((power, 100 * tried[each]) for power, each in at.items() if each in tried)
                axes.plot([x for x, _ in there], [y for _, y in there], **nth(i), label=f"draws {kind}")
            tidy(axes, xlabel="gain_power α", title=f"τ_pos = {tau:g}")
        panels[0].set_ylabel("what counts, %, mean of tasks and K")
        side_legend(panels[-1])

    def summary(self, rows: list[CellResult]) -> list[str]:
        tried, best = means(rows), choose(rows)
        shares = f"{percent(tried[best])} % there, the paper's {percent(tried.get(PAPER))} %"
        said = [f"Chosen on validation problems among {len(tried)} settings: {shown(best)} ({shares})."]
        for k, own in sorted(by(pick(rows, stage="test"), "K").items()):
            if mine := mean_measured(own, "preset"):
                others = [name for name in COMPARED if mean_measured(own, name)]
                parts = [f"{name} {points(mean_lead(own, 'preset', name))}" for name in others]
                share = mine.show(scale=100)
                said.append(f"On test problems, K = {k}: preset {share} %; its lead in points: {', '.join(parts)}.")
        return said


def setting_of(options: Mapping[str, Any]) -> Setting:
    """Options as a setting: those that differ from the paper's, in one order."""
    paper = SAMPLERS.make("info-gain:paper")
    return tuple((name, options[name]) for name in sorted(options) if options[name] != getattr(paper, name))


def shown(setting: Setting) -> str:
    return ", ".join(f"{name} = {value}" for name, value in setting) or "the paper's"


def setting_recipe(setting: Setting, k: int) -> Any:
    options = dict(setting)
    return recipe({"name": "info-gain", **options}, k, TAU, options.get("tau_pos", 0.1))


def validation(size: str, stage: str, settings: Iterable[Setting]) -> list[Point]:
    """Cells of settings on the validation split; the dear task with fewer problems."""
    counts: dict[str, int] = of_size(
        size,
        {"sudoku": 2},
        {"countdown": 10, "oneway": 2},
        {name: 100 if name == "arithmetic" else 200 for name in TASKS},
    )
    ks, batches, draws = of_size(size, ((2,), 2, 2), ((2,), 2, 15), ((2, 1), 3, 300))
    return [
        Point({"stage": stage, "task": task, "K": k, "setting": [list(pair) for pair in setting]}, cell)
        for setting in settings
        for task, count in counts.items()
        for k in ks
        for asked in [setting_recipe(setting, k)]
        for cell in [
            Cell(task, asked, batches, split="validation", kind="diversity", draws=draws)
            if task in ALONE
            else Cell(task, asked, count, split="validation")
        ]
    ]


def test_points(size: str, best: Setting) -> list[Point]:
    """The chosen setting and its others on test problems."""
    counts = dict(zip(("problems", "seeds"), of_size(size, (2, 1), (10, 1), (500, 5)), strict=True))
    found = []
    for task, k in product(of_size(size, ["sudoku"], ["countdown"], list(TASKS)), of_size(size, (2,), (2,), (2, 1))):
        labels = {"stage": "test", "task": task, "K": k}
        others = {name: measuring_cell(name, task, k, TAU, size, **counts) for name in COMPARED}
        preset = replace(others["info-gain"], recipe=setting_recipe(best, k))
        found += [Point({**labels, "sampler": name}, cell) for name, cell in {"preset": preset, **others}.items()]
    return found


def setting(row: CellResult) -> Setting:
    return tuple((name, value) for name, value in row["setting"])


def means(rows: list[CellResult]) -> dict[Setting, float]:
    """The mean of what counts of each setting on the validation split, all tasks and both K alike.

    Settings of which cells are still to be decoded are left out: the mean of some tasks says nothing of all.
    """
    found: dict[Setting, list[float]] = {}
    for row in rows:
        if row["stage"] in STAGES:
            found.setdefault(setting(row), []).append(measured(row).value)
    whole = max(map(len, found.values()), default=0)
    return {each: mean(values) for each, values in found.items() if len(values) == whole}


def choose(rows: list[CellResult]) -> Setting:
    """The best setting; of equals the one that differs least from the paper's."""
    tried = means(rows)
    return max(tried, key=lambda each: (tried[each], -len(each)))


def together(rows: list[CellResult]) -> list[Setting]:
    """The options that helped one by one, joined: the two that helped most, the three, and so on."""
    tried = means(rows)
    start = dict(choose([row for row in rows if row["stage"] == "grid"]))
    base = tried[setting_of(start)]
    gains: dict[str, tuple[float, Any]] = {}
    for name, value in ((name, value) for name, values in FURTHER.items() for value in values):
        changed = tried.get(setting_of({**start, name: value}), base)
        if changed > max(base, gains.get(name, (base, None))[0]):
            gains[name] = (changed, value)
    order = sorted(gains, key=lambda name: -gains[name][0])
    return [setting_of({**start, **{n: gains[n][1] for n in order[:count]}}) for count in range(2, len(order) + 1)]


def new_ones(rows: list[CellResult], settings: Iterable[Setting]) -> list[Setting]:
    """Those that were not tried yet, each once."""
    tried = means(rows)
    return [each for each in dict.fromkeys(settings) if each not in tried]


def leaders(rows: list[CellResult]) -> Table:
    tried = means(rows)
    best = sorted(tried, key=lambda each: -tried[each])[:10]
    lines = [[shown(each), percent(tried[each])] for each in dict.fromkeys([*best, PAPER]) if each in tried]
    return Table(["setting", "what counts %"], lines, title="The best settings on validation problems, and the paper's")


def option_tables(rows: list[CellResult]) -> list[Table]:
    """What each further option does alone, around the best of the grid."""
    tried = means(rows)
    start = dict(choose([row for row in rows if row["stage"] == "grid"]))
    base = tried[setting_of(start)]
    lines = [
        [name, str(value), percent(tried[found]), f"{100 * (tried[found] - base):+.1f}"]
        for name, values in FURTHER.items()
        for value in values
        for found in [setting_of({**start, name: value})]
        if found in tried
    ]
    title = f"Further options, one by one, around {shown(setting_of(start))}"
    return [Table(["option", "value", "what counts %", "change"], lines, 2, title)] if lines else []
