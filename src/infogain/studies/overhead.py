"""The time of look-ahead over greedy decoding, and the cost model it follows."""

from __future__ import annotations

from itertools import product

from infogain.bench.bypass import ForcedBypass
from infogain.evals.means import line, mean
from infogain.report.numbers import NONE, percent
from infogain.report.paper import OVERHEAD
from infogain.report.plots import BLUE, GREY, ORANGE, Figure, nth, tidy
from infogain.report.tables import Table
from infogain.samplers import InfoGain
from infogain.studies.abstract_study import Check, Study
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.methods import SEEDS, TAU, method_cell, of_size
from infogain.studies.speed import BLOCK, EVERY, GREEDY, timed
from infogain.zoo.tasks import TASKS

KS = (1, 2)
BYPASS, OFF, SWEEP = "bypass rate", "no bypass", "N"
GREEDY_PART, AT_RATE = "greedy", "bypass as trained"
SHOWN = {"candidates_per_row": "candidates", "ms_per_step": "ms/step", "forward_ms": "forward ms"}
SMALL = 0.1  # ε ≪ (N − 1) T_f: less than a tenth of it


class OverheadStudy(Study):
    """Eq. 26–28: time per step by N, and Info-Gain's over greedy's with the bypass of a trained model."""

    name = "overhead"
    title = "Time of look-ahead"
    source = "App. F, Eq. 26–28"
    claim = (
        "Info-Gain (N = 8) takes 15 % more time than greedy decoding on Dream-7B at K = 1, 64 % at K = 2, 45 % on "
        "SDAR-8B and 42 % on TraDo-8B at K = 1: far from N times, for candidates are one batch on one cache."
    )
    figure_size = (11.0, 4.2)

    def points(self, size: str) -> list[Point]:
        shapes = of_size(size, ["tiny"], ["tiny"], ["dream-7b", "sdar-8b"])
        counts = of_size(size, (1, 8), (1, 2, 4, 8), (1, 2, 4, 8, 16))
        found = [
            Point({"part": part, "shape": shape, "K": k}, timed(shape, sampler, k))
            for shape in shapes
            for k in KS
            for part, sampler in ((GREEDY_PART, GREEDY), (OFF, EVERY))
        ]
        found += [
            Point({"part": SWEEP, "shape": shape, "K": 1, "N": n}, timed(shape, InfoGain(gamma=1.0, n=n)))
            for shape in shapes
            for n in counts
        ]
        return found + self._rates(size)

    def _rates(self, size: str) -> list[Point]:
        """Decodes of the trained model, the same as in other studies: how often γ = .8 decides a step."""
        problems, seeds = of_size(size, (2, 2), (25, 1), (500, 5))
        tasks = of_size(size, ["sudoku"], ["sudoku", "countdown"], list(TASKS))
        found = []
        for task, k in product(tasks, KS):
            cell = method_cell("info-gain", task, k, TAU, problems, SEEDS[:seeds])
            found.append(Point({"part": BYPASS, "task": task, "K": k}, cell))
        return found

    def follow(self, size: str, rows: list[CellResult]) -> list[Point]:  # noqa: ARG002  # what came first has its size
        """Info-Gain at the bypass rate that was found, on shapes with random weights."""
        if pick(rows, part=AT_RATE):  # it followed already
            return []
        found = []
        for row in pick(rows, part=OFF):
            rate = bypass_rate(rows, row["K"])
            if rate is not None:
                cell = timed(row["shape"], ForcedBypass(rate=rate), row["K"])
                found.append(Point({"part": AT_RATE, "shape": row["shape"], "K": row["K"], "rate": rate}, cell))
        return found

    def tables(self, rows: list[CellResult]) -> list[Table]:
        return [over_greedy(rows), *(model_table(rows, shape) for shape in shapes_of(rows))]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        left, right = figure.subplots(1, 2)
        groups = [(shape, k) for shape in shapes_of(rows) for k in KS]
        for i, (part, colour) in enumerate(((GREEDY_PART, GREY), (AT_RATE, BLUE), (OFF, ORANGE))):
            own = [(at, ms_per_token(rows, part, shape, k)) for at, (shape, k) in enumerate(groups)]
            there = [(at + 0.27 * (i - 1), ms) for at, ms in own if ms is not None]
            if there:
                left.bar(*zip(*there, strict=True), 0.25, color=colour, label=part)
        left.set_xticks(range(len(groups)), [f"{shape}\nK = {k}" for shape, k in groups])
        left.legend(frameon=False)
        left.margins(y=0.35)  # room for it
        tidy(left, ylabel="ms per token, block openings as greedy's")
        for i, shape in enumerate(shapes_of(rows)):
            sweep = pick(rows, part=SWEEP, shape=shape)
            for j, (name, words) in enumerate((("ms_per_step", f"{shape}, step"), ("forward_ms", "its forward"))):
                right.plot([row["N"] for row in sweep], [row[name] for row in sweep], **nth(2 * i + j), label=words)
        right.legend(frameon=False)
        right.set_ylim(bottom=0)
        tidy(right, xlabel="candidates N, no bypass", ylabel="ms")

    def checks(self, rows: list[CellResult]) -> list[Check]:
        found = []
        for shape in shapes_of(rows):
            sweep = pick(rows, part=SWEEP, shape=shape)
            share = extra(sweep)
            claim = f"Eq. 27: what N candidates add is less than a tenth of (N − 1) T_f: {shape}"
            found.append(Check(claim, share < SMALL, f"{percent(share)} % of it at N = {sweep[-1]['N']}"))
            for k in KS:
                more = overhead(rows, AT_RATE, shape, k)
                for name, (wanted, spread) in OVERHEAD.get((shape, k), {}).items():
                    if more is not None:
                        claim = f"The bypass keeps time within the paper's +{wanted} ± {spread} %: {name}, K = {k}"
                        found.append(Check(claim, 100 * more <= wanted + spread, f"{100 * more:+.1f} %"))
        return found

    def summary(self, rows: list[CellResult]) -> list[str]:
        said = []
        for shape, k in product(shapes_of(rows), KS):
            over = {part: overhead(rows, part, shape, k) for part in (AT_RATE, OFF)}
            words = ", ".join(f"{part} {100 * more:+.1f} %" for part, more in over.items() if more is not None)
            said.append(f"{shape}, K = {k}, N = 8, time over greedy: {words}.")
        rates = {k: bypass_rate(rows, k) for k in KS}
        known = ", ".join(f"{percent(rate)} % at K = {k}" for k, rate in rates.items() if rate is not None)
        return [*said, f"Bypass rate of the trained model at γ = .8, mean of its tasks: {known}."] if known else said


