"""The generated part of docs/speed.md: what is counted from the shapes, and what was measured, from committed JSON."""

from __future__ import annotations

import json
from pathlib import Path

from infogain.bench.limits import columns_in_balance, operations
from infogain.bench.records import COSTS, TIMES, criteria, listing, measured
from infogain.bench.shapes import SHAPES
from infogain.bench.suites import JUDGED
from infogain.options import Plain
from infogain.report.numbers import grouped
from infogain.report.tables import Table, as_markdown, legend_in_markdown

MARK = "<!-- What follows is written by tools/results.py; do not edit. -->\n"
BLOCK, N, CONTEXT = 16, 8, 512
NOTHING = "## Measured\n\nNo results are here yet.\n"


def build(page: str, folder: Path) -> str:
    """The page with its generated part made anew from the folder's bench-*.json."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("bench-*.json"))]
    head = f"Counted from the shapes, weights in bfloat16, blocks of {BLOCK} on {CONTEXT} cached columns:\n"
    parts = [page.split(MARK)[0] + MARK, head, *shown([counted()]), *([section(r) for r in records] or [NOTHING])]
    return "\n".join(parts).rstrip() + "\n"


def counted() -> Table:
    """Bytes and operations of a step of the published shapes."""
    rows = []
    for name, spec in SHAPES.items():
        head = 0 if spec.tied else spec.vocab_size * spec.hidden
        live = BLOCK + spec.shift
        work = (operations(spec, n * live, n * BLOCK, CONTEXT + BLOCK) / 1e12 for n in (1, N))
        numbers = (2e-9 * (spec.parameters - head), 2e-6 * spec.kv_numbers(CONTEXT), *work)
        if name != "tiny":
            rows.append([name, *(grouped(number, 2) for number in numbers), f"{live}", f"{N * live}"])
    each = [f"{what}, {who}" for what in ("10¹² operations", "columns") for who in ("greedy", f"N = {N}")]
    return Table(["shape", "weights read, GB", "K/V, MB", *each], rows)


def section(record: Plain) -> str:
    runs = record["cases"]
    suite = "" if record["suite"] in (None, JUDGED) else f", suite {record['suite']}"
    about = [f"## Measured: {record['device']}{suite}\n", f"torch {record['versions']['torch']}. {limits(runs)}\n"]
    judged = [measured(criteria(runs))] if record["suite"] == JUDGED else []
    tables = [*judged, listing(runs, TIMES), listing(runs, COSTS)]
    left_out = [f"{name} was left out: {reason}\n" for name, reason in record["skipped"].items()]
    return "\n".join([*about, *shown(tables), *left_out])


def shown(tables: list[Table]) -> list[str]:
    """The tables, and below them what their columns mean."""
    return [*map(as_markdown, tables), legend_in_markdown(*tables)]


def limits(runs: dict[str, Plain]) -> str:
    """One sentence for each shape that was run."""
    said = {}
    for numbers in runs.values():
        shape, found = numbers["case"]["shape"], numbers["limits"]
        reading = f"weights read in {found['reading_ms']:.2f} ms ({found['read_bytes_per_s'] / 1e9:,.0f} GB/s)"
        products = f"products at {found['matmul_flops_per_s'] / 1e12:,.1f} · 10¹² a second"
        balance = f", in balance at {columns_in_balance(SHAPES[shape], found):.0f} columns" if shape in SHAPES else ""
        said[shape] = f"{shape} ({found['dtype']}): {reading}, {products}{balance}."
    return " ".join(said.values())
