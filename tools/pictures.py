"""Draw docs/img/frontier.png, the README's picture, from the numbers of the study `frontier` that are committed."""

from __future__ import annotations

from pathlib import Path

from infogain.report import plots
from infogain.studies.findings import Evidence
from infogain.studies.frontier import draw_means

DOCS = Path(__file__).parent.parent / "docs"
SIZE = (12.0, 5.2)  # inches


def main() -> None:
    rows = Evidence(DOCS / "results").rows("frontier")
    plots.draw([DOCS / "img" / "frontier.png"], SIZE, lambda figure: draw_means(figure, rows))


if __name__ == "__main__":
    main()
