"""The untrusted side: run the program, then answer the judge's calls. What it says is an answer, never a verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from .channel import LONGEST, Channel, ChannelClosed, encode, pack, unpack
from .traceback_text import TAIL, traceback_text

NAME = "program"
FILE = f"{NAME}.py"
READY = "ready"


def serve(channel: Channel) -> NoReturn:
    """Run the program that the judge sends, then answer the judge's calls until it hangs up."""
    me = os.getpid()
    objects: dict[int, object] = {}
    channel.send(READY)
    source = channel.receive()
    answer = _attempt(lambda: _names(_run(source)), objects, source)
    while os.getpid() == me:  # a child that the program forked has nothing to say
        channel.write(answer)
        try:
            question = channel.receive()
        except ChannelClosed:
            break
        answer = _attempt(partial(_answer, question, objects), objects, source)
    os._exit(0)


def _run(source: str) -> dict[str, Any]:
    module = ModuleType(NAME)
    sys.modules[NAME] = module
    exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _names(space: dict[str, Any]) -> dict[str, Any]:
    """The names that the tests may use. A module is only named: the judge imports its own."""
    public = {name: value for name, value in space.items() if not name.startswith("__")}
    modules = {name: value.__name__ for name, value in public.items() if isinstance(value, ModuleType)}
    return {"modules": modules, "values": {name: public[name] for name in public if name not in modules}}


def _answer(question: Any, objects: dict[int, object]) -> object:
    number, attribute, *rest = question
    target: Any = objects[number]
    if attribute:
        return getattr(target, attribute)
    args, named = (unpack(part, objects.__getitem__) for part in rest)
    return target(*args, **named)


def _attempt(work: Callable[[], object], objects: dict[int, object], source: str) -> bytes:
    """The message that says what came of it. What is too large to be said is too much memory, wherever that shows."""

    def number_of(value: object) -> int:
        objects[id(value)] = value  # kept alive, so that its number stays its own
        return id(value)

    try:
        message = encode(["value", pack(work(), number_of)])
        if len(message) > LONGEST:
            raise MemoryError(f"a result may take {LONGEST} bytes as JSON; this one takes {len(message)}")
        return message
    except BaseException as error:
        known = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return encode(["raise", known.__name__, str(error)[:TAIL], traceback_text(error, FILE, source)])
