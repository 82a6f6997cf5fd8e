"""Sensitivity to position and token temperature: cumulative entropy over a grid of both, and how far it rises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from infogain.evals.intervals import Interval, apart
from infogain.options import fields
from infogain.report.plots import MEAN_ENTROPY, Figure, tidy
from infogain.report.tables import Table
from infogain.samplers import SAMPLERS
from infogain.studies.abstract_study import Check, Study, accuracy, all_above_zero, entropy, listing
from infogain.studies.cell import Cell, CellResult, Point, by, pick
from infogain.studies.independent import interval, paired, saved_entropy
from infogain.studies.methods import METHODS, SEEDS, method_table, of_size, recipe, seeds_for
from infogain.studies.written import Written, WrittenStudy

LABELS = ("uniform", "confidence (top-1)", "entropy", "margin", "klass", "pc", "lookum", "info-gain")  # as in Table 6
GAIN = "info-gain"
TAU_POS = (0.0, 0.1, 0.4, 0.7, 1.0)
TAU_TOKEN = (0.0, 0.4, 0.7, 1.0)
WRITING_POS, WRITING_TOKEN = (0.0, 0.4, 1.0), (0.0, 0.7, 1.4)  # where the study is of texts
TASK, K = "countdown", 1
WRITING_K = 2  # with one token a step nearly all texts are good
AXES = ("sampler", "τ_pos", "τ_token")  # labels of a row
PANELS = 4  # of the figure, in a line


class Sensitivity(NamedTuple):
    """A sampler at the coldest and the hottest corner of the grid, and the most it changes from the coldest on.

    The interval of a change is that of the setting where it is largest, as if no other had been looked at. H̃ rises or
    falls by 0 where no hotter setting has more of it, or less.
    """

    cold: CellResult
    hot: CellResult
    rise: Interval  # of H̃
    drop: Interval  # of H̃, too
    fall: Interval  # of the share of right answers

    @property
    def claimed(self) -> str:
        """The paper's word for it."""
        return self.cold.cell.recipe.sampler.sensitivity


