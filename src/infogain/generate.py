"""Text in, text out: prompts become rows of a canvas, rows become texts. One path for chat, files and evaluation."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, SupportsIndex, cast

from infogain import noise
from infogain.canvas import Canvas
from infogain.decode import Observer, decode_lanes
from infogain.errors import ContextError, InputError
from infogain.lane import Lane
from infogain.models.base import Denoiser
from infogain.options import MOST, Plain
from infogain.recipe import Recipe
from infogain.result import Result
from infogain.text import Message, TextModel, Tokenizer
from infogain.trace import Trace

Prompt = str | Sequence[Message]  # a text, or a conversation
DEFAULT_LENGTH = 256  # tokens to write, where nobody says
BLOCK = 16  # the paper's, for models without a width of their own
MARKER = re.compile(r"\[MASK(?::([^\]]*))?\]")
COUNT = re.compile(r"0*[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Generation:
    """One text and what it cost."""

    prompt: Prompt
    text: str
    finish: str  # "eos", "stop" (a stop string) or "length"
    tokens: list[int]  # that were written: they end before an EOS, but not at a stop string, which cuts the text only
    revealed: list[int]  # the step that wrote each of them
    cumulative_entropy: float  # H̃, Eq. 2
    forwards: int  # model calls it took part in
    token_forwards: int  # columns that ran for it, all candidates counted
    committed: int  # tokens written in all, those after an EOS in its block too
    seed: int
    recipe: Plain
    trace: Trace | None = None

    def plain(self) -> Plain:
        """A line of a file: everything but the trace."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "trace"}


@dataclass(frozen=True)
class Job:
    """Prompts as rows of token ids, with masks where something is to be written."""

    prompts: Sequence[Prompt]
    rows: list[list[int]]
    whole: bool = False  # the text is the whole row, as when masks stand in its middle; else what was written


def generate(
    model: TextModel,
    prompts: Prompt | Sequence[Prompt],
    recipe: Recipe | str | Mapping[str, Any] | None = None,
    *,
    length: int | Sequence[int] | None = None,
    chat: bool | None = None,
    system: str | None = None,
    stop: str | Sequence[str] = (),
    stop_at_eos: bool = True,
    seeds: Sequence[int] | None = None,
    batch_size: int = 16,
    observe: Observer | None = None,
    trace: bool = False,
) -> list[Generation]:
    """Complete prompts.

    model        what `infogain.load` returns
    prompts      a text, a conversation (messages with role and content), or several of them
    recipe       a Recipe, a sampler's name, or a plain table; what these two leave open: Info-Gain in blocks of 16, or
                 of the model's own width
    length       tokens to write: one number, or one per prompt; unset: 256, or what the model's context has left
    chat         put texts into the chat template; unset: if the checkpoint has one
    system       system message of a chat
    stop         cut the text before any of these strings, and open no block after one that holds it
    stop_at_eos  the same for the tokens that end a text: the recipe's eos_ids, or else the checkpoint's
    seeds        one per prompt; unset: made from the recipe's seed and the prompt's number
    batch_size   prompts decoded together; those of like length are
    observe      called with a StepEvent per step
    trace        keep every candidate of every step

    A prompt's text depends on its own seed and not on its batch (in half precision: up to rounding).
    """
    job = completions(model, as_prompts(prompts), length, chat, system)
    settings = as_recipe(recipe, model, stop_at_eos)
    return collect(stream(model, job, settings, stop, seeds, batch_size, observe, trace))


def infill(
    model: TextModel,
    texts: str | Sequence[str],
    recipe: Recipe | str | Mapping[str, Any] | None = None,
    *,
    seeds: Sequence[int] | None = None,
    batch_size: int = 16,
    observe: Observer | None = None,
    trace: bool = False,
) -> list[Generation]:
    """Fill the holes of texts: `[MASK]` is one token, `[MASK:8]` eight, and the model's own mask token one.

    recipe, seeds, batch_size, observe and trace are as for `generate`. Every hole is filled: nothing stops at an EOS.
    """
    job = infills(model, [texts] if isinstance(texts, str) else texts)
    settings = as_recipe(recipe, model, stop_at_eos=False)
    return collect(stream(model, job, settings, (), seeds, batch_size, observe, trace))


