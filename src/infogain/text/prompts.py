"""Prompts and texts with holes, as rows of token ids with masks where something is to be written."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

from infogain.algorithm.canvas import Canvas
from infogain.errors import ContextError, InputError
from infogain.options import MOST
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Message, Tokenizer

Prompt = str | Sequence[Message]  # a text, or a conversation
DEFAULT_LENGTH = 256  # how many tokens to write, where it is not said
MARKER = re.compile(r"\[MASK(?::([^\]]*))?\]")
COUNT = re.compile(r"0*[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Job:
    """Prompts as rows of token ids, with masks where something is to be written."""

    prompts: Sequence[Prompt]
    rows: list[list[int]]
    whole: bool = False  # the resulting text is the whole row, as for infilling; else what follows the prompt
    dropped_spaces: int = 0  # spaces before holes that were left out, because the model's tokens hold them


def as_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    """One prompt, or several, as a list."""
    if _is_prompt(prompts):
        return [cast("Prompt", prompts)]
    several = list(prompts) if isinstance(prompts, Sequence) else [prompts]
    if wrong := [prompt for prompt in several if not _is_prompt(prompt)]:
        raise InputError(
            f"a prompt must be a text, or a list of messages with role and content; got {wrong[0]!r:.80}. "
            "Several prompts are a list of these."
        )
    return cast("list[Prompt]", several)


def _is_prompt(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and bool(value) and all(map(is_message, value)))


def is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in ("role", "content"))


def completions(
    model: TextModel,
    prompts: Sequence[Prompt],
    length: int | Sequence[int | None] | None = None,
    chat: bool | None = None,
    system: str | None = None,
) -> Job:
    """A job that writes `length` tokens after each prompt: one number, or one per prompt.

    Unset: 256, or fewer where the model's context ends before.
    """
    _check_model(model)
    tokenizer, mask_id = model.tokenizer, model.denoiser.mask_id
    chat = tokenizer.chats if chat is None else chat
    if system is not None and not chat:
        raise InputError("a system message needs a chat; this one is a plain text. Drop it, or put it into the prompt.")
    warn_of_unknown(tokenizer, (text for prompt in prompts for text in (system or "", *texts_of(prompt))))
    before = [encode_prompt(tokenizer, prompt, chat, system) for prompt in prompts]
    if holed := [i for i, row in enumerate(before) if mask_id in row]:
        raise InputError(
            f"a prompt must not hold the mask token {tokenizer.word(mask_id)!r}; prompt {holed[0]} does. Holes are "
            "filled by infill (on the command line, infogain infill), where [MASK] is one."
        )
    after = [] if chat else tokenizer.special_tokens_around[1]
    lengths = _lengths([len(row) + len(after) for row in before], length, context_of(model))
    return Job(prompts, [row + after for row in Canvas.from_prompts(before, lengths, mask_id).rows()])


def _check_model(model: Any) -> None:
    if not isinstance(model, TextModel):
        raise InputError(
            f"texts need a model with its tokenizer, as infogain.load returns them or infogain.TextModel(model, "
            f"tokenizer) puts them together; got {type(model).__name__}. Token ids are for infogain.decode."
        )


def context_of(model: TextModel) -> int | None:
    """The most columns that a row may have; None where the model has no limit."""
    return model.denoiser.context


def _lengths(taken: list[int], length: int | Sequence[int | None] | None, context: int | None) -> list[int]:
    """How many tokens to write after each prompt, given the columns it takes.

    Values that are no numbers, and a wrong number of them, are left for the canvas to refuse.
    """
    free = [(context or MOST) - columns for columns in taken]
    if full := [i for i, left in enumerate(free) if left < 1]:
        raise ContextError(
            f"a prompt must leave room in the model's context of {context} columns; prompt {full[0]} takes "
            f"{taken[full[0]]}. Shorten it."
        )
    asked = list(length) if isinstance(length, Iterable) else [length] * len(taken)
    default = [min(DEFAULT_LENGTH, left) for left in free]
    lengths = [default[i] if i < len(free) and count is None else cast("int", count) for i, count in enumerate(asked)]
    for i, (left, count) in enumerate(zip(free, lengths, strict=False)):
        if isinstance(count, SupportsIndex) and operator.index(count) > left:
            raise ContextError(
                f"prompt and answer must fit the model's context of {context} columns; prompt {i} takes {taken[i]} "
                f"and asks for {count} more. Shorten one of them."
            )
    return lengths


def encode_prompt(tokenizer: Tokenizer, prompt: Prompt, chat: bool, system: str | None = None) -> list[int]:
    """The tokens of a prompt: of a plain text, or of a conversation in the chat template."""
    if isinstance(prompt, str) and not chat:
        return tokenizer.special_tokens_around[0] + tokenizer.encode(prompt)
    if not tokenizer.chats:
        raise InputError(
            "a chat needs a chat template, which this checkpoint lacks. "
            "Give a plain text, with chat=False in Python and --plain on the command line."
        )
    if not chat:
        raise InputError("a conversation needs the chat template, which chat=False (--plain) turns off. Drop it.")
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if system is not None and any(message["role"] == "system" for message in messages):
        raise InputError("a conversation has one system message; this one holds its own, and system came too.")
    opening = [{"role": "system", "content": system}] if system is not None else []
    return tokenizer.chat([*opening, *messages])


def texts_of(prompt: Prompt) -> list[str]:
    """The texts of a prompt: itself, or the content of each message."""
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def warn_of_unknown(tokenizer: Tokenizer, texts: Iterable[str]) -> None:
    """Warn of pieces of these texts that the tokenizer does not know, so that the model cannot see them."""
    lost = list(dict.fromkeys(piece for text in texts for piece in tokenizer.unknown(text)))
    if lost:
        listed = ", ".join(map(repr, lost[:8])) + (f" and {len(lost) - 8} more" if len(lost) > 8 else "")
        warnings.warn(f"the tokenizer does not know {listed}, so the model cannot see it. Rephrase it.", stacklevel=3)


def infills(model: TextModel, texts: Sequence[str]) -> Job:
    """A job that fills texts with `[MASK]` or `[MASK:8]` where tokens are missing.

    Where tokens hold the space before their word, one space before each hole is left out: the model writes it.
    """
    _check_model(model)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise InputError(f"a text to fill must be a string; got {wrong[0]!r:.80}.")
    warn_of_unknown(model.tokenizer, (part for text in texts for part in MARKER.sub("\0", text).split("\0")))
    rows = [_with_holes(model, text) for text in texts]
    return Job(texts, rows, whole=True, dropped_spaces=sum(_dropped_spaces(model.tokenizer, text) for text in texts))


def _dropped_spaces(tokenizer: Tokenizer, text: str) -> int:
    """How many spaces before holes are left out; none where the tokenizer ignores spaces anyway."""
    if not tokenizer.spaces_in_tokens or not tokenizer.encode(" "):
        return 0
    return sum(text[: hole.start()].endswith(" ") for hole in MARKER.finditer(text))


def _with_holes(model: TextModel, text: str) -> list[int]:
    """The row of a text, with mask tokens where it has holes."""
    tokenizer, mask_id = model.tokenizer, model.denoiser.mask_id
    before, after = tokenizer.special_tokens_around
    row, done = list(before), 0
    for hole in MARKER.finditer(text):
        known = text[done : hole.start()]
        row += tokenizer.encode(known.removesuffix(" ") if tokenizer.spaces_in_tokens else known)
        row += [mask_id] * _fitting(_count(hole), model, text)
        done = hole.end()
    row += tokenizer.encode(text[done:])
    row += after if row[len(row) - len(after) :] != after else []
    if mask_id not in row:
        raise InputError(f"a text to fill needs a [MASK], or [MASK:8] for eight tokens; got {text!r:.80}.")
    _fitting(len(row), model, text)
    return row


def _count(hole: re.Match[str]) -> int:
    """How many tokens a hole stands for."""
    if hole[1] is None:
        return 1
    if not COUNT.fullmatch(hole[1]):
        raise InputError(f"[MASK:8] is eight tokens: a whole number of at least 1; got {hole[0]!r:.80}.")
    return int(hole[1])


def _fitting(columns: int, model: TextModel, text: str) -> int:
    """The number of columns, if it fits the model's context. Checked for each hole before its masks are made."""
    context = context_of(model)
    if context and columns > context:
        raise ContextError(
            f"a text with its holes must fit the model's context of {context} columns; {text!r:.80} takes "
            f"{columns} at least. Shorten it."
        )
    return columns
