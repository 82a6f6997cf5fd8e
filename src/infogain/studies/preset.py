"""The best setting of the sampler, chosen on validation problems and reported on test problems.

The search has four stages: a grid of the options that matter most, then further options one by one around the best of
the grid, then those that helped together, then the further ones one by one again around the best so far. What counts is
said in what_counts.py. Where problems have several right answers, each setting also has its place among others on the
frontier of quality and diversity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from infogain.evals.means import mean
from infogain.recipe import Recipe
from infogain.report.numbers import grouped, percent
from infogain.report.plots import Figure, nth, side_legend, tidy
from infogain.report.tables import Table
from infogain.samplers import SAMPLERS
from infogain.studies.abstract_study import Study, points
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.diversity import MANY, diversity_cell, on_frontier, right_and_different
from infogain.studies.frontier import FEW, LABELS
from infogain.studies.methods import PRESET, TAU, method_recipe, of_size, recipe
from infogain.studies.what_counts import by_task, mean_lead, mean_measured, measured, measuring_cell
from infogain.zoo.tasks import TASKS

Setting = tuple[tuple[str, Any], ...]  # options that differ from the paper's, by name; none: the paper's
GRID: dict[str, tuple[Any, ...]] = {
    "gain_power": (1.0, 0.5, 0.0),
    "cost_of": ("entropy", "surprisal"),
    "tau_pos": (0.1, 0.4, 1.0),
    "draws": ("fresh", "shared"),
}
FURTHER: dict[str, tuple[Any, ...]] = {
    "bypass_of": ("top1", "drawn"),
    "gamma": (0.8, 0.9, 0.95, 1.0),
    "phi": ("drawn", "top1", "entropy", "margin"),
    "gain_power": (0.0, 0.25, 0.5, 1.0),
    "cost_of": ("entropy", "surprisal"),
    "cost_weight": (1.0, 0.0, 0.5, 0.75, 1.5, 2.0),
    "draws": ("fresh", "shared", "fixed"),
    "tau_pos": (0.1, 0.2, 0.4, 0.7, 1.0, 2.0),
    "tau_select": (0.0, 0.05, 0.2),
    "need": (0.0, 0.5, 1.0),
}
COMPARED = (
    *("entropy", "confidence (drawn)", "margin", "best-of-8", "lookum", "info-gain"),
    *("lookum (bypass drawn)", "info-gain (bypass drawn)"),  # so that no rival is held back by the paper's bypass
)
STAGES, RIVALS = ("grid", "further", "together", "again"), "rivals"
LEADERS = 10  # lines of a table of settings
PAPER: Setting = ()


class PresetStudy(Study):
    name = "preset"
    title = "A preset chosen on validation problems"
    source = "beyond the paper"
    claim = "The paper uses τ_pos = .1 and the mean of what remains (α = 1) throughout, and tunes neither in public."
    figure_size = (12.0, 4.4)

    def points(self, size: str) -> list[Point]:
        few = {"gain_power": (1.0, 0.0)}
        grid: dict[str, tuple[Any, ...]] = of_size(size, few, few | {"cost_of": GRID["cost_of"]}, GRID)
        options = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        return validation(size, "grid", map(setting_of, options)) + rivals(size)

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:
        done = by(rows, "stage")
        further = of_size(size, {"phi": FURTHER["phi"][:2]}, FURTHER, FURTHER)
        if "further" not in done:
            return validation(size, "further", new_ones(rows, one_by_one(choose(rows), further)))
        if not {"together", "again"} & {*done} and (joined := new_ones(rows, together(rows))):
            return validation(size, "together", joined)
        if not {"again", "test"} & {*done} and (changed := new_ones(rows, one_by_one(choose(rows), further))):
            return validation(size, "again", changed)
        return [] if "test" in done else test_points(size, choose(rows))

    def tables(self, rows: list[CellResult]) -> list[Table]:
        tested = sorted(by(pick(rows, stage="test"), "K").items())
        title = "What counts on test problems, %, K = {}"
        test_tables = [by_task(title.format(k), own) for k, own in tested]
        return [*test_tables, leaders(rows), frontier_table(rows), *option_tables(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        tried = means(pick(rows, stage="grid"))
        taus = sorted({dict(setting).get("tau_pos", 0.1) for setting in tried})
        panels = figure.subplots(1, len(taus), sharey=True, squeeze=False)[0]
        for axes, tau in zip(panels, taus, strict=True):
            for i, (cost, draws) in enumerate(product(GRID["cost_of"], GRID["draws"])):
                options = {"cost_of": cost, "draws": draws, "tau_pos": tau}
                at = {power: setting_of({**options, "gain_power": power}) for power in GRID["gain_power"]}
                there = sorted((power, 100 * tried[each]) for power, each in at.items() if each in tried)
                if there:
                    axes.plot(*zip(*there, strict=True), **nth(i), label=f"cost {cost}, draws {draws}")
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
    """Options as a setting: those that differ from the paper's, in one order; none of a bypass that is off."""
    paper = SAMPLERS.make("info-gain:paper")
    unused = ("bypass_of",) if options.get("gamma") == 1 else ()
    differ = [name for name in options if options[name] != getattr(paper, name) and name not in unused]
    return tuple((name, options[name]) for name in sorted(differ))


def shown(setting: Setting) -> str:
    return ", ".join(f"{name} = {value}" for name, value in setting) or "the paper's"


