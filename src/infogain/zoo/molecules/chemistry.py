"""What RDKit, an extra, says of a molecule; it is imported when it is first asked."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from infogain.errors import InputError
from infogain.zoo.molecules.smiles import token_count

FINGERPRINT = 1024  # bits
NEEDS_RDKIT = "judging and drawing molecules needs RDKit: pip install 'infogain[molecules]'."


def is_installed() -> bool:
    try:
        rdkit_chem()
    except InputError:
        return False
    return True


@cache
def rdkit_chem() -> Any:
    """RDKit's `Chem`, with its warnings turned off: what it cannot read is counted, not told."""
    try:
        from rdkit import Chem, RDLogger
    except ModuleNotFoundError as error:
        raise InputError(NEEDS_RDKIT) from error
    RDLogger.DisableLog("rdApp.*")
    return Chem


def parse(smiles: str) -> Any | None:
    """The molecule, or None where RDKit cannot read it as one, or where there is no atom."""
    found = rdkit_chem().MolFromSmiles(smiles)
    return found if found is not None and found.GetNumAtoms() else None


def canonical(smiles: str) -> str | None:
    """The SMILES that all spellings of a molecule share; None where it is none."""
    found = parse(smiles)
    return None if found is None else str(rdkit_chem().MolToSmiles(found))


def scaffold_of(smiles: str) -> str | None:
    """The Bemis–Murcko scaffold, as RDKit has it (with the atoms that a double bond ties to it), canonical.

    None where there is no molecule; empty where a molecule has no ring.
    """
    found = parse(smiles)
    if found is None:
        return None
    from rdkit.Chem.Scaffolds import MurckoScaffold

    return str(rdkit_chem().MolToSmiles(MurckoScaffold.GetScaffoldForMol(found)))


def contains(smiles: str, scaffold: str) -> bool:
    """Is this a molecule with that substructure?"""
    found = parse(smiles)
    return found is not None and bool(found.HasSubstructMatch(parse(scaffold)))


class Properties(NamedTuple):
    """Numbers of a molecule whose distributions are compared with the training set's."""

    length: int  # tokens of the text
    weight: float  # daltons
    logp: float  # Crippen's estimate of how it parts between octanol and water
    rings: int


class Described(NamedTuple):
    """A text that is a molecule, and what its molecule is like."""

    canonical: str
    properties: Properties
    fingerprint: bytes  # Morgan's of radius 2, one byte for each of its 1,024 bits


def describe(smiles: str) -> Described | None:
    """Everything that the metrics need to know of a text; None where it is no molecule."""
    found = parse(smiles)
    if found is None:
        return None
    from rdkit.Chem import Descriptors, rdMolDescriptors

    logp, _ = rdMolDescriptors.CalcCrippenDescriptors(found)
    rings = rdMolDescriptors.CalcNumRings(found)
    own = Properties(token_count(smiles), Descriptors.MolWt(found), logp, rings)
    bits = _morgan().GetFingerprintAsNumPy(found).astype("uint8").tobytes()
    return Described(str(rdkit_chem().MolToSmiles(found)), own, bits)


@cache
def _morgan() -> Any:
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=FINGERPRINT)


def rdkit_version() -> str:
    rdkit_chem()
    from rdkit import rdBase

    return str(rdBase.rdkitVersion)
