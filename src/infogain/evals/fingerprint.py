"""A model folder, known by the bytes of its files."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from infogain.errors import InputError

WHOLE = 64 * 2**20  # files up to this size are hashed whole; of larger ones both ends
END = 2**20


def fingerprint(folder: Path) -> str:
    """Hash of configuration and weights, from the files alone."""
    files = sorted([*folder.glob("config.json"), *folder.glob("*.safetensors")])
    if not files:
        raise InputError(f"a model folder holds config.json and *.safetensors; {folder} holds neither.")
    digest = blake2b(digest_size=12)
    for path in files:
        digest.update(f"{path.name} {path.stat().st_size} ".encode())
        for part in _parts(path):
            digest.update(part)
    return digest.hexdigest()


def _parts(path: Path) -> list[bytes]:
    if path.stat().st_size <= WHOLE:
        return [path.read_bytes()]
    with path.open("rb") as file:
        first = file.read(END)
        file.seek(-END, 2)
        return [first, file.read(END)]
