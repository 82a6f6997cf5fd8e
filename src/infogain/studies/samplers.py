"""Every sampler on every task: the shape of the paper's main tables."""

from __future__ import annotations

from collections.abc import Mapping

from infogain.evals.intervals import Interval
from infogain.report.numbers import percent
from infogain.report.plots import BLUE, RED, Figure, error_bars, figure_legend, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, all_above_zero, points
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.diversity import ALONE
from infogain.studies.independent import saved_entropy
from infogain.studies.methods import GREEDY, METHODS, PRESET, TAU, of_size
from infogain.studies.what_counts import by_task, by_width, mean_lead, mean_measured, measuring_cell
from infogain.zoo.tasks import TASKS

LABELS = (*METHODS, PRESET)


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
        return [
            Point({"task": task, "K": k, "τ_token": tau, "sampler": label}, cell)
            for tau in taus
            for task in by_width([task for task in tasks if tau > 0 or task not in ALONE])  # without τ one text is all
            for k in ks
            for label in LABELS
            for cell in [measuring_cell(label, task, k, tau, size, problems=problems, seeds=seeds)]
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        title = "What counts, %, K = {}, τ_token = {:g}"
        return [by_task(title.format(k, tau), pick(rows, K=k, τ_token=tau)) for k, tau in settings(rows)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        ks = sorted({k for k, _ in settings(rows)})
        panels = figure.subplots(1, len(ks), sharey=True, squeeze=False)[0]
        labels = list(LABELS)
        for axes, k in zip(panels, ks, strict=True):
            for tau, colour, mark, shift in ((TAU, BLUE, "o", -0.15), (0.0, RED, "s", 0.15)):
                own = pick(rows, K=k, τ_token=tau)
                there = [(i + shift, found) for i, label in enumerate(labels) if (found := mean_measured(own, label))]
                if there:
                    place, means = zip(*there, strict=True)
                    x, error = [100 * found.value for found in means], error_bars(means)
                    face = colour if tau else "white"
                    label = f"τ_token = {tau:g}" if tau else f"τ_token = 0 (without {', '.join({*ALONE} & {*TASKS})})"
                    axes.errorbar(x, place, xerr=error, fmt=mark, color=colour, mfc=face, ms=6, capsize=2, label=label)
            tidy(axes, xlabel="what counts, %, mean of the tasks (95 % interval)", title=f"K = {k}")
            axes.set_yticks(range(len(labels)), labels)
        panels[0].set_ylim(len(labels) - 0.5, -0.5)
        figure_legend(figure, panels[0], 2)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for k, tau in settings(rows):
            own = pick(rows, K=k, τ_token=tau)
            if all(mean_measured(own, label) for label in METHODS):
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
    leads = {label: mean_lead(own, "info-gain", label) for label in others}
    costs = {label: cost for label in METHODS if (cost := mean_measured(own, label, "entropy"))}
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
    gain, cost = mean_measured(own, "info-gain"), mean_measured(own, "info-gain", "entropy")
    greedy = {label: found for label in GREEDY if (found := mean_measured(own, label))}
    if not (gain and cost and greedy):
        return None
    best = max(greedy, key=lambda label: greedy[label].value)
    costs = {label: found.value for label in METHODS if (found := mean_measured(own, label, "entropy"))}
    least = min(costs, key=lambda label: costs[label])
    look = mean_measured(own, "lookum")
    beside = f", LookUM {percent(look.value)} % ({points(mean_lead(own, 'info-gain', 'lookum'))})" if look else ""
    return (
        f"{at}: Info-Gain {percent(gain.value)} %, best greedy baseline {best} {percent(greedy[best].value)} % "
        f"({points(mean_lead(own, 'info-gain', best))} points){beside}. H̃ {cost.value:.2f}; least "
        f"{costs[least]:.2f} ({least})."
    )
