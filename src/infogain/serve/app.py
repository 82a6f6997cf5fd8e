"""The app: OpenAI's paths over engines, and a few of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from anyio.to_thread import run_sync
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from infogain.errors import InputError, UnknownName
from infogain.options import Plain
from infogain.serve.asked import TextRequest
from infogain.serve.bodies import ChatBody, CompletionBody, DecisionBody, InfillBody, SamplingBody
from infogain.serve.decision_paths import decide, decision_of
from infogain.serve.event_stream import Conversation, EventStream
from infogain.serve.guards import App, BodyGuard, ClientGuard, TokenGuard
from infogain.serve.problems import UnknownModel, handle_errors, respond, respond_to
from infogain.serve.prometheus_metrics import metrics_page
from infogain.serve.replies import TextReply, costs_of, prompt_tokens_of, told_of, usage_of
from infogain.serve.served_model import ServedModel, ServerLimits, asks_for_reveal_steps, find_model
from infogain.version import __version__

BODIES: dict[str, type[BaseModel]] = {
    "/v1/completions": CompletionBody,
    "/v1/chat/completions": ChatBody,
    "/v1/infill": InfillBody,
    "/v1/decisions": DecisionBody,
}
Output = TypeVar("Output")


def make_app(served: Mapping[str, ServedModel], limits: ServerLimits, token: str | None = None) -> App:
    """The app for these models, behind its guards. `token` unset: everybody may ask."""
    app = FastAPI(title="infogain", version=__version__, docs_url=None, redoc_url=None)
    handle_errors(app, BODIES)
    _add_paths_about(app, served)
    _add_texts(app, served)
    guarded: App = ClientGuard(BodyGuard(app, limits.body_bytes, seconds=30), limits.per_client)
    return TokenGuard(guarded, token) if token is not None else guarded


def _add_paths_about(app: FastAPI, served: Mapping[str, ServedModel]) -> None:
    @app.get("/health")
    def health() -> Response:
        """Tell that the process answers."""
        return respond(200, {"status": "ok"})

    @app.get("/ready")
    def ready() -> Response:
        """Tell whether requests are taken."""
        engines = [model.engine for model in served.values()]
        broken, draining = any(e.failure for e in engines), any(e.draining for e in engines)
        status = "broken" if broken else "draining" if draining else "ready"
        return respond(200 if status == "ready" else 503, {"status": status})

    @app.get("/metrics")
    def metrics() -> Response:
        """Tell Prometheus what has happened."""
        page, kind = metrics_page({name: model.engine for name, model in served.items()})
        return Response(page, media_type=kind)

    @app.get("/v1/models")
    def models() -> Response:
        """List the models that are served."""
        return respond(200, {"object": "list", "data": [_about(model) for model in served.values()]})

    @app.get("/v1/models/{name:path}")
    def model(name: str) -> Response:
        """Tell of one model."""
        return respond(200, _about(_find(served, name)))


def _about(model: ServedModel) -> Plain:
    own = {
        "provenance": model.text_model.provenance,
        "recipe": model.settled_recipe.plain(),
        "chats": model.text_model.tokenizer.chats,
    }
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "infogain", "infogain": own}


def _find(served: Mapping[str, ServedModel], name: str | None) -> ServedModel:
    try:
        return find_model(served, name)
    except UnknownName as error:
        raise UnknownModel("model", (name or "")[:80], served) from error


def _add_texts(app: FastAPI, served: Mapping[str, ServedModel]) -> None:
    @app.post("/v1/completions")
    async def completions(body: CompletionBody, request: Request) -> Response:
        """Complete prompts."""
        return await _answer(body, request)

    @app.post("/v1/chat/completions")
    async def chat_completions(body: ChatBody, request: Request) -> Response:
        """Answer a conversation."""
        return await _answer(body, request)

    @app.post("/v1/infill")
    async def infill(body: InfillBody, request: Request) -> Response:
        """Fill the holes of texts."""
        try:
            return respond(200, await _infill(_find(served, body.model), body, request))
        except Exception as error:
            return respond_to(error)

    @app.post("/v1/decisions")
    async def decisions(body: DecisionBody) -> Response:
        """Tell how likely each allowed answer is."""
        try:
            model = _find(served, body.model)
            return respond(200, await decide(model, await _aside(lambda: decision_of(model, body))))
        except Exception as error:
            return respond_to(error)

    async def _answer(body: SamplingBody, request: Request) -> Response:
        try:
            model = _find(served, body.model)
            if isinstance(body, ChatBody) and not model.text_model.tokenizer.chats:
                raise InputError(f"a chat needs a chat template, which {model.name} lacks. Use /v1/completions.")
            asked = await _aside(lambda: model.request_of(body, _client(request)))
            reply = _reply(model, body, asked)
            talk = Conversation(model.engine, asked)
            if body.stream:
                usage = bool(body.stream_options and body.stream_options.include_usage)
                return EventStream(talk, reply, usage)
            return respond(200, reply.whole(await talk.answers(request)))
        except Exception as error:
            return respond_to(error)


async def _aside(work: Callable[[], Output]) -> Output:
    """Run what takes a while, such as tokenising a long prompt, outside the server's loop."""
    return await run_sync(work)


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _reply(model: ServedModel, body: SamplingBody, asked: TextRequest) -> TextReply:
    tokens = prompt_tokens_of(asked.job, model.text_model.denoiser.mask_id, body.n or 1)
    return TextReply(
        isinstance(body, ChatBody), model.name, model.text_model.tokenizer, tokens, asks_for_reveal_steps(body)
    )


async def _infill(model: ServedModel, body: InfillBody, request: Request) -> Plain:
    asked = await _aside(lambda: model.infill_of(body, _client(request)))
    answers = await Conversation(model.engine, asked).answers(request)
    steps = asks_for_reveal_steps(body)
    choices = [
        {"index": i, "text": answer.generation.text, "finish_reason": "stop", "infogain": told_of(answer, steps)}
        for i, answer in enumerate(answers)
    ]
    usage = usage_of(prompt_tokens_of(asked.job, model.text_model.denoiser.mask_id), answers)
    about = {"object": "infill", "model": model.name, "choices": choices, "usage": usage}
    return {**about, "infogain": costs_of(answers)}
