"""Tokenizers: what generation asks of one, and those of the transformers library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from infogain.errors import InputError
from infogain.text.alphabet import fingerprint_of

Message = Mapping[str, str]  # {"role": "user", "content": "…"}, as everywhere


class Tokenizer(Protocol):
    """What generation asks of a tokenizer."""

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Tokens that end a text."""

    @property
    def special_tokens_around(self) -> tuple[list[int], list[int]]:
        """Tokens that stand before and after every plain text, such as BERT's [CLS] and [SEP]."""

    @property
    def chats(self) -> bool:
        """Whether there is a chat template."""

    @property
    def spaces_in_tokens(self) -> bool:
        """Whether a word's token holds the space before it, so that none may stand before a masked word."""

    @property
    def vocabulary(self) -> str:
        """A fingerprint of all tokens and their ids, see `infogain.text.alphabet.fingerprint_of`."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without special ones around it."""

    def unknown(self, text: str) -> list[str]:
        """The pieces of a text that the vocabulary has nothing for, so that the model cannot see them."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these tokens. Special ones are left out, unless they are characters, as an Alphabet's are."""

    def word(self, token: int) -> str:
        """One token as text, for people to look at."""

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The conversation in the model's own format, up to where its next answer begins."""


class HubTokenizer:
    """A tokenizer of the transformers library."""

    spaces_in_tokens = True

    def __init__(self, tokenizer: Any, eos_ids: Sequence[int] = (), template: str | None = None) -> None:
        self.tokenizer = tokenizer
        self.template = template  # unset: the tokenizer's own, or that of several which it calls the default
        own = (tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
        self.eos_ids = tuple(dict.fromkeys(token for token in (*eos_ids, *own) if token is not None))
        added = {token for token, word in tokenizer.added_tokens_decoder.items() if word.special}
        self.silent = added - {tokenizer.unk_token_id}  # tokens that `decode` leaves out
        self.special_tokens_around = _special_tokens_around(tokenizer)

    @property
    def chats(self) -> bool:
        own = self.tokenizer.chat_template
        return bool(self.template or ("default" in own if isinstance(own, dict) else own))

    @cached_property
    def vocabulary(self) -> str:
        return fingerprint_of(self.tokenizer.get_vocab())

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def unknown(self, text: str) -> list[str]:
        if not self.tokenizer.is_fast:  # offsets are known to the fast ones alone
            return [text] if self.tokenizer.unk_token_id in self.encode(text) else []
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        known = bytearray(len(text))
        for token, (first, end) in zip(found["input_ids"], found["offset_mapping"], strict=True):
            if token != self.tokenizer.unk_token_id or text[first:end] == self.tokenizer.unk_token:
                known[first:end] = b"\1" * (end - first)
        lost = "".join(" " if seen else character for character, seen in zip(text, known, strict=True))
        return lost.split()

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these tokens without special ones, except the token for what was not known."""
        shown = [token for token in ids if token not in self.silent]
        text: str = self.tokenizer.decode(shown, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def word(self, token: int) -> str:
        text: str = self.tokenizer.decode([token])
        return text

    def chat(self, messages: Sequence[Message]) -> list[int]:
        rendered = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            chat_template=self.template,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
        )
        return list(rendered)


def _special_tokens_around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer of transformers puts before and after a text."""
    bare, whole = (tokenizer.encode("a", add_special_tokens=special) for special in (False, True))
    at = next((i for i in range(len(whole)) if whole[i : i + len(bare)] == bare), 0)
    return whole[:at], whole[at + len(bare) :]


def read_tokenizer(
    folder: Path, eos_ids: Sequence[int] = (), turn_ends: Sequence[str] = (), template: str | None = None
) -> HubTokenizer:
    """Read the tokenizer of a checkpoint folder. `turn_ends` are tokens that close an answer, where it has them.

    Its files are read directly, because the classes that some checkpoints name exist only in their remote code.
    """
    try:
        from transformers import PreTrainedTokenizerFast, Qwen2Tokenizer
    except ModuleNotFoundError as error:
        raise InputError("text needs transformers: pip install 'infogain[hf]'.") from error
    if (folder / "tokenizer.json").exists():
        kind: Any = PreTrainedTokenizerFast
    elif (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
        kind = Qwen2Tokenizer  # byte-level BPE, as Dream and SDAR publish it
    else:
        raise InputError(
            f"a checkpoint's tokenizer is tokenizer.json, or vocab.json and merges.txt; {folder} holds neither. "
            "Download them, or decode token ids with infogain.models.load_model."
        )
    try:
        tokenizer = kind.from_pretrained(folder)
    except Exception as error:  # the tokenizers library raises nothing narrower
        raise InputError(f"the tokenizer in {folder} cannot be read: {error}. Download it again.") from error
    known = tokenizer.get_vocab()
    ends = [known[token] for token in turn_ends if token in known]
    return HubTokenizer(tokenizer, (*eos_ids, *ends), template)
