"""Draw pictures of the docs: frontier.png, the README's, from the committed numbers of the study `frontier`,
images-5-steps.png, what samplers make of each class of `zoo:tiny-image` in five steps (Pillow is needed for it), and
molecules.png, the first molecules that `zoo:tiny-molecule` writes from seed 0 (RDKit is needed for it)."""

from __future__ import annotations

from pathlib import Path

from infogain.report import plots
from infogain.studies.findings import Evidence
from infogain.studies.frontier import draw_means
from infogain.studies.shipped_images import draw_five_steps
from infogain.studies.shipped_samples import draw_molecules, write_molecules
from infogain.zoo.molecules.chemistry import NEEDS_RDKIT, is_installed

DOCS = Path(__file__).parent.parent / "docs"
SIZE = (12.0, 5.2)  # inches
MOLECULES = 12


def main() -> None:
    rows = Evidence(DOCS / "results").rows("frontier")
    plots.draw([DOCS / "img" / "frontier.png"], SIZE, lambda figure: draw_means(figure, rows))
    draw_five_steps(DOCS / "img" / "images-5-steps.png")
    if is_installed():
        draw_molecules(write_molecules(MOLECULES), DOCS / "img" / "molecules.png")
    else:
        print(f"molecules.png stays as it is: {NEEDS_RDKIT}")


if __name__ == "__main__":
    main()
