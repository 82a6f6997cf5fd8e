"""Molecules as a picture: a grid of cells, drawn by RDKit, with what made it in the file's metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

from infogain.options import Plain
from infogain.zoo.molecules.chemistry import parse, rdkit_chem
from infogain.zoo.molecules.smiles import molecule_of

COLUMNS, CELL = 4, (320, 240)  # cells in a row, and the pixels of each
LETTER, LETTERS = 14, 40  # height of a letter, and how many fit into a cell


def draw_grid(path: Path, texts: Sequence[str], about: Plain) -> None:
    """Draw texts as molecules into a PNG file, each with its text; a cell says where one is none."""
    rdkit_chem()
    from PIL import Image, ImageDraw, PngImagePlugin
    from rdkit.Chem.Draw import rdMolDraw2D

    smiles = [molecule_of(text) for text in texts]
    found = [parse(one) for one in smiles]
    columns = min(COLUMNS, len(texts))
    rows = -(-len(texts) // columns)
    canvas = rdMolDraw2D.MolDraw2DCairo(columns * CELL[0], rows * CELL[1], *CELL)
    canvas.drawOptions().legendFontSize = LETTER
    canvas.drawOptions().fixedBondLength = 30  # so that a small molecule is not drawn large
    canvas.DrawMolecules(found, legends=[short(one) for one in smiles])
    canvas.FinishDrawing()
    picture = Image.open(io.BytesIO(canvas.GetDrawingText()))
    pen = ImageDraw.Draw(picture)
    for i, one in enumerate(smiles):
        if found[i] is None:  # RDKit leaves such a cell empty
            middle = ((i % columns + 0.5) * CELL[0], (i // columns + 0.5) * CELL[1])
            said = f"no molecule\n{short(one)}" if one else "no molecule\n(empty)"
            pen.text(middle, said, "#B00020", font_size=LETTER, anchor="mm", align="center")
    words = PngImagePlugin.PngInfo()
    words.add_itxt("infogain", json.dumps({**about, "texts": list(texts)}, ensure_ascii=False))
    picture.save(path, pnginfo=words)


def short(smiles: str) -> str:
    """A text that fits into a cell."""
    return smiles if len(smiles) <= LETTERS else f"{smiles[: LETTERS - 3]}..."
