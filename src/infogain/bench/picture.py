"""A picture of a bench: the time of a step, the model's part of it, and what reading the weights would take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infogain.options import Plain
from infogain.report import plots
from infogain.report.plots import BLUE, RED, SKY, Figure, tidy

FILE = "bench.png"


def draw(runs: Mapping[str, Plain], path: Path) -> bool:
    """Whether it was drawn: matplotlib is an extra."""
    names = list(runs)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        steps = [runs[name]["ms_per_step"] for name in names]
        forwards = [min(runs[name]["loop_forward_ms"], runs[name]["ms_per_step"]) for name in names]
        reading = [runs[name]["limits"]["reading_ms"] for name in names]
        plots.bars_across(axes, names, steps, color=SKY, label="whole step")
        plots.bars_across(axes, names, forwards, color=BLUE, label="the forward in it")
        axes.plot(reading, range(len(names)), "|", color=RED, ms=12, mew=2, label="reading the weights")
        tidy(axes, xlabel="milliseconds")
        plots.figure_legend(figure, axes, 3)

    return bool(plots.draw([path], (9, 1.2 + 0.32 * len(names)), paint))
