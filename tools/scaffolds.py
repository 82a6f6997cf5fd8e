"""Write src/infogain/zoo/molecules/scaffolds.jsonl.gz: canvases with a scaffold given, cut from molecules of MOSES.

    python tools/scaffolds.py test_scaffolds.csv.gz

Needs RDKit. Molecules come in the order of their hashes, and no scaffold comes twice. Given are the tokens of the
scaffold's atoms, the ring numbers behind them, and bonds and brackets between two of them; masks are the side chains
and, behind the molecule, up to eight columns more, so that its length may change.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from hashlib import blake2b

from infogain.text.alphabet import EOS, MASK
from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.scaffolds import SCAFFOLDS_FILE
from infogain.zoo.molecules.smiles import ALPHABET, WIDTH, read_smiles

COUNTS = {"test": 600, "validation": 250}
SPARE = 8  # columns behind a molecule that are masked
SIDE_CHAIN = 6  # tokens that are masked at least
ATOM = re.compile(r"[A-Za-z]|\[")


def canvas_of(smiles: str) -> str | None:
    """The canvas of a molecule; None where too little is to be written or no ring is there."""
    tokens = [ALPHABET.word(i) for i in ALPHABET.encode(smiles)]
    if "[H]" in tokens:  # RDKit takes these away, and numbers the atoms without them
        return None
    given = given_tokens(tokens, scaffold_atoms(smiles))
    if tokens and any(given) and given.count(False) >= SIDE_CHAIN:
        shown = [token if kept else MASK for token, kept in zip(tokens, given, strict=True)]
        spare = min(SPARE, WIDTH - len(tokens))
        return "".join(shown) + MASK * spare + EOS * (WIDTH - len(tokens) - spare)
    return None


def scaffold_atoms(smiles: str) -> set[int]:
    """The atoms of the Bemis–Murcko scaffold, by their numbers in the text."""
    from rdkit.Chem.Scaffolds import MurckoScaffold

    molecule = chemistry.parse(smiles)
    assert molecule is not None
    for atom in molecule.GetAtoms():
        atom.SetIntProp("number", atom.GetIdx())
    return {atom.GetIntProp("number") for atom in MurckoScaffold.GetScaffoldForMol(molecule).GetAtoms()}


def given_tokens(tokens: list[str], scaffold: set[int]) -> list[bool]:
    """Which tokens stay: those of scaffold atoms, and of what ties one of them to another."""
    given = [False] * len(tokens)
    previous: int | None = None  # the atom that the next one is tied to
    branches: list[tuple[int | None, int]] = []  # the atom before each open bracket, and the bracket's column
    between: list[int] = []  # columns since the last atom: bonds, and a bracket that opens
    atoms = 0
    for column, token in enumerate(tokens):
        if ATOM.match(token):
            kept = atoms in scaffold
            for at in between:
                given[at] = kept and previous in scaffold
            given[column], previous, between, atoms = kept, atoms, [], atoms + 1
        elif token == "(":
            branches.append((previous, column))
            between.append(column)
        elif token == ")":
            previous, opened = branches.pop()
            given[column], between = given[opened], []
        elif token.isdigit():
            given[column] = previous in scaffold
        else:
            between.append(column)
    return given


def main(path: str) -> None:
    ordered = sorted(set(read_smiles(path)), key=lambda smiles: blake2b(smiles.encode(), digest_size=8).digest())
    wanted = [split for split, count in COUNTS.items() for _ in range(count)]
    lines: dict[str, str] = {}
    for smiles in ordered:
        canvas, scaffold = canvas_of(smiles), chemistry.scaffold_of(smiles)
        if canvas and scaffold and scaffold not in lines:
            assert chemistry.contains(smiles, scaffold)
            lines[scaffold] = json.dumps([wanted[len(lines)], scaffold, canvas, smiles]) + "\n"
        if len(lines) == len(wanted):
            break
    with gzip.GzipFile(SCAFFOLDS_FILE, "wb", mtime=0) as file:
        file.write("".join(lines.values()).encode())
    print(f"{len(lines)} canvases → {SCAFFOLDS_FILE}, {SCAFFOLDS_FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
