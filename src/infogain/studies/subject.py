"""What a study is run on: a model folder, known by the bytes of its files and loaded when first decoded."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch

from infogain.alphabet import FILE as ALPHABET_FILE
from infogain.alphabet import Alphabet
from infogain.bench import Bench
from infogain.errors import InputError
from infogain.load import as_device, find_checkpoint, load
from infogain.text import TextModel
from infogain.zoo.folder import load_zoo_model

WHOLE = 64 * 2**20  # files up to this size are hashed whole; of larger ones both ends
END = 2**20


class Subject:
    def __init__(self, name: str | Path, device: str | torch.device | None = None) -> None:
        self.name, self.folder, self.device = str(name), find_checkpoint(name), as_device(device)

    @property
    def is_zoo(self) -> bool:
        """Written in the zoo's alphabet: decodes canvases. Others are asked in chat."""
        return (self.folder / ALPHABET_FILE).is_file()

    @cached_property
    def fingerprint(self) -> str:
        """Hash of configuration and weights, from the files alone."""
        files = sorted([*self.folder.glob("config.json"), *self.folder.glob("*.safetensors")])
        if not files:
            raise InputError(f"a model folder holds config.json and *.safetensors; {self.folder} holds neither.")
        digest = blake2b(digest_size=12)
        for path in files:
            digest.update(f"{path.name} {path.stat().st_size} ".encode())
            for part in _parts(path):
                digest.update(part)
        return digest.hexdigest()

    @cached_property
    def zoo(self) -> tuple[Any, Alphabet]:
        return load_zoo_model(self.folder, self.device)

    @cached_property
    def bench(self) -> Bench:
        """For cells that are timed on a shape of their own."""
        return Bench(self.device)

    @cached_property
    def text(self) -> TextModel:
        return load(self.folder, device=self.device)


def _parts(path: Path) -> list[bytes]:
    if path.stat().st_size <= WHOLE:
        return [path.read_bytes()]
    with path.open("rb") as file:
        first = file.read(END)
        file.seek(-END, 2)
        return [first, file.read(END)]
