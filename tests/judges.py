"""A judge that does what a test says: an OpenAI-compatible server on this machine, in a thread."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MARK = re.compile(r"^=== [0-9a-f]{12} ===$", re.MULTILINE)


class Answer(NamedTuple):
    """What the server sends."""

    body: Any
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Asked(NamedTuple):
    """What the server was sent."""

    instruction: str
    first: str
    second: str
    body: dict[str, Any]
    headers: dict[str, str]
    path: str


Decide = Callable[[Asked], str | Answer]


def completion(text: str | None, **more: Any) -> Answer:
    """A reply as OpenAI's chat completions write it; a `refusal` or `finish_reason` may be given."""
    message = {"role": "assistant", "content": text, "refusal": more.pop("refusal", None)}
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}
    return Answer({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 3}, **more})


class ScriptedJudge:
    """The server's address, and every request that came, in their order."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.asked: list[Asked] = []
        self.url = ""

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Answer:
        parts = [part.strip("\n") for part in MARK.split(body["messages"][-1]["content"])]
        asked = Asked(parts[1], parts[3], parts[5], body, headers, path)
        self.asked.append(asked)
        given = self.decide(asked)
        return completion(f"Verdict: {given}") if isinstance(given, str) else given


@contextmanager
def judging(decide: Decide) -> Iterator[ScriptedJudge]:
    """Run a judge that decides in this way."""
    judge = ScriptedJudge(decide)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = judge.answer(self.path, dict(self.headers), body)
            raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    judge.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield judge
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