def stream(
    model: TextModel,
    job: Job,
    recipe: Recipe,
    stop: str | Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    batch_size: int = 16,
    observe: Observer | None = None,
    trace: bool = False,
) -> Iterator[tuple[int, Generation]]:
    """Decode a job batch by batch; each text comes with its prompt's number as soon as its batch is done."""
    stops = as_stops(stop)
    seeds = noise.row_seeds(recipe.seed, len(job.rows)) if seeds is None else seeds
    if len(seeds) != len(job.rows):
        raise InputError(f"seeds must be one per prompt ({len(job.rows)}); got {len(seeds)}.")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch_size must be a whole number of at least 1; got {batch_size!r}.")
    by_length = sorted(range(len(job.rows)), key=lambda i: -len(job.rows[i]))  # the longest first: it needs most memory
    for first in range(0, len(by_length), batch_size):
        batch = by_length[first : first + batch_size]
        canvas = Canvas.infill([job.rows[i] for i in batch], model.model.mask_id)
        lane = Lane(canvas, recipe, [seeds[i] for i in batch], _early_stop(model.tokenizer, stops, recipe))
        result = decode_lanes(model.model, [lane], observe=observe, trace=trace)[0]
        yield from zip(batch, _read(model.tokenizer, job, batch, result, stops), strict=True)


def collect(finished: Iterator[tuple[int, Generation]]) -> list[Generation]:
    """In the order of their prompts."""
    return [text for _, text in sorted(finished, key=lambda pair: pair[0])]


def default_recipe(model: Denoiser) -> Recipe:
    """Info-Gain, one token a step, in blocks of the model's own width or of the paper's."""
    return Recipe(block=model.attention_block or BLOCK)


def as_recipe(given: Recipe | str | Mapping[str, Any] | None, model: TextModel, stop_at_eos: bool) -> Recipe:
    """What is given, over the default recipe where it is no whole one; its eos_ids are those that will end a text."""
    recipe = default_recipe(model.model)
    if isinstance(given, str):
        recipe = replace(recipe, sampler=cast("Any", given))
    elif isinstance(given, Recipe):
        recipe = given
    elif isinstance(given, Mapping):
        recipe = Recipe.of({**recipe.plain(), **given})
    elif given is not None:
        raise InputError(f"a recipe is a Recipe, a sampler's name or a plain table; got {given!r:.80}.")
    return replace(recipe, eos_ids=(recipe.eos_ids or model.tokenizer.eos_ids) if stop_at_eos else ())


def as_stops(stop: str | Sequence[str]) -> list[str]:
    """One stop string, or several, as a list."""
    stops = [stop] if isinstance(stop, str) else list(stop)
    if wrong := [stop for stop in stops if not isinstance(stop, str) or not stop]:
        raise InputError(f"a stop string must hold at least one character; got {wrong[0]!r}. Drop it.")
    return stops


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
    length: int | Sequence[int] | None = None,
    chat: bool | None = None,
    system: str | None = None,
) -> Job:
    """Each prompt followed by `length` masks."""
    tokenizer, mask_id = model.tokenizer, model.model.mask_id
    chat = tokenizer.chats if chat is None else chat
    if system is not None and not chat:
        raise InputError("a system message needs a chat; this one is a plain text. Drop it, or put it into the prompt.")
    before = [encode_prompt(tokenizer, prompt, chat, system) for prompt in prompts]
    if holed := [i for i, row in enumerate(before) if mask_id in row]:
        raise InputError(
            f"a prompt must not hold the mask token {tokenizer.word(mask_id)!r}; prompt {holed[0]} does. Holes are "
            "filled by infill (on the command line, infogain infill), where [MASK] is one."
        )
    after = [] if chat else tokenizer.frame[1]
    lengths = _lengths([len(row) + len(after) for row in before], length, context_of(model))
    return Job(prompts, [row + after for row in Canvas.from_prompts(before, lengths, mask_id).rows()])


def context_of(model: TextModel) -> int | None:
    """The most columns a row may have, where the model says."""
    context: int | None = getattr(model.model, "context", None)
    return context


def _lengths(taken: list[int], length: int | Sequence[int] | None, context: int | None) -> list[int]:
    """What to write after each prompt, given the columns it takes; numbers that are none are left to the canvas."""
    room = [(context or MOST) - columns for columns in taken]
    if full := [i for i, left in enumerate(room) if left < 1]:
        raise ContextError(
            f"a prompt must leave room in the model's context of {context} columns; prompt {full[0]} takes "
            f"{taken[full[0]]}. Shorten it."
        )
    if length is None:
        return [min(DEFAULT_LENGTH, left) for left in room]
    lengths = list(length) if isinstance(length, Iterable) else [length] * len(taken)
    for i, (left, count) in enumerate(zip(room, lengths, strict=False)):
        if isinstance(count, SupportsIndex) and operator.index(count) > left:
            raise ContextError(
                f"prompt and answer must fit the model's context of {context} columns; prompt {i} takes {taken[i]} "
                f"and asks for {count} more. Shorten one of them."
            )
    return lengths


