"""Memory against the number of candidates, and against the width of a beam."""

from __future__ import annotations

from infogain.evals.means import line
from infogain.report.numbers import percent
from infogain.report.paper import MEMORY
from infogain.report.plots import Figure, figure_legend, nth, tidy
from infogain.report.tables import Table
from infogain.samplers import InfoGain, InfoGainBeam
from infogain.studies.abstract_study import Check, Columns, Study, tabulate
from infogain.studies.cell import CellResult, Point, pick
from infogain.studies.methods import of_size
from infogain.studies.speed import GREEDY, MIB, mib, peaked, timed

N = 8
CANDIDATES, WIDTH = "candidates", "width"
COUNTS = {"K/V": "kv_bytes", "logits": "logits_bytes"}  # known on any device


class MemoryStudy(Study):
    """Fig. 10: memory of Info-Gain by N, of its beam by width.
    Table 8: one shared cache and N activations, against B caches.
    """

    name = "memory"
    title = "Memory of look-ahead"
    source = "App. F, Fig. 10 and Table 8"
    claim = (
        f"Candidates share one cache, so memory grows by activations alone: {MEMORY} % more at N = 8 (TraDo-8B, 512 "
        "tokens, block 16). A beam of B keeps B caches and evaluates B · N candidates."
    )
    figure_size = (10.0, 4.2)

    def points(self, size: str) -> list[Point]:
        shape = of_size(size, "tiny", "tiny", "sdar-8b")
        counts, widths = of_size(size, ((1, 8), (1, 2)), ((1, 2, 4, 8), (1, 2, 4)), ((1, 2, 4, 8, 16), (1, 2, 4, 8)))
        found = [Point({"part": "greedy", "shape": shape, "N": 1, "width": 1}, timed(shape, GREEDY))]
        for n in counts:
            cell = timed(shape, InfoGain(gamma=1.0, n=n))
            found.append(Point({"part": CANDIDATES, "shape": shape, "N": n, "width": 1}, cell))
        for width in widths:
            cell = timed(shape, InfoGainBeam(gamma=1.0, n=N, width=width))
            found.append(Point({"part": WIDTH, "shape": shape, "N": N, "width": width}, cell))
        return found

    def tables(self, rows: list[CellResult]) -> list[Table]:
        base = rows[0]["peak_bytes"]  # greedy comes first
        columns: Columns = {
            "part": lambda row: row["part"],
            "N": lambda row: str(row["N"]),
            "width": lambda row: str(row["width"]),
            "weights MiB": lambda row: mib(row["weight_bytes"]),
            "K/V MiB": lambda row: mib(row["kv_bytes"]),
            "logits MiB": lambda row: mib(row["logits_bytes"]),
            "peak MiB": lambda row: mib(row["peak_bytes"]),
            "over greedy %": lambda row: percent(row["peak_bytes"] / base - 1 if base else None),
        }
        return [tabulate(f"{rows[0]['shape']}, block 16, batch 1, no bypass", rows, columns)]

    def draw(self, figure: Figure, rows: list[CellResult]) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        counts = {**COUNTS, **({"peak, less the weights": "peak_bytes"} if peaked(rows) else {})}
        for axes, part, label in zip(panels, (CANDIDATES, WIDTH), ("N", "width"), strict=True):
            own = pick(rows, part=part)
            for i, (words, name) in enumerate(counts.items()):
                less = own[0]["weight_bytes"] if own and name == "peak_bytes" else 0
                axes.plot([row[label] for row in own], [(row[name] - less) / MIB for row in own], **nth(i), label=words)
            words = "candidates N" if part == CANDIDATES else f"width of the beam, N = {N} each"
            tidy(axes, xlabel=words, ylabel="MiB" if part == CANDIDATES else "")
        panels[0].set_ylim(bottom=0)
        figure_legend(figure, panels[0], 3)

    def checks(self, rows: list[CellResult]) -> list[Check]:
        sweep, beams = pick(rows, part=CANDIDATES), pick(rows, part=WIDTH)
        if len(sweep) < 2 or not beams:
            return []  # interrupted
        shared = {row["kv_bytes"] for row in sweep}
        ratios = [row["kv_bytes"] / beams[0]["kv_bytes"] for row in beams]
        found = [
            Check("Candidates share one K/V", len(shared) == 1, f"{', '.join(map(mib, sorted(shared)))} MiB at any N"),
            Check(
                "A beam of B keeps B caches",
                all(ratio == row["width"] for ratio, row in zip(ratios, beams, strict=True)),
                ", ".join(f"{row['width']}: × {ratio:.2f}" for ratio, row in zip(ratios, beams, strict=True)),
            ),
        ]
        return found + (peak_checks(rows[0], sweep, beams) if peaked(rows) else [])

    def summary(self, rows: list[CellResult]) -> list[str]:
        first = (pick(rows, part=CANDIDATES, N=N) or rows)[0]
        kv, logits = (mib(first[name]) for name in COUNTS.values())
        said = [f"N = {first['N']}: {kv} MiB of K/V, logits {logits} MiB."]
        if not peaked(rows):
            return [*said, "Peak memory is counted on a GPU only: here bytes of K/V and logits stand alone."]
        more = percent(first["peak_bytes"] / rows[0]["peak_bytes"] - 1)
        return [*said, f"Peak memory is {more} % above greedy's; in the paper {MEMORY} % at N = {N}."]


def peak_checks(greedy: CellResult, sweep: list[CellResult], beams: list[CellResult]) -> list[Check]:
    """The claims of Table 8, for a device that counts peaks."""
    n, peak = [row["N"] for row in sweep], [row["peak_bytes"] for row in sweep]
    _, each = line(n, peak)
    own = pick(sweep, N=N)[0]["peak_bytes"]
    more = own / greedy["peak_bytes"] - 1
    wide = beams[-1]
    beam, sampler = (peak - greedy["peak_bytes"] for peak in (wide["peak_bytes"], own))
    return [
        Check(f"N = {N} needs no more than the paper's {MEMORY} %", more <= MEMORY / 100, f"{percent(more)} %"),
        Check(
            "A candidate costs activations, less than 1 % of the weights",
            each < 0.01 * greedy["weight_bytes"],
            f"{mib(each)} MiB each",
        ),
        Check(
            f"A beam of {wide['width']} grows memory more than the sampler",
            beam > sampler,
            f"{mib(beam)} MiB over greedy against {mib(sampler)}",
        ),
    ]
