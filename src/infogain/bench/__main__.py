"""`python -m infogain.bench --suite judged --out DIR`: a suite with torch alone, for a machine without more."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from infogain.bench import records
from infogain.bench.cases import ENGINE
from infogain.bench.measure import Bench
from infogain.bench.run_cases import run_cases
from infogain.bench.suites import SUITES, load_suite
from infogain.errors import InfoGainError, InputError
from infogain.models.backbone.graphs import ENGINES
from infogain.report.tables import as_text


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_arguments(arguments)
    if options.compare:
        print(as_text(records.compare(*map(records.load, options.compare))))
        return
    cases = load_suite(options.suite, options.engine)
    if options.only:
        cases = {name: case for name, case in cases.items() if any(word in name for word in options.only)}
    if options.out and (options.out / records.FILE).exists() and not options.overwrite:
        raise InputError(f"{options.out / records.FILE} exists. Name another folder, or add --overwrite.")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    bench, began = Bench(options.device, options.decodes), time.perf_counter()
    if options.profile:
        bench.profile(next(iter(cases.values())), options.profile)
        return

    def tell(name: str, what: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {name}: {what or 'done'}", flush=True)

    found = run_cases(bench, cases, options.suite, options.out, tell)
    if found["cases"]:
        print(records.heading(found), *map(as_text, records.tables(found)), *records.warnings(found), sep="\n\n")


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infogain.bench", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--suite", choices=SUITES, default="quick")
    parser.add_argument("--out", type=Path, help=f"folder for {records.FILE}")
    parser.add_argument("--overwrite", action="store_true", help="replace results that are there")
    parser.add_argument("--device", help="cpu or cuda; unset: the GPU where there is one")
    parser.add_argument("--decodes", type=int, default=2, help="decodes that are timed, per case")
    engines = (ENGINE, *ENGINES)
    parser.add_argument("--engine", choices=engines, default=ENGINE, help="default: graphs on a GPU, eager elsewhere")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose name holds one of these words")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="write a trace of the first case instead")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two files of results instead")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        main()
    except InfoGainError as error:
        raise SystemExit(f"error: {error}") from None
