"""Text in, text out: prompts become rows of a canvas, rows become texts. One path for chat, files and evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.decode import decode_stream
from infogain.errors import InfoGainError, InputError
from infogain.loop.batch import Observer
from infogain.loop.lane import Lane
from infogain.loop.result import Result
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.resolve import Given, as_recipe
from infogain.text.alphabet import Alphabet
from infogain.text.prompts import Job, Prompt, as_prompts, completions, infills
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Tokenizer

BLOCK = 16  # the paper's, for models without a width of their own


@dataclass(frozen=True)
class Generation:
    """One text and what it cost."""

    prompt: Prompt
    text: str
    finish: str  # "eos", "stop" (a stop string) or "length"
    tokens: list[int]  # written ones, up to an EOS; a stop string cuts the text but not these
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
    recipe: Given = None,
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
    **options: Any,
) -> list[Generation]:
    """Complete prompts: `infogain.generate(model, "Why is the sky blue?", "info-gain", n=4, k=2)`.

    model        what `infogain.load` returns
    prompts      a text, a conversation (messages with role and content), or several of them
    recipe       a sampler, its name, or a table of its name and options; or a recipe, its name, path or table;
                 unset: Info-Gain
    length       tokens to write: one number, or one per prompt; unset: 256, or what the model's context has left
    chat         put texts into the chat template; unset: if the checkpoint has one
    system       system message of a chat
    stop         cut the text before any of these strings, and open no block after one that holds it
    stop_at_eos  end a text at a token that ends texts: one of the recipe's eos_ids, or else of the checkpoint's
    seeds        one per prompt; unset: made from the recipe's seed and the prompt's number
    batch_size   prompts decoded together; when one is done the next takes its place, the longest first
    observe      called with a StepEvent per step
    trace        keep every candidate of every step

    Options go over those of the sampler or recipe, as in `decode`: n, tau_token and so on, k, or steps and shape,
    block, order, eos_ids, seed. A block that is left open is 16 columns wide, or as wide as the model's own; that
    of a model of the zoo that writes from nothing (zoo:tiny-molecule) is the whole canvas.

    A prompt's text depends on its own seed and not on its batch (in half precision: up to rounding).
    """
    job = completions(model, as_prompts(prompts), length, chat, system)
    settings = _settings(model, as_recipe(recipe, options, generate), options, stop_at_eos, writes_whole(model))
    return collect(decode_job(model, job, settings, stop, seeds, batch_size, observe, trace))


def stream(
    model: TextModel,
    prompts: Prompt | Sequence[Prompt],
    recipe: Given = None,
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
    **options: Any,
) -> Iterator[tuple[int, Generation]]:
    """Complete prompts and give each text as soon as it is done, with its prompt's number, counted from 0.

    Everything is as for `generate`. If decoding breaks off, the error's `partial` is that of `decode_stream`: the rows
    in flight.
    """
    job = completions(model, as_prompts(prompts), length, chat, system)
    settings = _settings(model, as_recipe(recipe, options, stream), options, stop_at_eos, writes_whole(model))
    return decode_job(model, job, settings, stop, seeds, batch_size, observe, trace)


def infill(
    model: TextModel,
    texts: str | Sequence[str],
    recipe: Given = None,
    *,
    seeds: Sequence[int] | None = None,
    batch_size: int = 16,
    observe: Observer | None = None,
    trace: bool = False,
    **options: Any,
) -> list[Generation]:
    """Fill the holes of texts: `[MASK]` is one token, `[MASK:8]` eight, and the model's own mask token one.

    recipe, seeds, batch_size, observe, trace and options are as for `generate`. Every hole is filled: nothing stops at
    an EOS. Where a token holds the space before its word, one space that stands before a hole is left out, for the
    model to write.
    """
    job = infills(model, [texts] if isinstance(texts, str) else texts)
    settings = _settings(model, as_recipe(recipe, options, infill), options, stop_at_eos=False)
    return collect(decode_job(model, job, settings, (), seeds, batch_size, observe, trace))


def decode_job(
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

    The longest prompts go first, and the next takes the place of one that is done. `settle` must have filled in the
    recipe.
    """
    stops = as_stops(stop)
    seeds = noise.row_seeds(recipe.seed, len(job.rows)) if seeds is None else seeds
    if len(seeds) != len(job.rows):
        raise InputError(f"seeds must be one per prompt ({len(job.rows)}); got {len(seeds)}.")
    if not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch_size must be a whole number of at least 1; got {batch_size!r}.")
    canvas = Canvas.infill(job.rows, model.denoiser.mask_id)
    lane = Lane(canvas, recipe, seeds, early_stop(model.tokenizer, stops, recipe), max_in_flight=batch_size)
    rows = decode_stream(model, [lane], observe=observe, trace=trace)
    return ((i, read_text(model.tokenizer, job.prompts[i], job.whole, result, stops)) for _, i, result in rows)


