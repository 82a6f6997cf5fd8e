"""A model of molecules with random weights, and whether RDKit is there to judge them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch

from infogain.zoo.folder import save_model
from infogain.zoo.molecules.smiles import WIDTH
from infogain.zoo.trainer import Trainer, TrainingSettings

needs_rdkit = pytest.mark.skipif(importlib.util.find_spec("rdkit") is None, reason="RDKit is not installed")
SETTINGS = TrainingSettings(tasks="molecule", layers=1, width=16, heads=2, intermediate=16, rows=8, steps=4)
ASPIRIN, PARACETAMOL = "CC(=O)Oc1ccccc1C(=O)O", "CC(=O)Nc1ccc(O)cc1"


def random_model(folder: Path, card: bool = True) -> Path:
    """A folder such as training leaves, with weights that know nothing."""
    folder.mkdir(exist_ok=True)
    save_model(folder, Trainer(SETTINGS, {}, torch.device("cpu")).averaged, SETTINGS.alphabet, WIDTH)
    if card:
        (folder / "card.json").write_text(json.dumps({"data": {"molecule": "", "scaffold": ""}}))
    return folder
