"""Errors as clients see them: OpenAI's form, a status that says whose fault it is, and never a stack trace."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from infogain.errors import DeadlinePassed, Draining, InputError, QueueFull, RequestCancelled, UnknownName
from infogain.options import Plain
from infogain.serve.bodies import ChatMessage, SlotBody, StreamOptions, TextPart
from infogain.serve.replies import as_json

LOG = logging.getLogger("infogain.serve")
STATUS: dict[type[Exception], tuple[int, str]] = {
    InputError: (400, "invalid_request_error"),
    QueueFull: (429, "rate_limit_error"),
    Draining: (503, "server_error"),
    DeadlinePassed: (504, "timeout"),
    RequestCancelled: (499, "cancelled"),
}
PARTS: dict[str, type[BaseModel]] = {
    "stream_options": StreamOptions,
    "messages": ChatMessage,
    "content": TextPart,
    "slots": SlotBody,
}


class UnknownModel(UnknownName):
    """A model that is not served here."""


def problem(status: int, message: str, kind: str = "invalid_request_error", code: str | None = None) -> Plain:
    """An error in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code or str(status)}}


def describe(error: Exception) -> tuple[int, Plain]:
    """The status and body for an error. Of one that is not the client's, its kind is told and no more."""
    if isinstance(error, UnknownModel):
        return 404, problem(404, str(error), code="model_not_found")
    for kind, (status, name) in STATUS.items():
        if isinstance(error, kind):
            return status, problem(status, str(error), name)
    LOG.error("a request failed: %s", type(error).__name__)
    said = f"the model could not decode this request: {type(error).__name__}. The fault is the server's."
    return 500, problem(500, said, "server_error")


def respond(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(as_json(body), status, headers, media_type="application/json")


def respond_to(error: Exception) -> Response:
    """An error as a response; a full queue says when to come again."""
    status, body = describe(error)
    retry = {"Retry-After": str(error.retry_after)} if isinstance(error, QueueFull) else {}
    return respond(status, body, {"Retry-After": "5"} if isinstance(error, Draining) else retry)


def handle_errors(app: FastAPI, bodies: Mapping[str, type[BaseModel]]) -> None:
    """Give the app its answers to what goes wrong. `bodies` are the bodies of requests, by path."""

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return respond(400, problem(400, explain(error.errors(), bodies.get(request.url.path))))

    def refused(request: Request, error: Exception) -> Response:  # noqa: ARG001  # FastAPI's
        assert isinstance(error, HTTPException)
        kind = "invalid_request_error" if error.status_code < 500 else "server_error"
        return respond(error.status_code, problem(error.status_code, str(error.detail), kind), error.headers)

    def failed(request: Request, error: Exception) -> Response:  # noqa: ARG001  # FastAPI's
        return respond_to(error)

    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, failed)


def explain(errors: Sequence[Mapping[str, Any]], body: type[BaseModel] | None) -> str:
    """What is wrong with a body, in a sentence; a field that is not known gets a suggestion."""
    first = errors[0]
    where = [part for part in first["loc"][1:] if isinstance(part, str | int)]
    names = [part for part in where if isinstance(part, str)]
    if first["type"] == "extra_forbidden" and names:
        owner = next((PARTS[name] for name in reversed(names[:-1]) if name in PARTS), body)
        return str(UnknownName("field", names[-1][:80], owner.model_fields if owner else ()))
    if first["type"] == "json_invalid":
        return "the body must be JSON; it is not. Send Content-Type: application/json and valid JSON."
    path = ".".join(map(str, where)) or "the body"
    return f"{path[:200]}: {first['msg']}."