class TemperatureStudy(Study):
    """Fig. 5, and the column of Table 6 that the paper fills with words: H̃ over τ_pos and τ_token."""

    name = "temperature"
    task = TASK
    title = "Sensitivity to temperature"
    source = "Fig. 5, Table 6"
    claim = (
        "Info-Gain's H̃ stays low over all position and token temperatures; greedy baselines rise steeply with either. "
        "Table 6 calls Info-Gain's sensitivity low, that of PC-Sampler and LookUM moderate, all others' high."
    )
    figure_size = (13.0, 6.6)

    def points(self, size: str) -> list[Point]:
        problems, seeds = of_size(size, (1, 1), (4, 1), (500, 5))
        labels = of_size(size, ("entropy", GAIN), ("entropy", GAIN), LABELS)
        positions, tokens, k = of_size(size, ((0.0, 1.0), (0.7,), 8), ((0.0, 0.4, 1.0), (0.0, 0.7), 2), self.grid())
        return [
            Point({"sampler": label, "τ_pos": pos, "τ_token": token}, cell)
            for pos in positions
            for token in tokens
            for label in labels
            for cell in [temperature_cell(self.task, label, k, token, pos, problems, seeds)]
        ]

    def grid(self) -> tuple[Sequence[float], Sequence[float], int]:
        """Temperatures of positions and tokens, and tokens a step, in the full size."""
        return TAU_POS, TAU_TOKEN, K

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [
            measured_table(rows),
            listing(f"{rows[0].cell.problems} problems of {rows[0].cell.task}", rows, ["H̃", "accuracy %"], AXES),
        ]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        labels = list(by(rows, "sampler"))
        positions, tokens = grid(rows)
        top, low = (edge(row["entropy"] for row in rows) for edge in (max, min))
        wide = min(PANELS, len(labels))
        panels = figure.subplots(-(-len(labels) // wide), wide, sharex=True, sharey=True, squeeze=False)
        for axes in panels.flat[len(labels) :]:
            axes.set_visible(False)
        for axes, label in zip(panels.flat, labels, strict=False):
            table = [[value(rows, label, pos, token) for token in tokens] for pos in positions]
            image = axes.imshow(table, cmap="cividis_r", vmin=low, vmax=top, aspect="auto")
            for y, line in enumerate(table):
                for x, h in enumerate(line):
                    shade = "white" if h > (top + low) / 2 else "black"
                    axes.text(x, y, f"{h:.2f}", ha="center", va="center", color=shade)
            tidy(axes, title=label)
            axes.grid(visible=False)
            axes.set_xticks(range(len(tokens)), [f"{t:g}" for t in tokens])
            axes.set_yticks(range(len(positions)), [f"{t:g}" for t in positions])
        figure.supxlabel("τ_token")
        figure.supylabel("τ_pos")
        figure.colorbar(image, ax=panels, label=MEAN_ENTROPY)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = sensitivities(rows)
        if GAIN not in found or len(found) < 2:
            return []
        rises = {label: each.rise for label, each in found.items()}
        falls = {label: each.fall for label, each in found.items()}
        return [
            stays_lowest(rows),
            least_sensitive("Info-Gain is among the least sensitive: H̃", "rises", rises),
            least_sensitive("Info-Gain is among the least sensitive: accuracy", "falls", falls, 1, 100),
        ]

    def summary(self, rows: list[CellResult]) -> list[str]:
        found = sensitivities(rows)
        ranks = rank({label: each.rise.value for label, each in found.items()})
        said = [
            f"{label} ({each.claimed} in the paper): H̃ {said_of_entropy(each, f'{ranks[label]} of {len(found)}')}; "
            f"accuracy falls by {each.fall.show(1, 100)} points at most."
            for label, each in sorted(found.items(), key=lambda one: ranks[one[0]])
        ]
        for label, own in by(rows, "sampler").items():
            costs = [row["entropy"] for row in own]
            said.append(f"{label}: mean H̃ from {min(costs):.2f} to {max(costs):.2f} over the grid.")
        return said


class WritingTemperatureStudy(WrittenStudy, TemperatureStudy):
    """H̃ of texts over τ_pos and τ_token, with two tokens a step."""

    def __init__(self, name: str, written: Written) -> None:
        super().__init__(name, written)
        self.task = written.task
        self.title = f"Sensitivity to temperature: {written.texts}"

    def grid(self) -> tuple[Sequence[float], Sequence[float], int]:
        return WRITING_POS, WRITING_TOKEN, WRITING_K

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [measured_table(drawn_positions(rows)), super().tables(rows)[-1]]

    def checks(self, rows: list[CellResult]) -> list[Check]:
        return super().checks(drawn_positions(rows))

    def summary(self, rows: list[CellResult]) -> list[str]:
        return super().summary(drawn_positions(rows))


def drawn_positions(rows: list[CellResult]) -> list[CellResult]:
    """The rows with a temperature of positions: without one all candidates are the same action, and none looks ahead.

    All rows, where none has one.
    """
    return [row for row in rows if row["τ_pos"] > 0] or rows


def temperature_cell(task: str, label: str, k: int, token: float, pos: float, problems: int, seeds: int) -> Cell:
    """A sampler at a setting; one that draws positions whatever the temperature has no τ_pos, so its cells coincide."""
    own = pos if "tau_pos" in fields(SAMPLERS[METHODS[label]["name"]]) else None
    asked = recipe(method_table(label, task), k, token, own)
    return Cell(task, asked, problems, seeds_for(asked, SEEDS[:seeds]))


def grid(rows: list[CellResult]) -> tuple[list[float], list[float]]:
    """The temperatures of positions and of tokens, the coldest first."""
    positions, tokens = (sorted({row[name] for row in rows}) for name in ("τ_pos", "τ_token"))
    return positions, tokens


def sensitivities(rows: list[CellResult]) -> dict[str, Sensitivity]:
    """How far each sampler changes; none where a corner of its grid is missing, or there is one setting only."""
    found = {label: sensitivity(rows, own) for label, own in by(rows, "sampler").items()}
    return {label: each for label, each in found.items() if each}


def sensitivity(rows: list[CellResult], own: list[CellResult]) -> Sensitivity | None:
    positions, tokens = grid(rows)
    corners = [pick(own, τ_pos=positions[at], τ_token=tokens[at]) for at in (0, -1)]
    if not all(corners):
        return None
    cold, hot = (corner[0] for corner in corners)
    hotter = [row for row in own if row.cell != cold.cell]
    if not hotter:
        return None
    before = interval(cold, "entropy")
    cheapest, *_, costliest = sorted(interval(row, "entropy") for row in (hotter[0], *hotter))
    worst = min(hotter, key=lambda row: float(row["accuracy"]))
    rise, drop = (at_least_zero(saved_entropy(*pair)) for pair in ((costliest, before), (before, cheapest)))
    return Sensitivity(cold, hot, rise, drop, paired(cold, worst))


def at_least_zero(change: Interval) -> Interval:
    """A change in one direction: none, where what there is goes the other way."""
    return Interval(*(max(bound, 0.0) + 0.0 for bound in change))  # + 0.0: no −0


def said_of_entropy(found: Sensitivity, place: str) -> str:
    """How H̃ changes over the grid, and the sampler's place by its rise, where it rises."""
    rises = f"rises by {found.rise.show(2)} at most (rank {place} by that)"
    falls = f"falls by {found.drop.show(2)} at most"
    return (
        f"{rises if found.rise.value > 0 else 'rises nowhere'} and {falls if found.drop.value > 0 else 'falls nowhere'}"
    )


def measured_table(rows: list[CellResult]) -> Table:
    """Table 6, its column of temperature sensitivity: the paper's word and what was measured, the least first."""
    found = sensitivities(rows)
    rises = rank({label: each.rise.value for label, each in found.items()})
    falls = rank({label: each.fall.value for label, each in found.items()})
    lines = [
        [
            *(label, each.claimed, entropy(each.cold), entropy(each.hot), each.rise.show(2), str(rises[label])),
            each.drop.show(2),
            *(accuracy(each.cold), accuracy(each.hot), each.fall.show(1, 100), str(falls[label])),
        ]
        for label, each in sorted(found.items(), key=lambda one: (rises[one[0]], falls[one[0]]))
    ]
    changes = [
        *(f"H̃: {column}" for column in ("coldest", "hottest", "largest rise", "rank", "largest fall")),
        *(f"accuracy %: {column}" for column in ("coldest", "hottest", "largest fall", "rank")),
    ]
    positions, tokens = grid(rows)
    corners = [f"τ_pos {positions[at]:g} and τ_token {tokens[at]:g}" for at in (0, -1)]
    title = (
        f"Table 6: temperature sensitivity, measured. Coldest is {corners[0]}, hottest {corners[1]}; rise and fall are "
        "from the coldest to the setting where they are largest; rank 1 is least, of H̃ by its rise"
    )
    return Table(["sampler", "paper: sensitivity", *changes], lines, 2, title)


def rank(values: Mapping[str, float]) -> dict[str, int]:
    """The place of each by its value, the least first; equal values share one."""
    return {label: 1 + sum(other < value for other in values.values()) for label, value in values.items()}


def stays_lowest(rows: list[CellResult]) -> Check:
    """The claim that Info-Gain's H̃ is low wherever it is highest."""
    top = {name: max(interval(row, "entropy") for row in own) for name, own in by(rows, "sampler").items()}
    gain = top.pop(GAIN)
    saved = {label: saved_entropy(other, gain) for label, other in top.items()}
    holds, rival = all_above_zero(saved.values()), nearest(saved)
    evidence = f"at most {gain.value:.2f}; {rival} {top[rival].value:.2f}, {saved[rival].show(2)} less"
    return Check("Info-Gain's H̃ stays lowest over the temperatures", holds, evidence)


def nearest(leads: Mapping[str, Interval]) -> str:
    """The rival with the smallest lead over it, among those that decide whether all leads are positive."""
    holds = all_above_zero(leads.values())
    return min((label for label in leads if leads[label].above() is holds), key=lambda label: leads[label].value)


def least_sensitive(
    claim: str, verb: str, changes: Mapping[str, Interval], digits: int = 2, scale: float = 1.0
) -> Check:
    """The claim that no other sampler changes less than Info-Gain; open where intervals do not tell them apart."""
    gain, rounding = changes[GAIN], digits if scale == 1 else digits + 2
    less = {label: apart(other, gain).rounded(rounding) for label, other in changes.items() if label != GAIN}
    holds, rival = all_above_zero(less.values()), nearest(less)
    own, other = (f"{scale * each.value:.{digits}f}" for each in (gain, changes[rival]))
    evidence = f"{verb} by {own} at most; {rival} by {other}, {less[rival].show(digits, scale, signed=True)} less"
    return Check(claim, holds, evidence)


def value(rows: list[CellResult], label: str, pos: float, token: float) -> float:
    found = pick(rows, sampler=label, τ_pos=pos, τ_token=token)
    return float(found[0]["entropy"]) if found else float("nan")