def shapes_of(rows: list[CellResult]) -> list[str]:
    """The shapes that have a sweep over N which a line can be fitted to."""
    found = [row["shape"] for row in pick(rows, part=SWEEP)]
    return [shape for shape in dict.fromkeys(found) if found.count(shape) > 1]


def bypass_rate(rows: list[CellResult], k: int) -> float | None:
    """Share of steps that the bypass decides, mean of the tasks; None for a checkpoint asked in chat."""
    found = [row["bypassed"] for row in pick(rows, part=BYPASS, K=k) if "bypassed" in row.numbers]
    return round(mean(found), 3) if found else None


def one(rows: list[CellResult], part: str, shape: str, k: int) -> CellResult | None:
    return next(iter(pick(rows, part=part, shape=shape, K=k)), None)


def ms_per_token(rows: list[CellResult], part: str, shape: str, k: int) -> float | None:
    """Milliseconds per token of whole decodes. Block openings, the same work for all, count as greedy's."""
    own, greedy = one(rows, part, shape, k), one(rows, GREEDY_PART, shape, k)
    return own["ms_per_token"] - (own["opening_ms"] - greedy["opening_ms"]) / BLOCK if own and greedy else None


def overhead(rows: list[CellResult], part: str, shape: str, k: int) -> float | None:
    """How much more time per token than greedy decoding takes, as a share; None where either was not timed."""
    own, greedy = (ms_per_token(rows, each, shape, k) for each in (part, GREEDY_PART))
    return own / greedy - 1 if own is not None and greedy else None


def extra(sweep: list[CellResult]) -> float:
    """ε of Eq. 27 at the largest N, as a share of (N − 1) T_f."""
    first, last = sweep[0], sweep[-1]
    return float((last["ms_per_step"] / first["ms_per_step"] - 1) / (last["N"] - 1))


def over_greedy(rows: list[CellResult]) -> Table:
    lines = []
    for shape, k, part in product(shapes_of(rows), KS, (GREEDY_PART, AT_RATE, OFF)):
        row, more = one(rows, part, shape, k), overhead(rows, part, shape, k)
        if row and more is not None:
            paper = OVERHEAD.get((shape, k), {}) if part == AT_RATE else {}
            said = ", ".join(f"{name} +{mean} ± {spread}" for name, (mean, spread) in paper.items())
            numbers = [f"{row[name]:.2f}" for name in SHOWN] + [f"{ms_per_token(rows, part, shape, k):.2f}"]
            lines.append([shape, str(k), part, *numbers, percent(more), said or NONE])
    columns = ["shape", "K", "sampler", *SHOWN.values(), "ms/token", "over greedy %", "paper %"]
    title = "Info-Gain, N = 8, over greedy (entropy); ms/token counts block openings as greedy's"
    return Table(columns, lines, title=title)


def model_table(rows: list[CellResult], shape: str) -> Table:
    """Eq. 26–28: the cost model, its constants fitted to the steps' times by N."""
    sweep = pick(rows, part=SWEEP, shape=shape)
    n, ms = [row["N"] for row in sweep], [row["ms_per_step"] for row in sweep]
    base, each = line([x - 1 for x in n], ms)
    cached, attention = line([(x - 1) / x for x in n], ms)
    models = [(x * ms[0], base + (x - 1) * each, cached + (x - 1) / x * attention) for x in n]
    lines = [[f"{x}", *(f"{y:.2f}" for y in (own, *model))] for x, own, model in zip(n, ms, models, strict=True)]
    columns = [
        *("N", "ms/step"),
        f"Eq. 26: N · {ms[0]:.2f}",
        f"Eq. 27: {base:.2f} + (N − 1) · {each:.3f}",
        f"Eq. 28: {cached:.2f} + (N − 1)/N · {attention:.2f}",
    ]
    return Table(columns, lines, title=f"The cost model, {shape}, K = 1, no bypass")
