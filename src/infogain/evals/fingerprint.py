"""A model folder, known by the bytes of its files.

A large file is read whole once; its hash is then remembered in the user's cache folder ($XDG_CACHE_HOME/infogain, or
else ~/.cache/infogain) for as long as the file keeps its size and times. What cannot be remembered is read again.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b, sha256
from pathlib import Path

from infogain.errors import InputError
from infogain.load import find_checkpoint
from infogain.options import Plain
from infogain.text.text_model import TextModel

LOG = logging.getLogger("infogain")
MODEL = ("config.json", "*.safetensors", "*.safetensors.index.json", "*.bin")
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "chat_template.*",
    "additional_chat_templates/*",
    "alphabet.json",
)
CODEC = ("image.json", "codec/*")
SMALL = 64 * 2**20  # bytes of a file that is read every time
PART = 16 * 2**20  # bytes read at once
PATIENCE, PAUSE = 2.0, 10.0  # seconds before the first line on how far it is, and between two of them
FRESH = 2 * 10**9  # nanoseconds: a file changed so shortly ago may change again without another time


def describe(model: TextModel) -> Plain:
    """The model in run.json: all that decides its texts. What was left to a default is as if it had been asked for.

    Of a model that was put together by hand there are no files to read: it is known by its class.
    """
    made = model.provenance
    decides: Plain = {key: made[key] for key in ("dtype", "cache", "refresh", "revision") if key in made}
    if model.name is not None:
        folder = find_checkpoint(model.name, model.revision)
        decides |= {"fingerprint": fingerprint(folder), "tokenizer": tokenizer_fingerprint(folder)}
    return {"name": made["model"], **decides}


def fingerprint(folder: Path) -> str:
    """Hash of configuration and weights, from the files alone."""
    files = _found(folder, MODEL)
    if not files:
        raise InputError(f"a model folder holds config.json and *.safetensors; {folder} holds neither.")
    return _hash(folder, files)


def tokenizer_fingerprint(folder: Path) -> str:
    """Hash of all that turns texts into token ids and back: vocabulary, special tokens, chat templates."""
    return _hash(folder, _found(folder, TOKENIZER))


def codec_fingerprint(folder: Path) -> str:
    """Hash of all that turns images of the zoo into rows of tokens and back: classes, sizes, and the codec."""
    return _hash(folder, _found(folder, CODEC))


def content_fingerprint(path: Path) -> str:
    """Hash of what a file holds, whatever it is called."""
    return blake2b(path.read_bytes(), digest_size=6).hexdigest()


def _found(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})


def _hash(folder: Path, files: Iterable[Path]) -> str:
    digest = blake2b(digest_size=12)
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()} {size} ".encode())
        digest.update(path.read_bytes() if size <= SMALL else _remembered(path))
    return digest.hexdigest()


def _remembered(path: Path) -> bytes:
    """Hash of a large file; from the cache, where its entry is of this very file."""
    stamp, entry = _stamp(path), _entry(path)
    if known := _recall(entry, stamp):
        return known
    digest = _read(path)
    if _stamp(path) == stamp and time.time_ns() - max(stamp[1:]) > FRESH:
        _remember(entry, stamp, digest)
    return digest


def _stamp(path: Path) -> list[int]:
    """Size, and the times of the last change of its content and of its entry in the file system."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _entry(path: Path) -> Path | None:
    """The file of the cache that remembers this one; None where there is no home for a cache."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = given if given.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    name = blake2b(os.fsencode(path.resolve()), digest_size=12).hexdigest()
    return home / "infogain" / "fingerprints" / f"{name}.json"


def _recall(entry: Path | None, stamp: list[int]) -> bytes | None:
    """An entry that is damaged, or of a file as it was before, is as good as none."""
    try:
        found = json.loads(entry.read_text(encoding="utf-8")) if entry else None
    except (OSError, ValueError, RecursionError):
        return None
    digest = found.get("digest") if isinstance(found, dict) else None
    if not isinstance(digest, str) or found != _stamped(stamp, digest) or not re.fullmatch("[0-9a-f]{64}", digest):
        return None
    return bytes.fromhex(digest)


def _remember(entry: Path | None, stamp: list[int], digest: bytes) -> None:
    """Write an entry at once or not at all; a cache that cannot be written costs time only."""
    if entry is None:
        return
    draft = entry.with_suffix(f".{os.getpid()}")
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(_stamped(stamp, digest.hex())), encoding="utf-8")
        os.replace(draft, entry)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def _stamped(stamp: list[int], digest: str) -> Plain:
    check = blake2b(f"{stamp} {digest}".encode(), digest_size=8).hexdigest()
    return {"stamp": stamp, "digest": digest, "check": check}


def _read(path: Path) -> bytes:
    digest, done, say_at = sha256(), 0, time.monotonic() + PATIENCE
    size = path.stat().st_size
    with path.open("rb") as file:
        while part := file.read(PART):
            digest.update(part)
            done += len(part)
            if time.monotonic() >= say_at:
                LOG.warning("hashing %s: %.1f of %.1f GB (once, then it is remembered)", path, done / 1e9, size / 1e9)
                say_at += PAUSE
    return digest.digest()
