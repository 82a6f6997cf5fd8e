"""The trusted side: run the tests against a program that lives in another process, and say what came of it.

The tests call the program's functions through handles; arguments and results travel as copies of plain values. So
nothing that the program patches, prints, compares or exits with decides. What comes over the line may be forged.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import os
import signal
import sys
from types import ModuleType
from typing import Any, NoReturn

from .program import NAME
from .story import TAIL, tell
from .walls import FILE_MB
from .wire import Line, Silence, pack, unpack

FILE = "tests.py"


class Handle:
    """Stands for what is not plain, such as a function of the program: call it, look into it, go through it."""

    def __init__(self, judge: Judge, number: int) -> None:
        self._judge, self._number = judge, number

    def __call__(self, *args: object, **named: object) -> Any:
        return self._judge.ask(self._number, "", args, named)

    def __getattr__(self, name: str) -> Any:
        return self._judge.ask(self._number, name, (), {})

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")()

    def __next__(self) -> Any:
        return self.__getattr__("__next__")()


class Judge:
    """`line` leads to the program, which runs in the process `child`; all print to the file `output`."""

    def __init__(self, line: Line, child: int, output: int, verdict: int) -> None:
        self.line, self.child, self.output, self.verdict = line, child, output, verdict
        self.handles: dict[int, Handle] = {}

    def judge(self, program: str, tests: str) -> NoReturn:
        try:
            self.line.receive()  # it is ready, and dies if we do
            self.line.send(program)
            exec(compile(tests, FILE, "exec", dont_inherit=True), self._space(self._receive()))
        except MemoryError as error:
            self.finish("memory", tell(error, FILE, tests))
        except BaseException as error:
            self.finish("failed", tell(error, FILE, tests))
        self.finish("passed")

    def ask(self, number: int, attribute: str, args: tuple[object, ...], named: dict[str, object]) -> object:
        self.line.send([number, attribute, pack(args, _number), pack(named, _number)])
        return self._receive()

    def finish(self, status: str, story: str = "") -> NoReturn:
        """What the program has started ends with it, for it is the first process of its namespace."""
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        os.kill(self.child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGKILL)  # without walls, its group
        os.waitpid(self.child, 0)
        size = os.fstat(self.output).st_size
        status = "output" if status == "passed" and size >= FILE_MB << 20 else status
        say(self.verdict, status, os.pread(self.output, TAIL, max(0, size - TAIL)).decode(errors="replace") + story)

    def _receive(self) -> Any:
        try:
            kind, *rest = self.line.receive()
            if kind == "value":
                return unpack(rest[0], self._handle)
            name, message, story = (str(part) for part in rest)
        except (Silence, ValueError, TypeError, LookupError):
            self.finish("ended", "the program ended before the tests did\n")
        if name in ("SystemExit", "KeyboardInterrupt"):
            self.finish("ended", story)
        raise _exception(name, message, story)

    def _space(self, names: Any) -> dict[str, object]:
        """The tests' names: the program's, but none that would hide one of Python's own unless they import it."""
        modules = {name: importlib.import_module(module) for name, module in names["modules"].items() if _plain(module)}
        space = {name: value for name, value in (names["values"] | modules).items() if not name.startswith("__")}
        sys.modules[NAME] = ModuleType(NAME)
        vars(sys.modules[NAME]).update(space)
        return {name: value for name, value in space.items() if not hasattr(builtins, name)}

    def _handle(self, number: int) -> Handle:
        return self.handles.setdefault(number, Handle(self, number))


def say(descriptor: int, status: str, story: str) -> NoReturn:
    os.write(descriptor, json.dumps([status, story[-TAIL:]]).encode())
    os._exit(0)


def _number(value: object) -> int:
    if not isinstance(value, Handle):
        raise TypeError(f"tests can pass plain values only; got {type(value).__name__}")
    return value._number


def _plain(module: str) -> bool:
    """Of the standard library, and not one that does something by being imported."""
    first, *rest = module.split(".")
    return first in sys.stdlib_module_names and not first.startswith("__") and "__main__" not in rest


def _exception(name: str, message: str, story: str) -> Exception:
    """Of Python's own kinds; whoever sent the name, it calls nothing else."""
    kind = getattr(builtins, name, Exception)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = Exception
    try:
        error = kind(message)
    except TypeError:  # some want more than a message
        error = Exception(message)
    error.add_note(story)
    return error
