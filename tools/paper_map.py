"""Write docs/paper-map.md from the docstrings: where each equation, listing, table and figure of the paper lives.

A docstring that begins with "Eq. 4: …", "Listing 1: …", "Sec. 3.2.2, …", "Table 6, …" or "Fig. 2, …" is a tag.
`--check` fails when the file is out of date, when an item that belongs to the present scope has no tag, and when one
that is said to come later is there already: a source file speaks of it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LATER = "later: "
ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "infogain"
TARGET = ROOT / "docs" / "paper-map.md"

TAG = re.compile(r"^((?:Eq|Sec|Fig)\. [\d.]*\d(?:–\d+)?|Listing \d+|Table \d+)[:,]?\s*(.*)")

# What the paper numbers, and what it says there; the second part names the work that will bring what is missing.
ITEMS: dict[str, tuple[str, str]] = {
    "Sec. 2": ("masked diffusion models, their sampling", ""),
    "Eq. 1": ("greedy selection of the K most certain positions", ""),
    "Eq. 2": ("cumulative entropy H̃ and immediate cost C", ""),
    "Eq. 3": ("state uncertainty 𝓗", ""),
    "Eq. 4": ("information gain", ""),
    "Eq. 5": ("the objective J", ""),
    "Eq. 6": ("Uniform", ""),
    "Eq. 7": ("Confidence", ""),
    "Eq. 8": ("Entropy", ""),
    "Eq. 9": ("Margin", ""),
    "Eq. 10": ("KLASS", ""),
    "Eq. 11": ("PC-Sampler", ""),
    "Eq. 12": ("block diffusion", ""),
    "Eq. 13": ("LookUM", ""),
    "Eq. 14–17": ("Eq. 3–5 restated", "see Eq. 3–5"),
    "Eq. 18": ("expectations over drawn tokens", "`tests/laws/test_objective.py`"),
    "Eq. 19": ("Proposition 1: E[J] ≤ 0", "`tests/laws/test_objective.py`, [ADR 2](adr/0002-proposition-1.md)"),
    "Eq. 20–25": ("its proof", "—"),
    "Eq. 26–28": ("cost model", ""),
    "Sec. 3.1": ("case studies: one-way multiplication, judgement", ""),
    "Sec. 3.2.2": ("action sampler, evaluation, transition", ""),
    "Sec. 3.2.3": ("block restriction, high-confidence bypass", ""),
    "Sec. 5": ("limitations: adaptive branching", ""),
    "Listing 1": ("Info-Gain Sampler", ""),
    "Listing 2": ("Info-Gain Beam Search", ""),
    "Table 1": ("case study 2", ""),
    "Table 2": ("Dream", ""),
    "Table 3": ("SDAR and TraDo", ""),
    "Table 4": ("images", ""),
    "Table 5": ("creative writing", ""),
    "Table 6": ("unified view of samplers", ""),
    "Table 7": ("collapse steps", ""),
    "Table 8": ("memory scaling", ""),
    "Fig. 1": ("case study 1", ""),
    "Fig. 2": ("workflow", ""),
    "Fig. 3": ("H̃ trajectories and correlation", ""),
    "Fig. 4": ("beam sizes and best-of-N", ""),
    "Fig. 5": ("temperature sensitivity", ""),
    "Fig. 6": ("distribution of J", ""),
    "Fig. 7": ("five-step images", ""),
    "Fig. 8": ("their H̃", ""),
    "Fig. 9": ("threshold trade-off", ""),
    "Fig. 10": ("memory", ""),
}


class Place(NamedTuple):
    item: str
    path: str
    line: int
    name: str


def places() -> Iterator[Place]:
    """Every tagged docstring of the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                doc = ast.get_docstring(node) or ""
                name = "" if isinstance(node, ast.Module) else node.name
                line = 1 if isinstance(node, ast.Module) else node.lineno
                for sentence in re.split(r"(?<=[.:]) (?=Fig\.|Eq\.|Sec\.|Table)|\n", doc):
                    if tag := TAG.match(sentence.strip()):
                        yield Place(tag[1], path.relative_to(ROOT).as_posix(), line, name)


def render() -> str:
    found: dict[str, list[Place]] = {item: [] for item in ITEMS}
    for place in places():
        if place.item not in found:
            raise SystemExit(f"{place.path}:{place.line}: {place.item!r} is no item of the paper that ITEMS lists")
        found[place.item].append(place)
    lines = [
        "# Where the paper lives in the code",
        "",
        "Written by `make docs` from docstring tags; do not edit. The paper: arXiv 2602.18176.",
        "",
        "| paper | what | where |",
        "|---|---|---|",
    ]
    missing = []
    for item, (what, elsewhere) in ITEMS.items():
        links = [f"[`{_label(place)}`](../{place.path})" for place in found[item]]
        if not links and not elsewhere:
            missing.append(item)
        lines.append(f"| {item} | {what} | {', '.join(links) or elsewhere} |")
    if missing:
        raise SystemExit(f"no docstring is tagged with {', '.join(missing)}")
    if early := [item for item, (_, elsewhere) in ITEMS.items() if elsewhere.startswith(LATER) and _spoken_of(item)]:
        raise SystemExit(f"{', '.join(early)} is said to come later, and the code speaks of it: tag what makes it")
    return "\n".join(lines) + "\n"


def _spoken_of(item: str) -> bool:
    return any(re.search(rf"{re.escape(item)}\b", path.read_text()) for path in SOURCE.rglob("*.py"))


def _label(place: Place) -> str:
    module = place.path.removeprefix("src/infogain/").removesuffix(".py").replace("/", ".")
    return f"{module}.{place.name}" if place.name else module


def main() -> None:
    text = render()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != text:
            raise SystemExit(f"{TARGET.relative_to(ROOT)} is out of date; run `make docs`")
        print(f"{TARGET.relative_to(ROOT)} is complete and up to date")
    else:
        TARGET.write_text(text)
        print(f"wrote {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
