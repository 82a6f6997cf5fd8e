"""Molecules: `Cc1ccccc1~~~~`, any SMILES that is one, from nothing or around a scaffold that is given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random

from torch import Tensor

from infogain.errors import InputError
from infogain.zoo.molecules import chemistry
from infogain.zoo.molecules.scaffolds import read_scaffolds
from infogain.zoo.molecules.smiles import ALPHABET, CANVAS, WIDTH, encode_all, molecule_of, padded, read_smiles
from infogain.zoo.tasks.problem import FileTask, Problem, split_of

TEST_FILE = "test.csv.gz"  # beside the training file
EXAMPLE = "CC(=O)Nc1ccc(O)cc1"  # of a solution


class Molecule(FileTask):
    """Any molecule. Nothing is given, so there is one problem; the check is that RDKit can read it.

    The texts are those of MOSES. Its own test molecules are the test split, and those of its training molecules that
    `split_of` holds out are for validation. What stands behind the first end mark of a text does not count.
    """

    alphabet = ALPHABET
    name = "molecule"
    about = "write a molecule as SMILES"
    source = "MOSES's train.csv.gz"
    tag = ""
    width = WIDTH
    unconditional = True
    many = True
    version = 2  # the last end mark is given

    def texts(self, data: Path, split: str) -> Tensor:
        return encode_all(molecules(self.name, data, split))

    def draw(self, rng: Random) -> Problem:
        return Problem("any", CANVAS, padded(EXAMPLE))

    def missing(self) -> str | None:
        return None if chemistry.is_installed() else chemistry.NEEDS_RDKIT

    def right(self, problem: Problem, text: str) -> bool:
        return chemistry.canonical(molecule_of(text)) is not None

    def form(self, answer: str) -> str:
        smiles = molecule_of(answer)
        return chemistry.canonical(smiles) or smiles

    def chat(self, problem: Problem) -> str:
        return "Write one drug-like molecule as SMILES. Answer with the SMILES only."

    def answer_in(self, reply: str) -> str:
        return reply.split()[-1] if reply.split() else ""

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return chemistry.canonical(self.answer_in(reply)) is not None


class Scaffold(Molecule):
    """Complete a molecule of which the scaffold is given, and side chains and the end are not.

    A text is right if it is a molecule that has the scaffold as a substructure; what is written may tie further rings
    to it. The identity is the scaffold. The problems come with the package: molecules of MOSES's scaffold test set, no
    scaffold of which is in its training set.
    """

    name = "scaffold"
    about = "complete a molecule around a scaffold that is given"
    unconditional = False
    taught_by = "molecule"

    @cached_property
    def _problems(self) -> dict[str, list[Problem]]:
        return {
            split: [Problem(one.scaffold, one.canvas, padded(one.smiles)) for one in found]
            for split, found in read_scaffolds().items()
        }

    def draw(self, rng: Random) -> Problem:
        return rng.choice([problem for found in self._problems.values() for problem in found])

    def split(self, problem: Problem) -> str:
        return next((split for split, found in self._problems.items() if problem in found), "train")

    def sample(self, rng: Random, split: str, posed: bool = True) -> Problem:
        return rng.choice(self._of(split))

    def problems(self, count: int, split: str, seed: int = 0) -> list[Problem]:
        found = self._of(split)
        if count > len(found):
            raise InputError(f"scaffold has {len(found)} {split} problems; got a call for {count}. Ask for fewer.")
        return found[:count] if seed == 0 else Random(f"{self.name} {split} {seed}").sample(found, count)

    def _of(self, split: str) -> list[Problem]:
        if split not in self._problems:
            raise InputError(
                f"scaffold has problems for {' and '.join(self._problems)}; got {split!r}. "
                "It is learnt from the texts of molecule."
            )
        return self._problems[split]

    def right(self, problem: Problem, text: str) -> bool:
        return chemistry.contains(molecule_of(text), problem.identity)

    def chat(self, problem: Problem) -> str:
        return f"Write a drug-like molecule as SMILES that contains {problem.identity}. Answer with the SMILES only."

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return chemistry.contains(self.answer_in(reply), problem.identity)


def molecules(name: str, data: Path, split: str) -> Sequence[str]:
    """The molecules of a split: those of the training file, without or only what is held out, or of the test file."""
    if split == "test":
        return read_smiles(data.with_name(TEST_FILE))
    held_out = split == "validation"
    return [smiles for smiles in read_smiles(data) if (split_of(name, smiles) == "validation") == held_out]
