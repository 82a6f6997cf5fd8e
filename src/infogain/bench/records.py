"""The record of a bench: JSON with everything, and its tables: cases, criteria, comparisons."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch

from infogain.bench.criteria import verdict
from infogain.bench.suites import JUDGED
from infogain.errors import InputError
from infogain.options import Plain
from infogain.provenance import versions
from infogain.report.numbers import NONE, grouped, six_digits
from infogain.report.tables import Table

FILE = "bench.json"
MIB = 2**20


# what is shown of a case: the number's name, and the factor and digits it is shown with
Shown = dict[str, tuple[str, float, int]]
TIMES: Shown = {
    "ms/step": ("ms_per_step", 1, 2),
    "forward": ("forward_ms", 1, 2),
    "opening": ("opening_ms", 1, 2),
    "tokens/s": ("tokens_per_s", 1, 0),
    "× reading": ("over_reading", 1, 2),
    "% matmul": ("of_matmul_rate", 100, 1),
}
COSTS: Shown = {
    "forwards": ("calls", 1, 0),
    "token-forwards": ("token_forwards", 1, 0),
    "peak MiB": ("peak_bytes", 1 / MIB, 0),
    "K/V MiB": ("kv_bytes", 1 / MIB, 2),
    "start-up s": ("start_up_s", 1, 2),
}
# what a comparison looks at, and whether less is better
COMPARED = {
    "calls": True,
    "token_forwards": True,
    "ms_per_step": True,
    "forward_ms": True,
    "tokens_per_s": False,
    "peak_bytes": True,
    "kv_bytes": True,
    "over_reading": True,
    "of_matmul_rate": False,
}
NOISE, CPU_NOISE = 0.05, 0.25  # changes of a time up to that are none
EXACT = ("calls", "token_forwards", "kv_bytes")  # are counted and have none
UNEVEN = 1.5  # a mean so far above the median: something else was going on


def record(runs: Mapping[str, Plain], skipped: Mapping[str, str], suite: str | None, device: torch.device) -> Plain:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU"
    return {
        "suite": suite,
        "device": name,
        "kind": device.type,
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "criteria": [list(row) for row in criteria(runs).rows] if suite == JUDGED else [],
        "skipped": dict(skipped),
        "cases": dict(runs),
    }


def save(found: Plain, path: Path) -> None:
    path.write_text(json.dumps(six_digits(found), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Plain:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["cases"], dict):
            raise TypeError("cases are no table")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"a comparison needs files that `infogain bench` wrote; {path} is none: {error}.") from error
    return dict(found)


def listing(runs: Mapping[str, Plain], what: Shown) -> Table:
    rows = [
        [name, *(grouped(numbers.get(key), digits, factor) for key, factor, digits in what.values())]
        for name, numbers in runs.items()
    ]
    return Table(["case", *what], rows)


def ratios(runs: Mapping[str, Plain]) -> Table:
    """A table of every case's numbers over those of the first."""
    what = {**TIMES, **COSTS}
    keys = {
        title: what[title][0] for title in ("ms/step", "forward", "tokens/s", "token-forwards", "peak MiB", "K/V MiB")
    }
    first = next(iter(runs.values()))
    rows = [[name, *(_ratio(own.get(key), first.get(key)) for key in keys.values())] for name, own in runs.items()]
    return Table(["over the first", *keys], rows)


def tables(found: Plain) -> list[Table]:
    """The tables of a record: times, costs, ratios, and of the judged suite its criteria."""
    runs = found["cases"]
    if not runs:
        return []
    every = criteria(runs)
    judged = [measured(every)] if found["suite"] == JUDGED and measured(every).rows else []
    return [listing(runs, TIMES), listing(runs, COSTS), ratios(runs), *judged]


def heading(found: Plain) -> str:
    """A sentence on what ran: the device, and the settings that all cases share."""
    settings = [numbers["case"] for numbers in found["cases"].values()]
    shared = {key: value for key, value in settings[0].items() if all(own[key] == value for own in settings)}
    told = [f"{key} {value}" for key, value in shared.items() if key not in ("sampler", "engine") and value is not None]
    threads = found["threads"]
    cores = f", {threads} thread{'s' * (threads > 1)}" if found["kind"] == "cpu" else ""
    return (
        f"{found['device']}{cores}, torch {found['versions']['torch']}. In all cases: {', '.join(told) or 'nothing'}."
    )


def warnings(found: Plain) -> list[str]:
    """Sentences on cases whose times are not to be trusted."""
    said = []
    for name, numbers in found["cases"].items():
        mean, median = numbers["ms_per_step"], numbers["median_ms_per_step"]
        if mean > UNEVEN * median:
            said.append(
                f"{name}: a step took {mean:.2f} ms in the mean and {median:.2f} in the median, so something else was "
                "running. Measure again on an idle machine; on a busy CPU OMP_NUM_THREADS=1 helps."
            )
    return said


def _ratio(value: float | None, base: float | None) -> str:
    return NONE if value is None or not base else f"{value / base:.2f}"


def criteria(runs: Mapping[str, Plain]) -> Table:
    rows = []
    for criterion, value in verdict(runs):
        wanted = f"{'≤' if criterion.at_most else '≥'} {criterion.wanted:g}"
        if value is None:
            rows.append([criterion.words, wanted, "not measured", NONE])
        else:
            rows.append([criterion.words, wanted, f"{value:.3f}", "yes" if criterion.holds(value) else "no"])
    return Table(["criterion", "wanted", "measured", "holds"], rows)


def measured(criteria: Table) -> Table:
    """The criteria whose cases were run."""
    return replace(criteria, rows=[row for row in criteria.rows if row[-1] != NONE])


def compare(old: Plain, new: Plain) -> Table:
    """A table of new over old for each case and number that both have; changes of times are marked above the noise."""
    rows = []
    noise = NOISE if all(found.get("kind", "cuda") == "cuda" for found in (old, new)) else CPU_NOISE
    for name in [name for name in old["cases"] if name in new["cases"]]:
        before, after = old["cases"][name], new["cases"][name]
        for key, less_is_better in COMPARED.items():
            if before.get(key) and after.get(key):
                change = after[key] / before[key]
                better = (change < 1) == less_is_better
                small = abs(change - 1) <= (0 if key in EXACT else noise)
                mark = "" if small else "better" if better else "worse"
                both = (f"{numbers[key]:.6g}" for numbers in (before, after))
                rows.append([name, key.replace("_", " "), *both, f"{change:.3f}", mark])
    if not rows:
        raise InputError("the two files have no case in common; compare runs of the same suite or flags.")
    return Table(["case", "number", "old", "new", "new / old", "change"], rows)
