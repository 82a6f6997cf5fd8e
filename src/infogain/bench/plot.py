"""A picture of a bench: the time of a step, the model's part of it, and what reading the weights would take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infogain.options import Plain

FILE = "bench.png"
BLUE, SKY, RED = "#0072B2", "#9CCBE8", "#D55E00"  # told apart by any colour vision


def draw(runs: Mapping[str, Plain], path: Path) -> bool:
    """Whether it was drawn: matplotlib is an extra."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return False
    names = list(runs)
    figure = Figure(figsize=(9, 1.2 + 0.32 * len(names)), layout="constrained")
    axes = figure.subplots()
    place = range(len(names))
    axes.barh(place, [runs[name]["ms_per_step"] for name in names], 0.7, color=SKY, label="whole step")
    inside = [min(runs[name]["loop_forward_ms"], runs[name]["ms_per_step"]) for name in names]
    axes.barh(place, inside, 0.7, color=BLUE, label="the forward in it")
    reading = [runs[name]["limits"]["reading_ms"] for name in names]
    axes.plot(reading, place, "|", color=RED, markersize=12, markeredgewidth=2, label="reading the weights")
    axes.set_yticks(place, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("milliseconds")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130, facecolor="white")
    return True
