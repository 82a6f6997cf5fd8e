"""A tokenizer with one token per character, which the zoo's models use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from infogain.errors import InputError

MASK = "_"
EOS = "~"  # ends a text, and fills what an answer leaves of its columns
FILE = "alphabet.json"


def fingerprint_of(ids: Mapping[str, int]) -> str:
    """A hash of a vocabulary: every token and its id."""
    return blake2b(json.dumps(sorted(ids.items())).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Alphabet:
    """A tokenizer whose tokens are single characters."""

    characters: str  # the character of each token id

    def __post_init__(self) -> None:
        if len(set(self.characters)) != len(self.characters) or not {MASK, EOS} <= set(self.characters):
            raise InputError(
                f"an alphabet must hold each character once, {MASK!r} (mask) and {EOS!r} (end) among them; "
                f"got {self.characters!r}."
            )

    chats = False
    spaces_in_tokens = False
    special_tokens_around: ClassVar[tuple[list[int], list[int]]] = ([], [])

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return (self.eos_id,)

    @property
    def mask_id(self) -> int:
        return self.characters.index(MASK)

    @property
    def eos_id(self) -> int:
        return self.characters.index(EOS)

    @property
    def vocabulary(self) -> str:
        return fingerprint_of({character: i for i, character in enumerate(self.characters)})

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> list[int]:
        if strange := sorted(set(text) - set(self.characters)):
            raise InputError(
                f"this model knows the characters {self.characters!r} only; {text!r:.80} also has {strange}. "
                "Write without them, or use a checkpoint that knows ordinary text."
            )
        return [self.characters.index(character) for character in text]

    def unknown(self, text: str) -> list[str]:  # noqa: ARG002  # the protocol's
        """Always empty, because `encode` refuses what it does not know."""
        return []

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self.characters[i] for i in ids)

    def word(self, token: int) -> str:
        return self.characters[token]

    def chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:  # noqa: ARG002  # the protocol's
        raise InputError("a model of single characters has no chat template. Give a plain text.")

    def tensor(self, texts: Sequence[str]) -> Tensor:
        """Encode many texts of equal length at once. [texts, columns], uint8"""
        index = {ord(character): i for i, character in enumerate(self.characters)}
        ids = bytearray("".join(texts).translate(index), "latin-1")
        return torch.frombuffer(ids, dtype=torch.uint8).view(len(texts), -1)

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps({"characters": self.characters}) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Alphabet:
        path = Path(folder) / FILE
        try:
            return cls(json.loads(path.read_text(encoding="utf-8"))["characters"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"a zoo folder needs its characters in {FILE}; {path}: {error}.") from error
