"""Who may ask, and how much may come: checks that stand before the app, on the bare connection."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from infogain.serve.problems import problem
from infogain.serve.replies import as_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OPEN = {"/health"}  # paths that need no token


class TokenGuard:
    """Lets requests in that carry the bearer token; compares in constant time."""

    def __init__(self, app: App, token: str) -> None:
        self.app, self.token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN and not self._allowed(scope):
            said = "a request needs the server's token: Authorization: Bearer …, which an openai client calls api_key."
            await refuse(send, 401, said, {b"www-authenticate": b"Bearer"})
            return
        await self.app(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        return hmac.compare_digest(token.strip(), self.token) and scheme.lower() == b"bearer"


class ClientGuard:
    """Lets so many requests of one client be open at a time; clients are told apart by their addresses."""

    def __init__(self, app: App, most: int) -> None:
        self.app, self.most = app, most
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        client = (scope.get("client") or ("",))[0]
        if self._open[client] >= self.most:
            said = f"a client may have {self.most} requests open at a time, and this one has. Wait for an answer."
            await refuse(send, 429, said, {b"retry-after": b"1"})
            return
        self._open[client] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._open[client] -= 1
            self._open += Counter()  # clients without requests are forgotten


class BodyGuard:
    """Reads a request's body before the app does, and refuses one that is too large or comes too slowly."""

    def __init__(self, app: App, most: int, seconds: float) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(scope, receive), self.seconds)
        except TimeoutError:
            await refuse(send, 408, f"a body must come within {self.seconds:g} s; this one did not. Send it again.")
            return
        if body is None:
            await refuse(send, 413, f"a body must have at most {self.most} bytes on this server. Ask for less at once.")
            return
        await self.app(scope, _replayed(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None where it is too large."""
        said = [value for name, value in scope["headers"] if name == b"content-length"]
        if said and said[0].isdigit() and int(said[0][:20]) > self.most:
            return None
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self.most:
                return None
            if message["type"] != "http.request" or not message.get("more_body", False):
                return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, and after it what else comes: the end of the connection."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


async def refuse(send: Send, status: int, message: str, headers: MutableMapping[bytes, bytes] | None = None) -> None:
    body = as_json(problem(status, message))
    shown = {b"content-type": b"application/json", b"content-length": str(len(body)).encode(), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": list(shown.items())})
    await send({"type": "http.response.body", "body": body})
