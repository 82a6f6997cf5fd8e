"""How figures look and are saved: colours that any colour vision tells apart, a line style for each sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # matplotlib is an extra

# Okabe and Ito's colours
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#888888",
)
CYCLE = (BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, GREY)
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKS = "osD^vP*X"
# Offsets of a text from its point, in points of print: first beside it, then farther away; left of it where negative.
PLACES = [
    (side * far, up)
    for far in (0.01, 8, 16, 26, 38)
    for up in (-3, 5, -11, 13, -19, 21, -27, 29, -37, 39)
    for side in (1, -1)
    if abs(up) <= 11 + far
]
MEAN_ENTROPY = r"mean $\tilde{H}$ (nats)"
DARK = "@media (prefers-color-scheme: dark) { svg { filter: invert(0.92) hue-rotate(180deg); } }"
LINES: dict[str, tuple[str, Any]] = {
    "uniform": (GREY, ":"),
    "ar": (BLACK, ":"),
    "entropy": (RED, "--"),
    "confidence (top-1)": (ORANGE, "-."),
    "confidence (drawn)": (ORANGE, "--"),
    "margin": (PINK, "--"),
    "lookum": (SKY, (0, (8, 2))),
    "info-gain": (BLUE, "-"),
    "info-gain (φ top-1)": (BLUE, (0, (5, 1, 1, 1))),
    "info-gain (α 0)": (GREEN, (0, (5, 1, 1, 1))),
    "info-gain (α ½)": (GREEN, "-."),
    "info-gain:validated": (GREEN, "-"),
    "best-of-8": (BLACK, "--"),
}

SPOTS: dict[str, tuple[str, str]] = {
    "uniform": (GREY, "o"),
    "ar": (GREY, "s"),
    "entropy": (ORANGE, "o"),
    "confidence (top-1)": (ORANGE, "s"),
    "confidence (drawn)": (ORANGE, "D"),
    "margin": (ORANGE, "^"),
    "klass": (ORANGE, "v"),
    "pc": (ORANGE, "P"),
    "best-of-8": (BLACK, "X"),
    "lookum": (SKY, "o"),
    "lookum (shared)": (SKY, "s"),
    "lookum (bypass drawn)": (SKY, "^"),
    "info-gain": (BLUE, "o"),
    "info-gain (shared)": (BLUE, "s"),
    "info-gain (fixed)": (BLUE, "D"),
    "info-gain (bypass drawn)": (BLUE, "^"),
    "info-gain (α 0)": (GREEN, "o"),
    "info-gain (α 0, shared)": (GREEN, "s"),
    "info-gain (surprisal, α 0)": (GREEN, "P"),
    "info-gain:validated": (RED, "*"),
    "lookum (τ_pos .4)": (SKY, "D"),
    "lookum (τ_pos .4, N 32)": (SKY, "P"),
    "info-gain:validated (N 32)": (RED, "P"),
}


def line(label: str) -> dict[str, Any]:
    colour, style = LINES.get(label, (GREY, "-"))
    return {"color": colour, "linestyle": style, "linewidth": 1.8, "label": label}


def spot(label: str) -> dict[str, Any]:
    """A sampler's point: families by colour, members by mark."""
    colour, mark = SPOTS.get(label, (GREY, "x"))
    size = 12 if mark == "*" else 7
    return {"color": colour, "marker": mark, "markersize": size, "linestyle": "", "label": label, "alpha": 0.9}


def nth(i: int) -> dict[str, Any]:
    """The style of the i-th series, where series are no samplers."""
    return {
        "color": CYCLE[i % len(CYCLE)],
        "linestyle": DASHES[i % len(DASHES)],
        "marker": MARKS[i % len(MARKS)],
        "markersize": 5,
        "linewidth": 1.6,
    }


def colour(label: str) -> str:
    """Look-ahead in blue, our setting in red, greedy orders in orange, the rest in grey."""
    if label == "info-gain:validated":
        return RED
    if label.startswith("info-gain"):
        return BLUE
    if label == "lookum":
        return SKY
    return GREY if label in ("uniform", "ar", "best-of-8") else ORANGE


def annotate_apart(axes: Axes, points: Sequence[tuple[float, float, str]], size: float = 6.5) -> None:
    """Write a text beside each point where it covers no point and no other text; the nearest place that is free.

    Limits of the axes must be final, for places are counted on the page.
    """
    figure = cast("Figure", axes.figure)
    figure.draw_without_rendering()  # lays the panels out
    scale = figure.dpi / 72
    spots = [axes.transData.transform((x, y)) for x, y, _ in points]
    taken = [(x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale) for x, y in spots]
    for (x, y, text), (left, bottom) in sorted(zip(points, spots, strict=True), key=lambda one: -one[1][1]):
        wide, high = 0.62 * size * len(text) * scale, size * scale
        for right, up in PLACES:
            at = left + (5 + right) * scale if right >= 0 else left - (5 - right) * scale - wide, bottom + up * scale
            box = (*at, at[0] + wide, at[1] + high)
            if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
                break
        taken.append(box)
        offset = ((at[0] - left) / scale, (at[1] - bottom) / scale)
        line = {"arrowstyle": "-", "lw": 0.4, "color": GREY} if max(map(abs, (right, up))) > 10 else None
        axes.annotate(text, (x, y), offset, textcoords="offset points", fontsize=size, arrowprops=line)


def tidy(axes: Axes, **words: Any) -> None:
    axes.set(**words)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def bars_across(axes: Axes, labels: list[str], values: list[float], errors: Any = None, **style: Any) -> None:
    """One bar per label, the first on top."""
    axes.barh(range(len(labels)), values, 0.7, xerr=errors, ecolor="#333333", **style)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)


def error_bars(shares: Sequence[tuple[float, float, float]]) -> list[list[float]]:
    """How far intervals (value, low, high) reach below and above their values, in per cent."""
    below = [max(0.0, 100 * (value - low)) for value, low, _ in shares]
    return [below, [max(0.0, 100 * (high - value)) for value, _, high in shares]]


def side_legend(axes: Axes) -> None:
    """Right of the axes, so that it covers no data; none where nothing was drawn."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), handlelength=3.5)


def figure_legend(figure: Figure, axes: Axes, columns: int = 1) -> None:
    """One for all panels: in columns above them, or in one column beside."""
    handles, names = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"ncols": columns, "frameon": False, "handlelength": 3.5}
    style["loc"] = "outside upper center" if columns > 1 else "outside right center"
    figure.legend(handles, names, **style)


def draw(paths: Sequence[Path], size: tuple[float, float], paint: Callable[[Figure], None]) -> list[Path]:
    """Save one figure as these files, PNG or SVG; none where matplotlib, an extra, is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return []
    with mpl.rc_context({"svg.hashsalt": paths[0].stem, "font.size": 10, "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=130, facecolor="white", metadata=metadata)
            if path.suffix == ".svg":
                _turn_dark_with_the_page(path)
    return list(paths)


def _turn_dark_with_the_page(svg: Path) -> None:
    """Where the page or system around a figure is dark, let light and dark change places; hues stay."""
    head, tag, rest = svg.read_text(encoding="utf-8").partition("<defs>")
    svg.write_text(f"{head}<style>{DARK}</style>{tag}{rest}", encoding="utf-8")
