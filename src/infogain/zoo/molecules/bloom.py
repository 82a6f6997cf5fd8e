"""A Bloom filter: which texts a large set holds, in two mebibytes. It forgets none; a few others pass for members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from infogain.errors import InputError

HASHES = 7  # bits per text; the best number for 10.6 bits per member
INDEX = 3  # bytes of a digest that name one bit, so that there are 256³ of them
BYTES = 256**INDEX // 8


class BloomFilter:
    """Bits, of which each member has set seven; what finds all of its own set counts as a member."""

    def __init__(self, bits: bytes | None = None) -> None:
        if bits is not None and len(bits) != BYTES:
            raise InputError(f"a Bloom filter must have {BYTES:,} bytes; got {len(bits):,}. Build it again.")
        self.bits = bytearray(BYTES if bits is None else bits)

    def add(self, text: str) -> None:
        for index in _indices(text):
            self.bits[index >> 3] |= 1 << (index & 7)

    def update(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.add(text)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and all(self.bits[index >> 3] >> (index & 7) & 1 for index in _indices(text))

    @property
    def false_positives(self) -> float:
        """The share of other texts that count as members: that of the bits which are set, once for each hash."""
        ones = sum(byte.bit_count() for byte in self.bits)
        return float((ones / (8 * BYTES)) ** HASHES)

    def save(self, path: Path) -> None:
        path.write_bytes(self.bits)

    @classmethod
    def load(cls, path: Path) -> BloomFilter:
        return cls(path.read_bytes())


def _indices(text: str) -> Iterator[int]:
    """The seven bits of a text, each named by three bytes of its digest."""
    digest = blake2b(text.encode(), digest_size=HASHES * INDEX).digest()
    return (int.from_bytes(digest[at : at + INDEX], "big") for at in range(0, len(digest), INDEX))
