"""Write what comes with the package of MOSES's training molecules: reference.json and training.bloom.

    python tools/moses.py train.csv.gz test.csv.gz

Needs RDKit, and twenty minutes of processor time. The test molecules, none of which are in the training set, tell how
often the filter takes a stranger for a member.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Sequence

from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.bloom import BYTES, HASHES, BloomFilter
from infogain.zoo.molecules.distribution import compact
from infogain.zoo.molecules.smiles import read_smiles
from infogain.zoo.molecules.training_set import BLOOM_FILE, REFERENCE_FILE

CHUNK = 5000
POINTS, DIGITS = 1000, 4  # of a distribution that is not of whole numbers

Batch = tuple[list[str], list[chemistry.Properties]]  # canonical molecules, and what they are like


def describe(smiles: Sequence[str]) -> Batch:
    found = [own for one in smiles if (own := chemistry.describe(one))]
    return [own.canonical for own in found], [own.properties for own in found]


def describe_all(smiles: Sequence[str]) -> Batch:
    """All molecules of a file, by as many processes as there are cores."""
    chunks = [smiles[first : first + CHUNK] for first in range(0, len(smiles), CHUNK)]
    canonical: list[str] = []
    found: list[chemistry.Properties] = []
    with multiprocessing.get_context("spawn").Pool() as processes:
        for done, (own, their) in enumerate(processes.imap(describe, chunks), 1):
            canonical += own
            found += their
            print(f"\r{done} of {len(chunks)} chunks", end="", flush=True)
    print()
    return canonical, found


def main(train: str, test: str) -> None:
    smiles = read_smiles(train)
    canonical, found = describe_all(smiles)
    bloom, members = BloomFilter(), set(canonical)
    bloom.update(members)
    strangers = [own for one in read_smiles(test) if (own := chemistry.canonical(one)) and own not in members]
    table = {
        "source": "MOSES (molsets 0.3.1), train.csv.gz",
        "molecules": len(smiles),
        "changed_by_canonical_spelling": sum(one != own for one, own in zip(smiles, canonical, strict=True)),
        "rdkit": chemistry.rdkit_version(),
        "bloom": {
            "members": len(members),
            "bytes": BYTES,
            "hashes": HASHES,
            "false_positives_computed": bloom.false_positives,
            "false_positives_measured": sum(one in bloom for one in strangers) / len(strangers),
            "measured_on": len(strangers),
        },
        "distributions": {
            name: compact([getattr(one, name) for one in found], POINTS, DIGITS)
            for name in chemistry.Properties._fields
        },
    }
    bloom.save(BLOOM_FILE)
    REFERENCE_FILE.write_text(json.dumps(table, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in table.items() if key != "distributions"}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
