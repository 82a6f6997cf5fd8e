"""SMILES in tokens: the alphabet of `tiny-molecule`, and files of MOSES as tensors."""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.text.alphabet import EOS, MASK, Alphabet

# Every token of MOSES's 1.9 million molecules, the most frequent first: atoms, bonds, branches and ring numbers.
TOKENS = (
    *("c", "C", "(", ")", "1", "O", "2", "N", "=", "n", "3", "F"),
    *("-", "S", "s", "o", "Cl", "[nH]", "#", "4", "Br", "5", "[H]", "6"),
)
ALPHABET = Alphabet((*TOKENS, EOS, MASK), closed=True)
WIDTH = 56  # columns of a canvas; the longest molecule of MOSES has 54 tokens, and two ends are left to it
CANVAS = MASK * (WIDTH - 1) + EOS
HEADER = b"SMILES"
FIRST_PRIVATE, STRANGE, NEWLINE = 0x80, 0xFE, 0xFF  # bytes that no SMILES has
ANY_TOKEN = re.compile(r"\[[^\]]*\]|Cl|Br|.")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


def padded(smiles: str) -> str:
    """A canvas's text: the molecule, and end marks in all columns behind it."""
    return smiles + EOS * (WIDTH - len(ALPHABET.encode(smiles)))


def token_count(smiles: str) -> int:
    """How many tokens a molecule has; one in square brackets counts as a token, known or not."""
    return len(ANY_TOKEN.findall(smiles))


def molecule_of(text: str) -> str:
    """The molecule that a text holds: what stands before its first end mark."""
    return text.partition(EOS)[0]


def read_smiles(path: str | Path) -> list[str]:
    """The molecules of a file: one per line, or the first column of a CSV file; .gz and .xz are unpacked."""
    try:
        with OPENERS.get(Path(path).suffix, open)(path, "rb") as file:
            raw: bytes = file.read()
        lines = raw.decode("ascii").split()
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as error:
        raise InputError(
            f"a file of molecules must hold a SMILES per line; {path} could not be read: {error}."
        ) from error
    if b"," in raw:
        lines = [line.partition(",")[0] for line in lines]
    found = lines[1:] if lines and lines[0] == HEADER.decode() else lines
    if not found:
        raise InputError(f"a file of molecules must hold a SMILES per line; {path} is empty.")
    return found


def encode_all(smiles: Sequence[str]) -> Tensor:
    """Encode molecules, each in a canvas of its own: a million takes a second. [molecules, WIDTH], uint8"""
    raw = ("\n".join(smiles) + "\n").encode("ascii", "replace")
    single = [token.encode() if len(token) == 1 else bytes([FIRST_PRIVATE + i]) for i, token in enumerate(TOKENS)]
    for token, byte in zip(TOKENS, single, strict=True):
        raw = raw.replace(token.encode(), byte)  # of several characters: they share none with others' beginnings
    table = bytearray([STRANGE] * 256)
    for i, byte in enumerate(single):
        table[byte[0]] = i
    table[ord("\n")] = NEWLINE
    flat = torch.frombuffer(bytearray(raw.translate(table)), dtype=torch.uint8)
    ends = (flat == NEWLINE).nonzero().flatten()
    lengths = ends.diff(prepend=torch.tensor([-1])) - 1
    _check(smiles, flat, ends, lengths)
    rows = torch.full((len(smiles), WIDTH), ALPHABET.eos_id, dtype=torch.uint8)
    return rows.masked_scatter_(torch.arange(WIDTH) < lengths[:, None], flat[flat != NEWLINE])


def _check(smiles: Sequence[str], flat: Tensor, ends: Tensor, lengths: Tensor) -> None:
    strange = (flat == STRANGE).nonzero().flatten()
    wrong = int(torch.searchsorted(ends, strange[0])) if len(strange) else None
    if wrong is None and bool((lengths > WIDTH).any()):
        wrong = int((lengths > WIDTH).nonzero()[0])
    if wrong is not None:
        raise InputError(
            f"a molecule must be at most {WIDTH} of the tokens {' '.join(TOKENS)}; number {wrong}, "
            f"{smiles[wrong]!r:.80}, is not. Leave it out."
        )
