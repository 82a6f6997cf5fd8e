"""Every sampler on every task: the shape of the paper's main tables."""

from __future__ import annotations

from collections.abc import Mapping

from infogain.evals import intervals
from infogain.evals.intervals import Interval
from infogain.report.numbers import NONE, percent
from infogain.report.plots import BLUE, RED, Figure, error_bars, figure_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, accuracy, all_above_zero, points
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.independent import gaps, interval, saved_entropy, share_difference
from infogain.studies.methods import GREEDY, METHODS, TAU, method_points, of_size
from infogain.zoo.tasks import TASKS


class SamplersStudy(Study):
    """Table 2 and Table 3 in shape: all samplers, all tasks, K and τ_token."""

    name = "samplers"
    title = "All samplers on all tasks"
    source = "the shape of Tables 2 and 3"
    claim = (
        "Info-Gain has the best average accuracy at K = 1 and K = 2 (Dream-7B: 62.0 and 53.4, against 59.1 and 50.3 "
        "for the best other) and the lowest H̃; half the steps cost it less than they cost greedy samplers."
    )
    figure_size = (11.0, 5.6)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (2, 2), (25, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["oneway", "judgement", "sudoku", "countdown"], list(TASKS))
        ks, taus = of_size(size, ((2,), (TAU,)), ((2,), (TAU,)), ((2, 1), (TAU, 0.0)))
        found = [method_points(list(METHODS), tasks, ks, [tau], problems, seeds) for tau in taus]
        return [point for points in found for point in points]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        title = "Accuracy %, K = {}, τ_token = {:g}"
        return [by_task(title.format(k, tau), pick(rows, K=k, τ_token=tau)) for k, tau in settings(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        ks = sorted({k for k, _ in settings(rows)})
        panels = figure.subplots(1, len(ks), sharey=True, squeeze=False)[0]
        labels = list(METHODS)
        for axes, k in zip(panels, ks, strict=True):
            for tau, colour, mark, shift in ((TAU, BLUE, "o", -0.15), (0.0, RED, "s", 0.15)):
                own = pick(rows, K=k, τ_token=tau)
                there = [(i + shift, found) for i, label in enumerate(labels) if (found := average(own, label))]
                if there:
                    place, means = zip(*there, strict=True)
                    x, error = [100 * found.value for found in means], error_bars(means)
                    face = colour if tau else "white"
                    label = f"τ_token = {tau:g}"
                    axes.errorbar(x, place, xerr=error, fmt=mark, color=colour, mfc=face, ms=6, capsize=2, label=label)
            tidy(axes, xlabel="accuracy %, mean of the tasks (95 % interval)", title=f"K = {k}")
            axes.set_yticks(range(len(labels)), labels)
        panels[0].set_ylim(len(labels) - 0.5, -0.5)
        figure_legend(figure, panels[0], 2)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for k, tau in settings(rows):
            own = pick(rows, K=k, τ_token=tau)
            if all(average(own, label) for label in METHODS):
                found += claims(own, f"K = {k}, τ_token = {tau:g}")
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        found = [sentence(pick(rows, K=k, τ_token=tau), f"K = {k}, τ_token = {tau:g}") for k, tau in settings(rows)]
        return [said for said in found if said]


def settings(rows: list[CellResult]) -> list[tuple[int, float]]:
    return sorted({(row["K"], row["τ_token"]) for row in rows}, key=lambda s: (-s[1], -s[0]))


def claims(own: list[CellResult], at: str) -> list[Check]:
    """Info-Gain against all others at one setting."""
    others = [label for label in METHODS if not label.startswith("info-gain")]
    leads = {label: difference(own, "info-gain", label) for label in others}
    costs = {label: cost for label in METHODS if (cost := average(own, label, "entropy"))}
    saved = {label: saved_entropy(costs[label], costs["info-gain"]) for label in others}
    least = nearest(saved)
    price = f"H̃ {costs['info-gain'].value:.2f} against {costs[least].value:.2f} ({least}), {saved[least].show(2)} less"
    found = [
        Check(f"Info-Gain above every {who}, {at}", all_above_zero(group.values()), f"{points(group[rival])} ({rival})")
        for who, group in (
            ("greedy baseline", {label: leads[label] for label in GREEDY}),
            ("other sampler", leads),
        )
        for rival in [nearest(group)]
    ]
    return [*found, Check(f"Info-Gain has the lowest H̃, {at}", all_above_zero(saved.values()), price)]


def nearest(leads: Mapping[str, Interval]) -> str:
    """The rival with the smallest lead over it."""
    return min(leads, key=lambda label: leads[label].value)


def sentence(own: list[CellResult], at: str) -> str | None:
    """Info-Gain beside the best greedy baseline and LookUM; none where they are not finished."""
    gain, cost = average(own, "info-gain"), average(own, "info-gain", "entropy")
    greedy = {label: found for label in GREEDY if (found := average(own, label))}
    if not (gain and cost and greedy):
        return None
    best = max(greedy, key=lambda label: greedy[label].value)
    costs = {label: found.value for label in METHODS if (found := average(own, label, "entropy"))}
    least = min(costs, key=lambda label: costs[label])
    look = average(own, "lookum")
    beside = f", LookUM {percent(look.value)} % ({points(difference(own, 'info-gain', 'lookum'))})" if look else ""
    return (
        f"{at}: Info-Gain {percent(gain.value)} %, best greedy baseline {best} {percent(greedy[best].value)} % "
        f"({points(difference(own, 'info-gain', best))} points){beside}. H̃ {cost.value:.2f}; least "
        f"{costs[least]:.2f} ({least}){without(own)}."
    )


def telling(rows: list[CellResult]) -> list[str]:
    """Tasks that count in an average: those of which every sampler has more than one independent decode."""
    single = {row["task"] for row in rows if row["independent"] < 2}
    return [task for task in TASKS if task not in single and pick(rows, task=task)]


def without(rows: list[CellResult]) -> str:
    """A remark on the tasks that an average leaves out; empty where it has all."""
    single = [task for task in TASKS if pick(rows, task=task) and task not in telling(rows)]
    return f"; averages without {', '.join(single)}, where samplers that do not draw have one decode" if single else ""


def average(rows: list[CellResult], sampler: str, name: str = "accuracy") -> Interval | None:
    """A sampler's mean over the tasks; None unless every task is there."""
    own = [row for row in pick(rows, sampler=sampler) if row["task"] in telling(rows)]
    if not own or len(own) < len(telling(rows)):
        return None
    return intervals.average([interval(row, name) for row in own])


def difference(rows: list[CellResult], one: str, other: str) -> Interval:
    """How much more often one is right, problem by problem, on average over the tasks."""
    pairs = [[pick(rows, sampler=name, task=task) for name in (one, other)] for task in telling(rows)]
    return share_difference(*(gaps(a[0], b[0]) for a, b in pairs if a and b))


def by_task(title: str, own: list[CellResult]) -> Table:
    """A line per sampler, a column per task, and what they come to on average."""
    tasks = [task for task in TASKS if pick(own, task=task)]
    lines = []
    for label in dict.fromkeys(row["sampler"] for row in own):
        cells = [pick(own, sampler=label, task=task) for task in tasks]
        found, cost = average(own, label), average(own, label, "entropy")
        last = [found.show(scale=100), f"{cost.value:.2f}"] if found and cost else [NONE, NONE]
        lines.append([label, *(accuracy(cell[0]) if cell else NONE for cell in cells), *last])
    return Table(["sampler", *tasks, "average", "mean H̃"], lines, title=title + without(own))
