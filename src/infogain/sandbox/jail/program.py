"""The untrusted side: run the program, then answer the judge's calls. What it says is an answer, never a verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from .story import TAIL, tell
from .wire import LONGEST, Line, Silence, encode, pack, unpack

NAME = "program"
FILE = f"{NAME}.py"
READY = "ready"


def serve(line: Line) -> NoReturn:
    """Until the judge hangs up."""
    me = os.getpid()
    kept: dict[int, object] = {}
    line.send(READY)
    source = line.receive()
    answer = _attempt(lambda: _names(_run(source)), kept, source)
    while os.getpid() == me:  # a child that the program forked has nothing to say
        line.write(answer)
        try:
            question = line.receive()
        except Silence:
            break
        answer = _attempt(partial(_answer, question, kept), kept, source)
    os._exit(0)


def _run(source: str) -> dict[str, Any]:
    module = ModuleType(NAME)
    sys.modules[NAME] = module
    exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _names(space: dict[str, Any]) -> dict[str, Any]:
    """What the tests may speak of. A module is only named: the judge imports its own."""
    public = {name: value for name, value in space.items() if not name.startswith("__")}
    modules = {name: value.__name__ for name, value in public.items() if isinstance(value, ModuleType)}
    return {"modules": modules, "values": {name: public[name] for name in public if name not in modules}}


def _answer(question: Any, kept: dict[int, object]) -> object:
    number, attribute, *rest = question
    target: Any = kept[number]
    if attribute:
        return getattr(target, attribute)
    args, named = (unpack(part, kept.__getitem__) for part in rest)
    return target(*args, **named)


def _attempt(work: Callable[[], object], kept: dict[int, object], source: str) -> bytes:
    """The message that says what came of it. What is too large to be said is too much memory, wherever that shows."""

    def keep(value: object) -> int:
        kept[id(value)] = value  # and alive, so that its number stays its own
        return id(value)

    try:
        message = encode(["value", pack(work(), keep)])
        if len(message) > LONGEST:
            raise MemoryError(f"a result may take {LONGEST} bytes as JSON; this one takes {len(message)}")
        return message
    except BaseException as error:
        known = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return encode(["raise", known.__name__, str(error)[:TAIL], tell(error, FILE, source)])
