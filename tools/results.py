"""Write docs/results.md from docs/results/*.json; with --check, only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from infogain.studies.page import build

DOCS = Path(__file__).parent.parent / "docs"


def main() -> int:
    page, text = DOCS / "results.md", build(DOCS / "results")
    if "--check" in sys.argv[1:]:
        if page.exists() and page.read_text(encoding="utf-8") == text:
            return 0
        print("docs/results.md is not what docs/results/*.json say; run `python tools/results.py`")
        return 1
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
