"""Asks a judge behind an OpenAI-compatible server, with patience: limits are honoured, failures tried again."""

from __future__ import annotations

import http.client
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from infogain.errors import InputError, JudgeError
from infogain.evals.judging.pace import Pace
from infogain.evals.judging.secret import Secret
from infogain.options import Plain
from infogain.version import __version__

LOG = logging.getLogger("infogain")
ENDPOINT = "/chat/completions"
PASSING = (408, 409, 425, 429)  # states that pass by themselves, as those from 500 on do
FILTERED = ("content_filter", "content_policy_violation")  # codes of a request that the provider will not answer
FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 1.0, 60.0, 600.0  # seconds
LARGEST = 2**24  # bytes of a reply
SHOWN = 300  # characters of what a server says
ADVICE = {
    400: "Check --judge-model and --judge-option.",
    401: "Set the key in the variable that --judge-key-env names.",
    403: "Check that the key may use this model.",
    404: "Check --judge-url, which ends before /chat/completions, and --judge-model.",
}


@dataclass(frozen=True)
class JudgeModel:
    """A model behind a server, and the settings it is asked with. What decides a verdict is all here but the texts."""

    url: str
    model: str
    options: Plain = field(default_factory=lambda: {"temperature": 0})  # further fields of a request

    def __post_init__(self) -> None:
        """Refuse an address that could hold a secret: it is not repeated in what is said."""
        try:
            parts = urlsplit(self.url)
        except ValueError:
            parts = urlsplit("")
        if "@" in self.url or parts.query or parts.fragment:
            raise InputError(
                "the address of a judge must hold neither a name, a password nor a query; this one does. Keys are read "
                "from the variable that --judge-key-env names."
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"the address of a judge must be such as https://api.openai.com/v1; got {self.url!r:.80}. "
                "It begins with https:// or http://."
            )

    @property
    def host(self) -> str:
        """Host and port, for people."""
        return urlsplit(self.url).netloc

    @property
    def endpoint(self) -> str:
        return self.url.rstrip("/").removesuffix(ENDPOINT) + ENDPOINT


class Reply(NamedTuple):
    """What a judge said."""

    text: str | None
    refused: bool = False  # the model or its provider will not answer
    usage: Plain | None = None  # tokens, as the server counts them


class Trouble(NamedTuple):
    """A failure that may pass, and for how long the server asks to be left alone."""

    reason: str
    wait: float | None = None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected request would show the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class JudgeClient:
    """A judge, and how it is asked."""

    judge: JudgeModel
    key: Secret = field(default_factory=lambda: Secret(""))
    pace: Pace = field(default_factory=Pace)
    timeout: float = 120.0  # seconds
    retries: int = 6
    wall_clock: Callable[[], float] = time.time  # dates of Retry-After are compared with it

    def ask(self, messages: list[dict[str, str]]) -> Reply:
        """The judge's reply. A request that fails is tried again, each time after a longer wait."""
        body = {"model": self.judge.model, "messages": messages, **self.judge.options}
        data = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
        reason = "it was stopped"
        for attempt in range(self.retries + 1):
            if not self.pace.wait():
                break
            outcome = self._send(data)
            if isinstance(outcome, Reply):
                return outcome
            reason = outcome.reason
            if attempt == self.retries:
                break
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT) if outcome.wait is None else outcome.wait
            LOG.warning("%s: %s; the next attempt is in %.0f seconds", self.judge.host, reason, wait)
            self.pace.pause(wait)
        raise JudgeError(
            f"the judge {self.judge.model} at {self.judge.host} must answer; after {self.retries + 1} attempts it did "
            f"not: {reason}. The same command goes on where it stopped."
        )

    def _send(self, data: bytes) -> Reply | Trouble:
        headers = {"Content-Type": "application/json", "User-Agent": f"infogain/{__version__}", **self.key.headers()}
        request = urllib.request.Request(self.judge.endpoint, data, headers, method="POST")
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.timeout) as response:
                raw = response.read(LARGEST)
        except urllib.error.HTTPError as error:
            return self._failed(error.code, error.headers, _body(error))
        except (OSError, http.client.HTTPException) as error:
            return Trouble(self._words(str(error) or type(error).__name__))
        return self._read(raw)

    def _failed(self, status: int, headers: Message, raw: bytes) -> Reply | Trouble:
        """What a reply other than 200 means: a refusal to judge, something that passes, or a mistake to be mended."""
        told = _error_of(raw)
        if told.get("code") in FILTERED:
            return Reply(None, refused=True)
        words = self._words(str(told.get("message") or raw.decode(errors="replace")))
        if (status in PASSING or status >= 500) and told.get("code") != "insufficient_quota":
            wait = self._asked_to_wait(headers)
            if wait is None or wait <= LONGEST_ASKED:
                return Trouble(f"HTTP {status} ({words})", wait)
            words = f"it asks to be left alone for {wait:.0f} seconds"
        raise JudgeError(
            f"the judge {self.judge.model} at {self.judge.host} must answer with HTTP 200; it answered {status}: "
            f"{words}. {ADVICE.get(status, 'The same command goes on where it stopped.')}"
        )

    def _asked_to_wait(self, headers: Message) -> float | None:
        """Seconds that Retry-After asks for, which holds them or a date."""
        asked = headers.get("Retry-After")
        if asked is None:
            return None
        with suppress(ValueError):
            return max(0.0, float(asked))
        with suppress(ValueError):
            return max(0.0, parsedate_to_datetime(asked).timestamp() - self.wall_clock())
        return None

    def _read(self, raw: bytes) -> Reply:
        try:
            told = json.loads(raw)
            choice = told["choices"][0]
            message = choice["message"]
            text, refusal = message.get("content"), message.get("refusal")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            shown = self._words(raw.decode(errors="replace"))
            raise JudgeError(
                f"the judge at {self.judge.host} must answer as OpenAI's chat completions do, with choices; it "
                f"answered: {shown}. {ADVICE[404]}"
            ) from None
        usage = told.get("usage")
        refused = bool(refusal) or choice.get("finish_reason") == "content_filter"
        said = self.key.hide(text) if isinstance(text, str) else None
        return Reply(said, refused, usage if isinstance(usage, dict) else None)

    def _words(self, text: str) -> str:
        """What a server says, short and without the key."""
        return " ".join(self.key.hide(text).split())[:SHOWN]


def _body(error: urllib.error.HTTPError) -> bytes:
    """What came with an error, as far as it came."""
    try:
        return error.read(LARGEST)
    except (OSError, http.client.HTTPException):
        return b""


def _error_of(raw: bytes) -> Plain:
    """The error that a server tells of, as OpenAI writes it; empty where it is written in another way."""
    try:
        error = json.loads(raw)["error"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return error if isinstance(error, dict) else {"message": error}
