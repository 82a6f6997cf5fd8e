"""A tokenizer of few known tokens, which the zoo's models use: characters, pieces of several characters, or words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import torch
from torch import Tensor

from infogain.errors import InputError

MASK = "_"
EOS = "~"  # ends a text, and fills what an answer leaves of its columns
FILE = "alphabet.json"
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|\S")  # a word, or a single sign
CLOSE = ".,!?:;" + EOS  # signs that stand close to the word before them


def fingerprint_of(ids: Mapping[str, int]) -> str:
    """A hash of a vocabulary: every token and its id."""
    return blake2b(json.dumps(sorted(ids.items())).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Alphabet:
    """A tokenizer whose tokens are listed.

    symbols  the text of each token; a string is one token for each of its characters
    words    whether spaces part the tokens: then a text is words and signs, and capitals do not matter to `encode`
             where the list has a word in one form only
    closed   whether an end mark is given in the last column of every row. Where nothing else is given, a model that
             knows relative positions only needs one: masks alone look alike from every column
    """

    symbols: Sequence[str]
    words: bool = False
    closed: bool = False

    def __post_init__(self) -> None:
        if len(set(self.symbols)) != len(self.symbols) or not {MASK, EOS} <= set(self.symbols):
            raise InputError(
                f"an alphabet must hold each symbol once, {MASK!r} (mask) and {EOS!r} (end) among them; "
                f"got {self.symbols!r:.200}."
            )

    chats = False
    spaces_in_tokens = False

    @property
    def special_tokens_around(self) -> tuple[list[int], list[int]]:
        return [], [self.eos_id] if self.closed else []

    @property
    def eos_ids(self) -> tuple[int, ...]:
        return (self.eos_id,)

    @property
    def mask_id(self) -> int:
        return self.symbols.index(MASK)

    @property
    def eos_id(self) -> int:
        return self.symbols.index(EOS)

    @property
    def vocabulary(self) -> str:
        return fingerprint_of(self._ids)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    @cached_property
    def _folded(self) -> dict[str, int]:
        """Ids of words by their lower case, where one form is all there is, or the one without capitals."""
        return {word.casefold(): i for word, i in sorted(self._ids.items())}

    @cached_property
    def _pieces(self) -> re.Pattern[str]:
        """Splits a text into tokens, the longest first, and strange characters."""
        longest = sorted(self.symbols, key=len, reverse=True)
        return WORD if self.words else re.compile("|".join(map(re.escape, longest)) + "|.", re.DOTALL)

    def __len__(self) -> int:
        return len(self.symbols)

    def tokens_of(self, text: str) -> list[str]:
        """A text cut into tokens and, each by itself, what is strange."""
        return self._pieces.findall(text)

    def encode(self, text: str) -> list[int]:
        ids = [*map(self._id if self.words else self._ids.get, self.tokens_of(text))]
        if None in ids:
            what, shown = ("words", " ".join(self.symbols)) if self.words else ("characters", "".join(self.symbols))
            raise InputError(
                f"this model knows the {what} {shown!r:.400} only; {text!r:.80} also has {self.strange(text)}. "
                "Write without them, or use a checkpoint that knows ordinary text."
            )
        return ids  # type: ignore[return-value]  # none of them is None

    def strange(self, text: str) -> list[str]:
        """The pieces of a text that are no tokens."""
        return sorted({piece for piece in self.tokens_of(text) if self._id(piece) is None})

    def _id(self, piece: str) -> int | None:
        if piece in self._ids or not self.words:
            return self._ids.get(piece)
        return self._folded.get(piece.casefold())

    def unknown(self, text: str) -> list[str]:  # noqa: ARG002  # the protocol's
        """Always empty, because `encode` refuses what it does not know."""
        return []

    def decode(self, ids: Iterable[int]) -> str:
        pieces = [self.symbols[i] for i in ids]
        if not self.words:
            return "".join(pieces)
        return "".join(piece if piece in CLOSE else f" {piece}" for piece in pieces).removeprefix(" ")

    def word(self, token: int) -> str:
        return self.symbols[token]

    def chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:  # noqa: ARG002  # the protocol's
        raise InputError("a model of the zoo has no chat template. Give a plain text.")

    def tensor(self, texts: Sequence[str]) -> Tensor:
        """Encode texts of equally many tokens at once. [texts, columns], uint8, or int16 where there are more tokens"""
        if all(len(symbol) == 1 for symbol in self.symbols):  # one character each, which is many times as fast
            ids = bytearray("".join(texts).translate({ord(symbol): i for symbol, i in self._ids.items()}), "latin-1")
            return torch.frombuffer(ids, dtype=torch.uint8).view(len(texts), -1)
        return torch.tensor(
            [self.encode(text) for text in texts], dtype=torch.uint8 if len(self) < 256 else torch.int16
        )

    def save(self, folder: Path) -> None:
        own = {"symbols": list(self.symbols), "words": self.words, **({"closed": True} if self.closed else {})}
        plain = isinstance(self.symbols, str) and not (self.words or self.closed)
        table = {"characters": self.symbols} if plain else own
        (folder / FILE).write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Alphabet:
        path = Path(folder) / FILE
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            if "characters" in table:
                return cls(table["characters"])
            return cls(tuple(table["symbols"]), table["words"], table.get("closed", False))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"a zoo folder needs its characters in {FILE}; {path}: {error}.") from error
