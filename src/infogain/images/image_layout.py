"""How a row of token ids holds a prompt and an image: the prompt, then the codes row by row, then what closes them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from infogain.errors import InputError, UnknownName
from infogain.images.image_tokens import ImageTokens
from infogain.text.tokenizer import HubTokenizer

LONGEST = 513  # tokens of a prompt of MMaDA, its task and its ends included; a longer one is cut
CODES = 8192  # of MAGVIT-v2
# MMaDA's names of its special tokens: the reserved token of LLaDA's that each is, by number, and its published id.
SPECIAL = {"<|soi|>": (0, 126084), "<|eoi|>": (1, 126085), "<|t2i|>": (4, 126088)}


class Layout(ABC):
    """What a model of images takes for a row."""

    first_code: int  # the token id of code 0
    codes: int
    after: list[int]  # what stands behind an image

    @abstractmethod
    def prompt(self, text: str) -> list[int]:
        """The tokens before an image; those of an empty text stand for no prompt."""

    @abstractmethod
    def word(self, token: int) -> str:
        """A token of a prompt as text, for people to look at."""

    @cached_property
    def empty(self) -> list[int]:
        """The tokens before an image without a prompt, which guidance compares with."""
        return self.prompt("")

    def row(self, prompt: Sequence[int], codes: Sequence[int | None], mask_id: int) -> list[int]:
        """A whole row. Codes that are not given are masked."""
        image = [mask_id if code is None else self.first_code + code for code in codes]
        return [*prompt, *image, *self.after]


@dataclass(frozen=True)
class ClassLayout(Layout):
    """A class, or "no class", and the image: models of the zoo."""

    tokens: ImageTokens

    first_code = 0
    after = []  # noqa: RUF012  # nothing

    @property
    def codes(self) -> int:  # type: ignore[override]
        return self.tokens.codes

    def prompt(self, text: str) -> list[int]:
        if not text.strip():
            return [self.tokens.no_class]
        names = [_plain(name) for name in self.tokens.classes]
        if _plain(text) not in names:
            raise UnknownName("class of images", text, self.tokens.classes)
        return [self.tokens.codes + names.index(_plain(text))]

    def word(self, token: int) -> str:
        number = token - self.tokens.codes
        return self.tokens.classes[number] if 0 <= number < len(self.tokens.classes) else "no class"


class MmadaLayout(Layout):
    """`<|t2i|> bos text eos <|soi|>`, the image, `<|eoi|>`: MMaDA.

    Its program pads prompts on the left, with tokens that nothing attends to. Positions are relative, so that they can
    be left out.
    """

    def __init__(self, tokenizer: HubTokenizer, codes: int, ids: int) -> None:
        """Read the special tokens from the tokenizer. The model knows so many `ids`, codes included."""
        self.tokenizer, self.codes = tokenizer, codes
        self.first_code = len(tokenizer.tokenizer)
        if self.first_code + codes > ids:
            raise InputError(
                f"the codes of images must stand behind the tokenizer's {self.first_code} tokens, {codes} of them; "
                f"the model knows {ids} ids in all. Is the tokenizer the model's own?"
            )
        self.after = [self._special("<|eoi|>")]

    def prompt(self, text: str) -> list[int]:
        bos, eos = self._known("bos_token", "<|startoftext|>"), self._known("eos_token", "<|endoftext|>")
        ids = self.tokenizer.encode(text)
        ids = ids if ids[:1] == [bos] else [bos, *ids]
        ids = [self._special("<|t2i|>"), *ids, eos]
        ids = ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], eos]
        return [*ids, self._special("<|soi|>")]

    def word(self, token: int) -> str:
        return self.tokenizer.word(token)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        found: dict[str, int] = self.tokenizer.tokenizer.get_vocab()
        return found

    def _known(self, attribute: str, name: str) -> int:
        """The id of a token that the tokenizer declares or, where it does not, has by its name."""
        declared = getattr(self.tokenizer.tokenizer, f"{attribute}_id")
        if declared is None and name not in self._vocabulary:
            raise InputError(f"an image needs a tokenizer with a {attribute}; this one has none, nor {name!r}.")
        return self._vocabulary[name] if declared is None else int(declared)

    def _special(self, name: str) -> int:
        """The id of one of MMaDA's own tokens: by its name, as LLaDA's reserved token, or as it was published."""
        number, published = SPECIAL[name]
        for known in (name, f"<|reserved_token_{number}|>"):
            if known in self._vocabulary:
                return self._vocabulary[known]
        if published < self.first_code:
            return published
        raise InputError(
            f"an image needs the token {name}; the tokenizer has neither it nor <|reserved_token_{number}|>. "
            "Use the tokenizer that MMaDA was published with."
        )


def _plain(name: str) -> str:
    """A class as it is compared: `Ankle-Boot` is `ankle boot`."""
    return " ".join(re.split(r"[\s_-]+", name.strip().casefold()))
