"""Answers while they are decoded: events cross from the engine's thread into the server's loop, and out as chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from infogain.options import Plain
from infogain.serve.asked import Committed, Drafted, Ended, Event, Revealed, RowDone, TextAnswer, TextRequest, Ticket
from infogain.serve.engine import Engine
from infogain.serve.problems import describe
from infogain.serve.replies import TextReply, as_json

DONE = b"data: [DONE]\n\n"


class Conversation:
    """One request to an engine, followed from the server's loop."""

    def __init__(self, engine: Engine, asked: TextRequest) -> None:
        self._engine, self._events = engine, asyncio.Queue[Event]()
        self._loop = asyncio.get_running_loop()
        self.ticket: Ticket = engine.submit(asked, self._hear)

    def _hear(self, event: Event) -> None:
        """Called in the engine's thread."""
        self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    def give_up(self) -> None:
        """Nobody listens any more. A request that is answered stays so."""
        self._engine.cancel(self.ticket)

    async def events(self) -> AsyncIterator[Committed | Drafted | Revealed | RowDone]:
        """What is told, up to the end; raises what the request failed with."""
        while True:
            event = await self._events.get()
            if not isinstance(event, Ended):
                yield event
            elif event.error is not None:
                raise event.error
            else:
                return

    async def answers(self, request: Request) -> list[TextAnswer]:
        """All answers; raises what the request failed with. Where the client goes away, it is cancelled."""
        leaving = asyncio.create_task(_until_gone(request))
        leaving.add_done_callback(lambda task: None if task.cancelled() else self.give_up())
        try:
            async for _ in self.events():
                pass
        finally:
            leaving.cancel()
            self.give_up()
        return self.ticket.result()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Answers as chunks, while they are decoded; a client that goes away cancels them."""

    def __init__(self, talk: Conversation, reply: TextReply, usage: bool) -> None:
        super().__init__(_chunks(talk, reply, usage), media_type="text/event-stream")
        self.talk = talk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.talk.give_up()


async def _chunks(talk: Conversation, reply: TextReply, usage: bool) -> AsyncIterator[bytes]:
    """The lines of an event stream, none of them named: official clients read no others."""
    answers: list[TextAnswer] = []
    begun: set[int] = set()
    try:
        async for event in talk.events():
            if event.row not in begun and (opening := reply.first(event.row)):
                yield _line(opening)
            begun.add(event.row)
            if isinstance(event, Committed | Drafted):
                yield _line(reply.more(event.row, event.text))
            elif isinstance(event, Revealed):
                yield _line(reply.step(event))
            else:
                answers.append(event.answer)
                yield _line(reply.last(event.row, event.answer))
    except Exception as error:
        yield _line(describe(error)[1])  # and no [DONE]: a half answer must not look whole
        return
    if usage:
        yield _line(reply.costs(answers))
    yield DONE


def _line(value: Plain) -> bytes:
    return b"data: " + as_json(value) + b"\n\n"