def encode_prompt(tokenizer: Tokenizer, prompt: Prompt, chat: bool, system: str | None = None) -> list[int]:
    if isinstance(prompt, str) and not chat:
        return tokenizer.frame[0] + tokenizer.encode(prompt)
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


def infills(model: TextModel, texts: Sequence[str]) -> Job:
    """Texts with `[MASK]` or `[MASK:8]` where tokens are missing."""
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise InputError(f"a text to fill must be a string; got {wrong[0]!r:.80}.")
    return Job(texts, [_with_holes(model, text) for text in texts], whole=True)


def _with_holes(model: TextModel, text: str) -> list[int]:
    tokenizer, mask_id = model.tokenizer, model.model.mask_id
    before, after = tokenizer.frame
    row, seen = list(before), 0
    for hole in MARKER.finditer(text):
        known = text[seen : hole.start()]
        row += tokenizer.encode(known.removesuffix(" ") if tokenizer.spaced else known)
        row += [mask_id] * _fitting(_count(hole), model, text)
        seen = hole.end()
    row += tokenizer.encode(text[seen:]) + after
    if mask_id not in row:
        raise InputError(f"a text to fill needs a [MASK], or [MASK:8] for eight tokens; got {text!r:.80}.")
    _fitting(len(row), model, text)
    return row


def _count(hole: re.Match[str]) -> int:
    if hole[1] is None:
        return 1
    if not COUNT.fullmatch(hole[1]):
        raise InputError(f"[MASK:8] is eight tokens: a whole number of at least 1; got {hole[0]!r:.80}.")
    return int(hole[1])


def _fitting(columns: int, model: TextModel, text: str) -> int:
    """Asked of every hole too, before it is made."""
    context = context_of(model)
    if context and columns > context:
        raise ContextError(
            f"a text with its holes must fit the model's context of {context} columns; {text!r:.80} takes "
            f"{columns} at least. Shorten it."
        )
    return columns


def _early_stop(tokenizer: Tokenizer, stops: list[str], recipe: Recipe) -> Any:
    """For the loop to ask at block ends. Where it cannot (beams, random order), texts are cut when they are done."""
    if not stops or recipe.order == "random" or recipe.sampler.beam > 1:
        return None
    return lambda row, written: any(stop in tokenizer.decode(written) for stop in stops)


def _traces(tokenizer: Tokenizer, result: Result) -> list[Trace]:
    """A trace per row, with the words of all it holds."""
    assert result.trace is not None
    traces = result.trace.split()
    for trace in traces:
        tried = {token for step in trace.steps for row in step.rows for a in row.candidates for token in a.tokens}
        trace.words = {token: tokenizer.word(token) for token in sorted(tried.union(*trace.canvas))}
    return traces


def _read(
    tokenizer: Tokenizer, job: Job, batch: Sequence[int], result: Result, stops: list[str]
) -> Iterator[Generation]:
    """The texts of a batch."""
    traces = _traces(tokenizer, result) if result.trace else [None] * len(batch)
    rows, generated, revealed = result.rows(), result.generated.tolist(), result.revealed.tolist()
    for r, i in enumerate(batch):
        written = [column for column in range(len(rows[r])) if generated[r][column]]
        text = tokenizer.decode(rows[r] if job.whole else [rows[r][column] for column in written])
        ends = [text.index(stop) for stop in stops if stop in text]
        ended = len(rows[r]) < int(result.length[r])
        yield Generation(
            prompt=job.prompts[i],
            text=text[: min(ends)] if ends else text,
            finish="stop" if ends else "eos" if ended else "length",
            tokens=[rows[r][column] for column in written],
            revealed=[revealed[r][column] for column in written],
            cumulative_entropy=float(result.cumulative_entropy[r]),
            forwards=int(result.forwards[r]),
            token_forwards=int(result.token_forwards[r]),
            committed=int(result.committed[r]),
            seed=result.seeds[r],
            recipe=result.recipe,
            trace=traces[r],
        )
