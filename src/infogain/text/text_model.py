"""A model together with the tokenizer it was trained with."""

from __future__ import annotations

from typing import NamedTuple, Self

from infogain.models.denoiser import Denoiser, adapt
from infogain.options import Plain
from infogain.provenance import provenance
from infogain.text.tokenizer import Tokenizer


class _Pair(NamedTuple):
    denoiser: Denoiser
    tokenizer: Tokenizer


class TextModel(_Pair):
    """A model that decodes and the tokenizer that belongs to it: `model, tokenizer = infogain.load(…)`."""

    name: str | None  # as it was asked for; None where it was put together by hand
    revision: str | None  # of a hub id, where one was asked for

    def __new__(
        cls, denoiser: Denoiser, tokenizer: Tokenizer, name: str | None = None, revision: str | None = None
    ) -> Self:
        self = super().__new__(cls, adapt(denoiser), tokenizer)
        self.name, self.revision = name, revision
        return self

    @property
    def provenance(self) -> Plain:
        """The provenance that every output of this model carries, see `infogain.provenance`."""
        return provenance(self.denoiser, self.name, self.revision)
