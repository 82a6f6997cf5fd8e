"""A model that is served: what a request's body asks of it becomes a request to its engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infogain.errors import InputError, UnknownName
from infogain.generate import as_stops, settle, writes_whole
from infogain.options import Plain, fields
from infogain.recipe import Recipe
from infogain.resolve import as_recipe
from infogain.serve.asked import TextRequest
from infogain.serve.bodies import (
    ChatBody,
    CompletionBody,
    InfillBody,
    ModelBody,
    SamplingBody,
    check_depth,
    check_neutral,
)
from infogain.serve.engine import Engine
from infogain.text.prompts import COUNT, MARKER, Job, Prompt, completions, infills
from infogain.text.text_model import TextModel

OPENAI = {"temperature": "tau_token", "top_p": "top_p"}  # what OpenAI calls options of samplers


@dataclass(frozen=True)
class ServerLimits:
    """The most that one request may ask for."""

    body_bytes: int = 2**20
    columns: int = 8192  # of a row: prompt and text
    max_tokens: int = 4096  # to write
    texts: int = 16  # answers, over all prompts
    candidates: int = 64  # canvases of a row that are evaluated in a step
    stops: int = 16
    combinations: int = 256  # of answers, in a decision
    per_client: int = 64  # requests of one address that are open at a time
    seconds: float = 600.0


@dataclass(frozen=True)
class ServedModel:
    """A model, its engine, and the recipe that requests start from."""

    name: str
    text_model: TextModel
    engine: Engine
    recipe: Recipe
    limits: ServerLimits
    length: int | None = None  # tokens to write where a request does not say; unset: 256, or what the context has left

    @property
    def settled_recipe(self) -> Recipe:
        """How a completion is decoded that says nothing of it."""
        return self._settled(self.recipe)

    def _settled(self, recipe: Recipe) -> Recipe:
        return settle(recipe, self.text_model, True, writes_whole(self.text_model))

    def request_of(self, body: SamplingBody, client: str) -> TextRequest:
        """What a completion or a chat asks of the engine. Raises InputError where it cannot be honoured."""
        check_neutral(body)
        own = _OwnOptions.of(body)
        prompts = _prompts(body)
        count = (body.n or 1) * len(prompts)
        self._check_most("n, times the number of prompts,", count, self.limits.texts)
        if body.length is not None:
            self._check_most("max_tokens", body.length, self.limits.max_tokens)
        stops = as_stops([] if body.stop is None else body.stop)
        self._check_most("the number of stop strings", len(stops), self.limits.stops)
        job = self._job(prompts, body, body.n or 1)
        options = body.stream_options
        if options and not body.stream:
            raise InputError("stream_options needs stream: true. Set it, or drop stream_options.")
        if body.diffusing and not body.stream:
            raise InputError("diffusing needs stream: true. Set it, or drop diffusing.")
        return self._request(
            job,
            self._settled(self._recipe(body, own.options)),
            own,
            stop=stops,
            stream=bool(body.stream),
            drafts=bool(body.diffusing),
            reveals=bool(options and options.include_denoising),
            logprobs=body.top_logprobs_asked,
            client=client,
        )

    def infill_of(self, body: InfillBody, client: str) -> TextRequest:
        """What texts with holes ask of the engine."""
        own = _OwnOptions.of(body)
        texts = [body.text] if isinstance(body.text, str) else body.text
        self._check_most("the number of texts", len(texts), self.limits.texts)
        for text in texts:  # before the masks are made
            counts = [hole[1] or "1" for hole in MARKER.finditer(text)]
            masks = sum(int(count) for count in counts if COUNT.fullmatch(count))
            self._check_most("the number of masks in a text", masks, self.limits.max_tokens)
        if own.options.get("eos_ids"):
            raise InputError("eos_ids says which tokens end a text; in texts with holes none does. Drop it.")
        recipe = settle(self._recipe(body, own.options), self.text_model, stop_at_eos=False)
        return self._request(infills(self.text_model, texts), recipe, own, client=client)

    def _request(self, job: Job, recipe: Recipe, own: _OwnOptions, **rest: Any) -> TextRequest:
        self.check_columns(map(len, job.rows))
        traits = recipe.sampler.traits
        candidates = traits.candidates * traits.beam * traits.copies
        self._check_most("the number of candidates of a text", candidates, self.limits.candidates)
        seconds = self.limits.seconds if own.seconds is None else own.seconds
        return TextRequest(job, recipe, seconds=min(seconds, self.limits.seconds), **rest)

    def check_columns(self, lengths: Iterable[int]) -> None:
        """Refuse rows that are too long."""
        for length in lengths:
            self._check_most("the number of columns of a row, prompt and text together,", length, self.limits.columns)

    def _job(self, prompts: Sequence[Prompt], body: SamplingBody, n: int) -> Job:
        chat, most = isinstance(body, ChatBody), self.limits.max_tokens
        job = completions(self.text_model, prompts, body.length or self.length, chat)
        if any(row.count(self.text_model.denoiser.mask_id) > most for row in job.rows):  # nobody said how long
            job = completions(self.text_model, prompts, most, chat)
        rows = [row for row in job.rows for _ in range(n)]
        return replace(job, prompts=[prompt for prompt in job.prompts for _ in range(n)], rows=rows)

    def _recipe(self, body: SamplingBody | InfillBody, options: Plain) -> Recipe:
        """The server's recipe, with what the request asks for over it."""
        given = {name: getattr(body, name) for name in OPENAI if getattr(body, name) is not None}
        if twice := [name for name in given if OPENAI[name] in options]:
            raise InputError(f"{twice[0]} is infogain.{OPENAI[twice[0]]}; got both. Drop one of them.")
        if body.seed is not None and "seed" in options:
            raise InputError("seed was given twice, once in infogain. Drop one of them.")
        seed = {} if body.seed is None else {"seed": body.seed}
        recipe = as_recipe(self.recipe, {**options, **seed}, _known)
        for name, value in given.items():
            recipe = _with_openai_option(recipe, name, value)
        return recipe

    def _check_most(self, what: str, count: int, most: int) -> None:
        if count > most:
            raise InputError(f"{what} must be at most {most} on this server; got {count}. Ask for less.")


