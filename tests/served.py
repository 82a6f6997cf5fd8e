"""Small models to serve: random networks that write letters, and a chat template for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import infogain
from infogain import Generation, TextModel
from infogain.generate import settle
from infogain.models import Denoiser
from infogain.resolve import as_recipe
from infogain.serve import Engine, TextRequest
from infogain.text.alphabet import fingerprint_of
from infogain.text.prompts import completions
from infogain.text.tokenizer import Message
from tests.laws.test_backbone import model_of

LETTERS = "abcdefghijklmnopqrst .$_"  # $ ends a text, _ is the mask
END = LETTERS.index("$")


class Letters24:
    """One letter, one token; a conversation is its messages, with a space after each."""

    spaces_in_tokens = False
    eos_ids: tuple[int, ...] = (END,)
    special_tokens_around: tuple[list[int], list[int]] = ([], [])

    def __init__(self, chats: bool = True) -> None:
        self.chats = chats

    def encode(self, text: str) -> list[int]:
        if strange := set(text) - set(LETTERS):
            raise infogain.InputError(f"letters must be of {LETTERS!r}; got {sorted(strange)}.")
        return [LETTERS.index(letter) for letter in text]

    def unknown(self, text: str) -> list[str]:
        return []

    @property
    def vocabulary(self) -> str:
        return fingerprint_of({letter: i for i, letter in enumerate(LETTERS)})

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(LETTERS[i] for i in ids).replace("$", "")

    def word(self, token: int) -> str:
        return LETTERS[token]

    def chat(self, messages: Sequence[Message]) -> list[int]:
        return self.encode("".join(f"{message['content']} " for message in messages))


def letter_model(denoiser: Denoiser | None = None, name: str = "letters", chats: bool = True) -> TextModel:
    return TextModel(denoiser or model_of("llada", "none"), Letters24(chats), name)


def text_request(
    model: TextModel, prompts: str | Sequence[str], sampler: Any = "entropy", *, length: int = 12, **options: Any
) -> TextRequest:
    """What `infogain.generate` would decode, as a request; keywords of TextRequest are told from options."""
    own = {name: options.pop(name) for name in list(options) if name in TextRequest.__dataclass_fields__}
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    job = completions(model, texts, length, chat=False)
    return TextRequest(job, settle(as_recipe(sampler, options), model), **own)


def alone(model: TextModel, prompt: str, sampler: Any = "entropy", length: int = 12, **options: Any) -> Generation:
    """The text of a prompt as `infogain.generate` writes it."""
    return infogain.generate(model, prompt, sampler, length=length, chat=False, **options)[0]


def text_of(engine: Engine, asked: TextRequest) -> str:
    """The first text of a request that is handed in and waited for."""
    return engine.submit(asked).result(30)[0].generation.text
