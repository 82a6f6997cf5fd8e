"""The problems of the task `scaffold`, which come with the package; `tools/scaffolds.py` made them from MOSES."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

SCAFFOLDS_FILE = Path(__file__).with_name("scaffolds.jsonl.gz")


class ScaffoldCanvas(NamedTuple):
    """A molecule whose scaffold is given."""

    scaffold: str  # its Bemis–Murcko scaffold, canonical
    canvas: str  # the tokens of the scaffold's atoms, rings and bonds; masks elsewhere
    smiles: str  # the molecule that it was cut from


@cache
def read_scaffolds() -> dict[str, list[ScaffoldCanvas]]:
    """The canvases of each split."""
    found: dict[str, list[ScaffoldCanvas]] = {}
    with gzip.open(SCAFFOLDS_FILE, "rt", encoding="ascii") as file:
        for line in file:
            split, *rest = json.loads(line)
            found.setdefault(split, []).append(ScaffoldCanvas(*rest))
    return found
