"""Run the app until a signal: then answer what was taken, and turn newcomers away."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from infogain.errors import InputError
from infogain.serve.engine import Engine
from infogain.serve.guards import App

TOKEN = "INFOGAIN_TOKEN"
MOST_CONNECTIONS = 1000
HEADER_BYTES = 32 * 1024


class PromptHeaders(H11Protocol):
    """A connection that is closed where the headers of a request do not come in time."""

    seconds = 15.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self._late = self.loop.call_later(self.seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:  # the headers are there
            self._forget()
        elif self._late is None:  # those of a further request have begun
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class DrainingServer(uvicorn.Server):
    """A server that the first signal drains and the second ends at once."""

    def __init__(self, config: uvicorn.Config, engines: Iterable[Engine], seconds: float) -> None:
        super().__init__(config)
        self.engines, self.seconds = list(engines), seconds
        self._drain: threading.Thread | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._drain is not None:
            super().handle_exit(sig, frame)
            return
        self._drain = threading.Thread(target=self._answer_and_end, args=(sig, frame), daemon=True)
        self._drain.start()

    def _answer_and_end(self, sig: int, frame: FrameType | None) -> None:
        """Until all is answered the port stays open: newcomers are told 503, and clients that wait get their texts."""
        threads = [threading.Thread(target=engine.drain, args=(self.seconds,)) for engine in self.engines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that a port which is not free is found out at once."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InputError(
            f"the server must be able to listen on {host}, port {port}; it is not: {error.strerror}. "
            "Give another --host or --port; with port 0 any that is free is taken."
        ) from error


def shown_address(bound: socket.socket) -> str:
    host, port, *_ = bound.getsockname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def make_server(app: App, engines: Iterable[Engine], seconds: float = 600.0) -> DrainingServer:
    """A server to be run on a socket. `seconds`: how long requests may take, and so draining."""
    config = uvicorn.Config(
        app,
        http=PromptHeaders,
        ws="none",
        lifespan="off",
        log_level="warning",  # no access log: who asked what is nobody's business
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=30,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    # prompts must not come into logs: what a tokenizer does not know is a part of one
    warnings.filterwarnings("ignore", message="the tokenizer does not know")
    return DrainingServer(config, engines, seconds)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def find_token(host: str, file: Path | None, no_auth: bool) -> str | None:
    """The token that requests must carry: of a file, or else of the environment. None: everybody may ask."""
    token = file.read_text(encoding="utf-8") if file else os.environ.get(TOKEN)
    if token is not None and (not token.strip() or not token.strip().isascii() or len(token.split()) > 1):
        where = str(file) if file else TOKEN
        raise InputError(f"a token must be one word of ASCII characters; {where} holds something else. Make one anew.")
    if no_auth and token is not None:
        raise InputError("--no-auth lets everybody in, and a token was given too. Drop one of them.")
    if token is None and not no_auth and not is_loopback(host):
        raise InputError(
            f"{host} can be reached from other machines, so requests must carry a token: give --token-file or set "
            f"{TOKEN}; --no-auth lets everybody in."
        )
    return token.strip() if token is not None else None
