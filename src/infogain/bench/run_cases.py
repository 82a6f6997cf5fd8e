"""Cases run one after the other. In a suite, those that cannot run are named with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from infogain.bench import records
from infogain.bench.cases import Case
from infogain.bench.measure import Bench
from infogain.errors import InputError
from infogain.options import Plain

Tell = Callable[[str, str], None]  # the case, and what is being done or came out


def run_cases(bench: Bench, cases: Mapping[str, Case], suite: str | None, out: Path | None, tell: Tell) -> Plain:
    """The record of all of them; written after each case, so that an interrupted run keeps what it has."""
    runs: dict[str, Plain] = {}
    skipped: dict[str, str] = {}
    found = records.record(runs, skipped, suite, bench.device)
    for name, case in cases.items():
        try:
            runs[name] = bench.run(case, lambda what, name=name: tell(name, what))  # type: ignore[misc]
            tell(name, "")
        except (InputError, ModuleNotFoundError) as error:
            if suite is None:
                raise
            skipped[name] = str(error)
            tell(name, f"skipped: {error}")
        found = records.record(runs, skipped, suite, bench.device)
        if out:
            records.save(found, out / records.FILE)
    return found