def _known(*, reveal_steps: bool, seconds: float) -> None:
    """Name what `infogain` may hold besides options of recipes, for suggestions where one is misspelled."""


@dataclass(frozen=True)
class _OwnOptions:
    """The field `infogain` of a body: options of a recipe, and what is asked besides."""

    options: Plain
    reveal_steps: bool
    seconds: float | None

    @classmethod
    def of(cls, body: ModelBody) -> _OwnOptions:
        options = dict(body.infogain or {})
        check_depth(options)
        reveal_steps, seconds = options.pop("reveal_steps", False), options.pop("seconds", None)
        if not isinstance(reveal_steps, bool):
            raise InputError(f"infogain.reveal_steps must be true or false; got {reveal_steps!r:.80}.")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
            raise InputError(f"infogain.seconds must be a number above 0; got {seconds!r:.80}.")
        return cls(options, reveal_steps, seconds)


def asks_for_reveal_steps(body: ModelBody) -> bool:
    return _OwnOptions.of(body).reveal_steps


def _prompts(body: SamplingBody) -> list[Prompt]:
    if isinstance(body, ChatBody):
        return [[{"role": message.role, "content": message.text} for message in body.messages]]
    assert isinstance(body, CompletionBody)
    prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
    if not prompts:
        raise InputError("a request must hold at least one prompt; got an empty list.")
    return list(prompts)


def _with_openai_option(recipe: Recipe, name: str, value: float) -> Recipe:
    """OpenAI's temperature or top_p, as the sampler's own option or that of the sampler inside it."""
    ours, sampler = OPENAI[name], recipe.sampler
    if ours in fields(type(sampler)):
        return as_recipe(recipe, {ours: value})
    base = getattr(sampler, "base", None)
    if base is not None and ours in fields(type(base)):
        return as_recipe(recipe, {"base": {ours: value}})
    raise InputError(f"{name} needs a sampler that draws tokens; {sampler.name} does not. Leave it out.")


def find_model(served: Mapping[str, ServedModel], name: str | None) -> ServedModel:
    """The model of this name; unset: the only one there is. Raises UnknownName."""
    if name is None:
        if len(served) > 1:
            raise InputError(f"a request must name its model where several are served: {', '.join(served)}.")
        return next(iter(served.values()))
    if name not in served:
        raise UnknownName("model", name, served)
    return served[name]
