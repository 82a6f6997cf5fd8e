"""What RDKit, an extra, says of a molecule; it is imported when it is first asked."""

from __future__ import annotations

from functools import cache
from typing import Any

from infogain.errors import InputError

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
    from rdkit.Chem.Scaffolds import MurckoScaffold

    found = parse(smiles)
    return None if found is None else str(rdkit_chem().MolToSmiles(MurckoScaffold.GetScaffoldForMol(found)))


def contains(smiles: str, scaffold: str) -> bool:
    """Is this a molecule with that substructure?"""
    found = parse(smiles)
    return found is not None and bool(found.HasSubstructMatch(parse(scaffold)))
