"""Text in, text out: prompts become rows of a canvas, rows become texts. One path for chat, files and evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from infogain import noise
from infogain.canvas import Canvas
from infogain.decode import Observer, decode_stream
from infogain.errors import InfoGainError, InputError
from infogain.job import Job, Prompt, as_prompts, completions, infills
from infogain.lane import Lane
from infogain.models.base import Denoiser
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.result import Result
from infogain.text import TextModel, Tokenizer
from infogain.trace import Trace

BLOCK = 16  # the paper's, for models without a width of their own


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
    provenance: Plain  # the model and how it ran, see `infogain.provenance`
    trace: Trace | None = None

    def plain(self) -> Plain:
        """A line of a file: everything but the trace."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "trace"}


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
    batch_size   prompts decoded together; when one is done the next takes its place, the longest first
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
    """Decode a job, `batch_size` prompts at a time; each text comes with its prompt's number as soon as it is done.

    The longest prompts go first, and the next takes the place of one that is done. If decoding breaks off, the error's
    `partial` is that of `decode_stream`: the rows in flight.
    """
    stops = as_stops(stop)
    seeds = noise.row_seeds(recipe.seed, len(job.rows)) if seeds is None else seeds
    if len(seeds) != len(job.rows):
        raise InputError(f"seeds must be one per prompt ({len(job.rows)}); got {len(seeds)}.")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch_size must be a whole number of at least 1; got {batch_size!r}.")
    canvas = Canvas.infill(job.rows, model.model.mask_id)
    lane = Lane(canvas, recipe, seeds, _early_stop(model.tokenizer, stops, recipe), at_once=batch_size)
    for _, i, result in decode_stream(model, [lane], observe=observe, trace=trace):
        yield i, _read(model.tokenizer, job.prompts[i], job.whole, result, stops)


def collect(finished: Iterator[tuple[int, Generation]]) -> list[Generation]:
    """In the order of their prompts. If decoding breaks off, the error's `finished` holds those that came."""
    texts: dict[int, Generation] = {}
    try:
        for i, text in finished:
            texts[i] = text
    except InfoGainError as error:
        error.finished = texts
        raise
    return [texts[i] for i in sorted(texts)]


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


def _early_stop(tokenizer: Tokenizer, stops: list[str], recipe: Recipe) -> Any:
    """For the loop to ask at block ends. Where it cannot (beams, random order), texts are cut when they are done."""
    if not stops or recipe.order == "random" or recipe.sampler.beam > 1:
        return None
    return lambda row, written: any(stop in tokenizer.decode(written) for stop in stops)


def _read(tokenizer: Tokenizer, prompt: Prompt, whole: bool, result: Result, stops: list[str]) -> Generation:
    """The text of a Result of one row."""
    (row,), generated, revealed = result.rows(), result.generated[0].tolist(), result.revealed[0].tolist()
    written = [column for column in range(len(row)) if generated[column]]
    text = tokenizer.decode(row if whole else [row[column] for column in written])
    ends = [text.index(stop) for stop in stops if stop in text]
    ended = len(row) < int(result.length[0])
    return Generation(
        prompt=prompt,
        text=text[: min(ends)] if ends else text,
        finish="stop" if ends else "eos" if ended else "length",
        tokens=[row[column] for column in written],
        revealed=[revealed[column] for column in written],
        cumulative_entropy=float(result.cumulative_entropy[0]),
        forwards=int(result.forwards[0]),
        token_forwards=int(result.token_forwards[0]),
        committed=int(result.committed[0]),
        seed=result.seeds[0],
        recipe=result.recipe,
        provenance=result.provenance,
        trace=_with_words(tokenizer, result.trace) if result.trace else None,
    )


def _with_words(tokenizer: Tokenizer, trace: Trace) -> Trace:
    """A trace that knows the words of all it holds."""
    tried = {token for step in trace.steps for row in step.rows for a in row.candidates for token in a.tokens}
    trace.words = {token: tokenizer.word(token) for token in sorted(tried.union(*trace.canvas))}
    return trace
