"""Write docs/results.md and docs/speed.md from the numbers committed; with --check, say whether they are up to date.

Studies' JSON that was copied to docs/results is packed there first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from infogain.bench.speed_page import build as build_speed
from infogain.studies.results_page import FIRST_EDITION
from infogain.studies.results_page import build as build_results
from infogain.studies.study_files import pack_records

ROOT = Path(__file__).parent.parent
RESULTS, SPEED = ROOT / "docs" / "results.md", ROOT / "docs" / "speed.md"
RECORDS = ROOT / "docs" / "results"
FIRST = RECORDS / "first-edition"


def main() -> int:
    check = "--check" in sys.argv[1:]
    if not check:
        pack_records(RECORDS)
    pages = {
        RESULTS: build_results(RECORDS),
        FIRST.with_suffix(".md"): build_results(FIRST, FIRST_EDITION),
        SPEED: build_speed(SPEED.read_text(encoding="utf-8"), ROOT / "benchmarks" / "results"),
    }
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
    if check:
        for page in stale:
            print(f"{page.relative_to(ROOT)} is not what the numbers say; run `python tools/results.py`")
        return int(bool(stale))
    for page in stale:
        page.write_text(pages[page], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