def setting_recipe(setting: Setting, k: int) -> Recipe:
    options = dict(setting)
    return recipe({"name": "info-gain", **options}, k, TAU, options.get("tau_pos", 0.1))


def validation(size: str, stage: str, settings: Iterable[Setting]) -> list[Point]:
    """Cells of settings on the validation split."""
    return [
        Point({"stage": stage, "task": task, "K": k, "setting": [list(pair) for pair in setting]}, cell)
        for setting in settings
        for task, k in product(of_size(size, ["sudoku"], ["countdown", "oneway"], list(TASKS)), steps(size))
        for cell in [validation_cell(task, setting_recipe(setting, k), size)]
    ]


def rivals(size: str) -> list[Point]:
    """Other samplers on validation problems with several right answers, for the frontiers there."""
    labels, tasks = of_size(size, (("entropy",), ["sudoku"]), (FEW[:-1], ["countdown", "oneway"]), (LABELS, MANY))
    return [
        Point({"stage": RIVALS, "task": task, "K": k, "sampler": label}, cell)
        for label, task, k in product(labels, tasks, steps(size))
        for cell in [validation_cell(task, method_recipe(label, task, k), size)]
        if label not in (PRESET, "info-gain")  # the setting that is searched for, and the paper's
    ]


def steps(size: str) -> tuple[int, ...]:
    """The K that a search is made for."""
    return of_size(size, (2,), (2,), (2, 1))


def validation_cell(task: str, asked: Recipe, size: str) -> Cell:
    """Right answers, and different ones where there are several; the dear task with fewer problems."""
    if task in MANY:
        return diversity_cell(task, asked, size, "validation")
    problems = of_size(size, 2, 10, 100 if task == "arithmetic" else 200)
    return Cell(task, asked, problems, split="validation")


def test_points(size: str, best: Setting) -> list[Point]:
    """The chosen setting and its others on test problems."""
    counts = dict(zip(("problems", "seeds"), of_size(size, (2, 1), (10, 1), (500, 5)), strict=True))
    found = []
    for task, k in product(of_size(size, ["sudoku"], ["countdown"], list(TASKS)), steps(size)):
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


def one_by_one(best: Setting, options: Mapping[str, Iterable[Any]]) -> list[Setting]:
    """A setting with one option changed, for each option and each of its values."""
    return [setting_of({**dict(best), name: value}) for name, values in options.items() for value in values]


def together(rows: list[CellResult]) -> list[Setting]:
    """The options that helped one by one, joined: the two that helped most, the three, and so on."""
    tried = means(rows)
    start = dict(choose(pick(rows, stage="grid")))
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


def frontier_table(rows: list[CellResult]) -> Table:
    """On how many of the validation frontiers settings and other samplers lie, those with the most first."""
    searched = [row for row in rows if row["stage"] in (*STAGES, RIVALS) and "distinct" in row.numbers]
    named = [replace(row, labels={**row.labels, "sampler": name_of(row)}) for row in searched]
    groups = [own for same in by(named, "task").values() for own in by(same, "K").values()]
    places = [row["sampler"] for own in groups for row in on_frontier(own, right_and_different)]
    whole = {name: own for name, own in by(named, "sampler").items() if len(own) == len(groups)}
    order = sorted(whole, key=lambda name: (-places.count(name), -mean([row["distinct"] for row in whole[name]])))
    always = {shown(PAPER), shown(choose(rows)), *by(pick(named, stage=RIVALS), "sampler")}
    named_too = [name for name in order if name in always]
    lines = [
        [
            *(name, f"{places.count(name)} of {len(groups)}"),
            *(percent(mean([row[number] for row in whole[name]])) for number in ("accuracy", "distinct")),
            grouped(mean([row["token_forwards"] for row in whole[name]])),
        ]
        for name in dict.fromkeys([*order[:LEADERS], *named_too])
    ]
    columns = ["setting or sampler", "on the frontier", "right %", "different right %", "token-forwards"]
    return Table(columns, lines, title="Frontiers of quality and diversity on validation problems")


def name_of(row: CellResult) -> str:
    return str(row["sampler"]) if row["stage"] == RIVALS else shown(setting(row))


def leaders(rows: list[CellResult]) -> Table:
    tried = means(rows)
    best = sorted(tried, key=lambda each: -tried[each])[:LEADERS]
    lines = [[shown(each), percent(tried[each])] for each in dict.fromkeys([*best, PAPER]) if each in tried]
    return Table(["setting", "what counts %"], lines, title="The best settings on validation problems, and the paper's")


def option_tables(rows: list[CellResult]) -> list[Table]:
    """What each further option does alone, around the best of the grid and around the best of all."""
    tried = means(rows)
    starts = dict.fromkeys([choose(pick(rows, stage="grid")), choose(rows)])
    return [table for start in starts if len((table := option_table(tried, start)).rows) > 1]


def option_table(tried: Mapping[Setting, float], start: Setting) -> Table:
    lines = [
        [name, str(value), percent(tried[found]), f"{100 * (tried[found] - tried[start]):+.1f}"]
        for name, values in FURTHER.items()
        for value in values
        for found in [setting_of({**dict(start), name: value})]
        if found in tried
    ]
    return Table(["option", "value", "what counts %", "change"], lines, 2, f"One option changed: {shown(start)}")
