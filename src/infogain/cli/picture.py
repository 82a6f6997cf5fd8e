"""The demo's picture: what each sampler pays as it writes, and how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infogain.cli.scores import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart with any colour vision; line styles differ too.
LINES = {
    "ar": ("#000000", ":"),
    "entropy": ("#D55E00", "--"),
    "confidence": ("#E69F00", "-."),
    "info-gain": ("#0072B2", "-"),
    "info-gain-beam": ("#009E73", (0, (5, 1, 1, 1))),
}
BARS = ("#0072B2", "#E69F00")


def draw(scores: dict[str, list[Score]], titles: dict[str, str], count: int, path: Path) -> None:
    """`scores` and `titles` by toy; the first toy's paths make the left panel. Needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    first = next(iter(scores))
    _draw_paths(left, scores[first], titles[first])
    _draw_bars(right, scores, titles, count)
    figure.savefig(path, dpi=130)


def _draw_paths(axes: Axes, scores: Sequence[Score], title: str) -> None:
    for score in scores:
        if score.path:
            colour, style = LINES[score.sampler]
            written, cost = zip(*score.path, strict=True)
            axes.plot(
                written, cost, color=colour, linestyle=style, linewidth=2, marker="o", markersize=4, label=score.sampler
            )
    axes.set(xlabel="tokens written", ylabel=r"mean cumulative entropy $\tilde{H}$ (nats)", title=title)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False, handlelength=3.5)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_bars(axes: Axes, scores: dict[str, list[Score]], titles: dict[str, str], count: int) -> None:
    height = 0.8 / len(scores)
    names = [score.sampler for score in next(iter(scores.values()))]
    for i, (toy, row) in enumerate(scores.items()):
        accuracy = [100 * score.accuracy for score in row]
        error = [100 * (score.accuracy * (1 - score.accuracy) / count) ** 0.5 for score in row]
        places = [n + (i - (len(scores) - 1) / 2) * height for n in range(len(row))]
        axes.barh(places, accuracy, height, xerr=error, color=BARS[i], ecolor="#555555", label=titles[toy])
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel=f"accuracy % ({count} problems; ± one standard error)", xlim=(0, 100))
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(scores), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
