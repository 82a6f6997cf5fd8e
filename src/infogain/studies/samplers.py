"""Every sampler on every task: the shape of the paper's main tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infogain.evals.numbers import half_width, mean, pooled
from infogain.studies.base import Check, Grid, Study, accuracy, percent
from infogain.studies.cell import Point, Row, pick
from infogain.studies.methods import GREEDY, METHODS, TAU, method_points, of_size
from infogain.studies.plot import BLUE, RED, figure_legend, tidy
from infogain.zoo.tasks import TASKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    def tables(self, rows: list[Row]) -> list[Grid]:
        return [table(rows, k, tau) for k, tau in settings(rows)]

    def draw(self, figure: Figure, rows: list[Row]) -> None:
        ks = sorted({k for k, _ in settings(rows)})
        panels = figure.subplots(1, len(ks), sharey=True, squeeze=False)[0]
        labels = list(METHODS)
        for axes, k in zip(panels, ks, strict=True):
            for tau, colour, mark, shift in ((TAU, BLUE, "o", -0.15), (0.0, RED, "s", 0.15)):
                means = [(i, average(pick(rows, K=k, τ_token=tau), label)) for i, label in enumerate(labels)]
                there = [(i + shift, *found) for i, found in means if found]
                if there:
                    place, value, half, _ = zip(*there, strict=True)
                    x, error = [100 * v for v in value], [100 * h for h in half]
                    face = colour if tau else "white"
                    label = f"τ_token = {tau:g}"
                    axes.errorbar(x, place, xerr=error, fmt=mark, color=colour, mfc=face, ms=6, capsize=2, label=label)
            tidy(axes, xlabel="accuracy %, mean of the tasks (95 % interval)", title=f"K = {k}")
            axes.set_yticks(range(len(labels)), labels)
        panels[0].set_ylim(len(labels) - 0.5, -0.5)
        figure_legend(figure, panels[0], 2)

    def checks(self, rows: list[Row]) -> list[Check]:
        found = []
        for k, tau in settings(rows):
            own = pick(rows, K=k, τ_token=tau)
            means = {label: mean_ for label in METHODS if (mean_ := average(own, label))}
            gain = means.get("info-gain")
            if not gain or len(means) < len(METHODS):
                continue
            at = f"K = {k}, τ_token = {tau:g}"
            greedy = max(GREEDY, key=lambda label: means[label][0])
            others = [label for label in means if not label.startswith("info-gain")]
            best = max(others, key=lambda label: means[label][0])
            least = min(others, key=lambda label: means[label][2])
            gap, lead = difference(own, "info-gain", greedy), difference(own, "info-gain", best)
            cost = f"H̃ {gain[2]:.2f} against {means[least][2]:.2f} ({least})"
            found += [
                Check(f"Info-Gain above every greedy baseline, {at}", gain[0] > means[greedy][0], f"{gap} ({greedy})"),
                Check(f"Info-Gain above every other sampler, {at}", gain[0] > means[best][0], f"{lead} ({best})"),
                Check(f"Info-Gain has the lowest H̃, {at}", gain[2] < means[least][2], cost),
            ]
        return found

    def summary(self, rows: list[Row]) -> list[str]:
        said = []
        for k, tau in settings(rows):
            own = pick(rows, K=k, τ_token=tau)
            gain, look = average(own, "info-gain"), average(own, "lookum")
            greedy = [(found, label) for label in GREEDY if (found := average(own, label))]
            if gain and greedy:
                best, label = max(greedy)
                least = min((found[2], name) for name in METHODS if (found := average(own, name)))
                said.append(
                    f"K = {k}, τ_token = {tau:g}: Info-Gain {percent(gain[0])} %, best greedy baseline {label} "
                    f"{percent(best[0])} % ({difference(own, 'info-gain', label)} points)"
                    + (f", LookUM {percent(look[0])} % ({difference(own, 'info-gain', 'lookum')})" if look else "")
                    + f". H̃ {gain[2]:.2f}; least {least[0]:.2f} ({least[1]})."
                )
        return said


def settings(rows: list[Row]) -> list[tuple[int, float]]:
    return sorted({(row["K"], row["τ_token"]) for row in rows}, key=lambda s: (-s[1], -s[0]))


def average(rows: list[Row], sampler: str) -> tuple[float, float, float] | None:
    """Mean accuracy over the tasks, half its interval, mean H̃; nothing unless every task is there."""
    own = pick(rows, sampler=sampler)
    if not own or len(own) < len({row["task"] for row in rows}):
        return None
    halves = [(row["accuracy_95"][1] - row["accuracy_95"][0]) / 2 for row in own]
    return mean([row["accuracy"] for row in own]), pooled(halves), mean([row["entropy"] for row in own])


def difference(rows: list[Row], one: str, other: str) -> str:
    """Mean difference in points over the tasks, problem by problem, with half its 95 % interval."""
    means, halves = [], []
    for task in {row["task"] for row in rows}:
        pair = [pick(rows, sampler=name, task=task) for name in (one, other)]
        if all(pair):
            a, b = (shares(found[0]) for found in pair)
            gaps = [x - y for x, y in zip(a, b, strict=True)]
            means.append(mean(gaps))
            halves.append(half_width(gaps))
    return f"{100 * mean(means):+.1f} ± {100 * pooled(halves):.1f}"


def shares(row: Row) -> list[float]:
    """Of each problem, the share of its decodes that were right."""
    return [int(hits) / len(row.cell.seeds) for hits in row["hits"]]


def table(rows: list[Row], k: int, tau: float) -> Grid:
    return by_task(f"Accuracy %, K = {k}, τ_token = {tau:g}", pick(rows, K=k, τ_token=tau))


def by_task(title: str, own: list[Row]) -> Grid:
    """A line per sampler, a column per task, and what they come to on average."""
    tasks = [task for task in TASKS if pick(own, task=task)]
    lines = []
    for label in dict.fromkeys(row["sampler"] for row in own):
        cells = [pick(own, sampler=label, task=task) for task in tasks]
        found = average(own, label)
        last = [f"{percent(found[0])} ± {percent(found[1])}", f"{found[2]:.2f}"] if found else ["–", "–"]
        lines.append([label, *(accuracy(cell[0]) if cell else "–" for cell in cells), *last])
    return Grid(title, ["sampler", *tasks, "average", "mean H̃"], lines)