def collect(finished: Iterator[tuple[int, Generation]]) -> list[Generation]:
    """All texts in the order of their prompts. If decoding breaks off, the error's `finished` holds those done."""
    texts: dict[int, Generation] = {}
    try:
        for i, text in finished:
            texts[i] = text
    except InfoGainError as error:
        error.finished = texts
        raise
    return [texts[i] for i in sorted(texts)]


def _settings(model: TextModel, recipe: Recipe, options: Plain, stop_at_eos: bool, whole: bool = False) -> Recipe:
    if not stop_at_eos and options.get("eos_ids"):
        raise InputError(
            "eos_ids says which tokens end a text; here none does (stop_at_eos=False, or infill). Drop it."
        )
    return settle(recipe, model, stop_at_eos, whole)


def settle(recipe: Recipe, model: TextModel, stop_at_eos: bool = True, whole: bool = False) -> Recipe:
    """Fill in what a recipe leaves open, as suits texts of this model.

    The block: the model's own width, or else the paper's; `whole`: all columns at once in place of the paper's.
    The ids that end a text: the checkpoint's, or none at all.
    """
    block = (0 if whole else BLOCK) if recipe.block is None else recipe.block
    ends = model.tokenizer.eos_ids if recipe.eos_ids is None else recipe.eos_ids
    if recipe.block is None or block == 0:
        block = model.denoiser.attention_block or block
    return replace(recipe, block=block, eos_ids=ends if stop_at_eos else ())


def writes_whole(model: TextModel) -> bool:
    """Whether a model's canvas is one block unless the recipe says otherwise: one of the zoo that writes from nothing.

    It was trained on whole canvases. Blocks of 16 would have the first columns of a text written before anything behind
    them is known.
    """
    return isinstance(model.tokenizer, Alphabet) and model.tokenizer.closed


def as_stops(stop: str | Sequence[str]) -> list[str]:
    """One stop string, or several, as a list."""
    stops = [stop] if isinstance(stop, str) else list(stop)
    if wrong := [stop for stop in stops if not isinstance(stop, str) or not stop]:
        raise InputError(f"a stop string must hold at least one character; got {wrong[0]!r}. Drop it.")
    return stops


@dataclass(frozen=True)
class EarlyStop:
    """Tells the loop at block ends whether a text holds a stop string. Equal ones decode alike, and share a lane."""

    tokenizer: Tokenizer
    stops: tuple[str, ...]

    def __call__(self, row: int, written: Sequence[int]) -> bool:  # noqa: ARG002  # the loop's
        text = self.tokenizer.decode(written)
        return any(stop in text for stop in self.stops)


def early_stop(tokenizer: Tokenizer, stops: Sequence[str], recipe: Recipe) -> EarlyStop | None:
    """What ends texts at stop strings; None where the loop cannot ask (beams, random order).

    There, texts are cut when they are done.
    """
    if not stops or recipe.order == "random" or recipe.sampler.traits.beam > 1:
        return None
    return EarlyStop(tokenizer, tuple(stops))


def read_text(tokenizer: Tokenizer, prompt: Prompt, whole: bool, result: Result, stops: Sequence[str]) -> Generation:
    """The Generation that a Result of one row holds."""
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
