"""Cumulative entropy over position and token temperature."""

from __future__ import annotations

from infogain.report.plots import MEAN_ENTROPY, Figure, tidy
from infogain.report.tables import Table
from infogain.studies.abstract_study import Check, Study, all_above_zero, listing
from infogain.studies.cell import FIGURE, Cell, CellResult, Point, by, pick
from infogain.studies.independent import interval, saved_entropy
from infogain.studies.methods import METHODS, of_size, recipe

LABELS = ("entropy", "confidence (top-1)", "margin", "lookum", "info-gain")
TAU_POS = (0.0, 0.1, 0.4, 0.7, 1.0)
TAU_TOKEN = (0.0, 0.4, 0.7, 1.0)
K = 1


class TemperatureStudy(Study):
    """Fig. 5: H̃ over τ_pos and τ_token."""

    name = "temperature"
    title = "Sensitivity to temperature"
    source = "Fig. 5"
    claim = (
        "Info-Gain's H̃ stays low over all position and token temperatures; greedy baselines rise steeply with either."
    )
    figure_size = (13.0, 3.6)

    def points(self, size: str) -> list[Point]:
        problems = of_size(size, 1, 4, 100)
        labels = of_size(size, ("entropy", "info-gain"), ("entropy", "info-gain"), LABELS)
        positions, tokens, k = of_size(
            size, ((0.0, 1.0), (0.7,), 8), ((0.0, 0.4, 1.0), (0.0, 0.7), 2), (TAU_POS, TAU_TOKEN, K)
        )
        return [
            Point({"sampler": label, "τ_pos": pos, "τ_token": token}, cell)
            for pos in positions
            for token in tokens
            for label in labels
            for cell in [Cell("arithmetic", recipe(METHODS[label], k, token, pos), problems, (0,), FIGURE)]
        ]

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [listing("The 100 arithmetic problems", rows, ["H̃", "accuracy %"])]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        labels = list(by(rows, "sampler"))
        positions, tokens = (sorted({row[name] for row in rows}) for name in ("τ_pos", "τ_token"))
        top, low = (edge(row["entropy"] for row in rows) for edge in (max, min))
        panels = figure.subplots(1, len(labels), sharey=True, squeeze=False)[0]
        for axes, label in zip(panels, labels, strict=True):
            table = [[value(rows, label, pos, token) for token in tokens] for pos in positions]
            image = axes.imshow(table, cmap="cividis_r", vmin=low, vmax=top, aspect="auto")
            for y, line in enumerate(table):
                for x, h in enumerate(line):
                    axes.text(
                        x, y, f"{h:.2f}", ha="center", va="center", color="white" if h > (top + low) / 2 else "black"
                    )
            tidy(axes, title=label, xlabel="τ_token")
            axes.grid(visible=False)
            axes.set_xticks(range(len(tokens)), [f"{t:g}" for t in tokens])
            axes.set_yticks(range(len(positions)), [f"{t:g}" for t in positions])
        panels[0].set_ylabel("τ_pos", labelpad=10)
        figure.colorbar(image, ax=panels, label=MEAN_ENTROPY)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        top = {name: max(interval(row, "entropy") for row in own) for name, own in by(rows, "sampler").items()}
        gain = top.pop("info-gain", None)
        if not gain or not top:
            return []
        saved = {label: saved_entropy(other, gain) for label, other in top.items()}
        low = min(top, key=lambda label: top[label])
        evidence = f"at most {gain.value:.2f}; best other {top[low].value:.2f} ({low}), {saved[low].show(2)} less"
        return [Check("Info-Gain's H̃ rises least over the temperatures", all_above_zero(saved.values()), evidence)]

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for label, own in by(rows, "sampler").items():
            found = [row["entropy"] for row in own]
            said.append(f"{label}: mean H̃ from {min(found):.2f} to {max(found):.2f} over the grid.")
        return said


def value(rows: list[CellResult], label: str, pos: float, token: float) -> float:
    found = pick(rows, sampler=label, τ_pos=pos, τ_token=token)
    return float(found[0]["entropy"]) if found else float("nan")
