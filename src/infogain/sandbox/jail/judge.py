"""The trusted side: run the tests against a program that lives in another process, and say what came of it.

The tests call the program's functions through handles; arguments and results travel as copies of plain values. So
nothing that the program patches, prints, compares or exits with decides. What comes over the channel may be forged.
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

from .channel import Channel, ChannelClosed, pack, unpack
from .program import NAME, READY
from .traceback_text import TAIL, traceback_text
from .walls import FILE_MB

FILE = "tests.py"
PROMPT = 5.0  # seconds that process 1 has to end all the others


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
    """The trusted process of a run.

    channel      leads to the program
    child        the program's process, or behind walls the one above it
    walled       whether there are walls
    time_limit   seconds of the processor, for the program with all its processes
    printed      files: what the program printed, what the tests did
    verdict      where to say what came of it
    """

    def __init__(
        self, channel: Channel, child: int, walled: bool, time_limit: float, printed: tuple[int, int], verdict: int
    ) -> None:
        self.channel, self.child, self.walled, self.time_limit = channel, child, walled, time_limit
        self.printed, self.verdict = printed, verdict
        self.handles: dict[int, Handle] = {}

    def judge(self, program: str, tests: str) -> NoReturn:
        self._begin(program)
        try:
            exec(compile(tests, FILE, "exec", dont_inherit=True), self._namespace(self._receive()))
        except MemoryError as error:
            self.finish("memory", traceback_text(error, FILE, tests))
        except BaseException as error:
            self.finish("failed", traceback_text(error, FILE, tests))
        self.finish("passed")

    def _begin(self, program: str) -> None:
        """Hand over the program, once its process is walled in and sure to die if we do."""
        try:
            said = self.channel.receive()
        except ChannelClosed:
            said = "the program's process ended before it began"
        if said != READY:
            self.finish("refused", said)
        self.channel.send(program)

    def ask(self, number: int, attribute: str, args: tuple[object, ...], named: dict[str, object]) -> object:
        self.channel.send([number, attribute, pack(args, _number), pack(named, _number)])
        return self._receive()

    def finish(self, status: str, details: str = "") -> NoReturn:
        """End the program and all it has started, then say the verdict; too much time is told when it has ended."""
        used = self._end_program()
        if status in ("passed", "ended") and used > self.time_limit:
            status, details = "timeout", ""
        if status == "passed" and os.fstat(self.printed[0]).st_size >= FILE_MB << 20:
            status = "output"
        write_verdict(self.verdict, status, "".join(map(_tail, self.printed)) + details)

    def _end_program(self) -> float:
        """End the program and all it has started; returns the seconds of the processor that they took."""
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(self.child, signal.SIGKILL))  # where asking does not help
        signal.setitimer(signal.ITIMER_REAL, PROMPT)
        os.kill(self.child, signal.SIGTERM if self.walled else signal.SIGKILL)
        if not self.walled:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child, signal.SIGKILL)
        used = [os.wait4(self.child, 0)[2]]
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            while True:  # without walls, what it left in its group came to us; behind them process 1 waited for all
                used.append(os.wait4(-self.child, 0)[2])
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        return sum(part.ru_utime + part.ru_stime for part in used)

    def _receive(self) -> Any:
        try:
            kind, *rest = self.channel.receive()
            if kind == "value":
                return unpack(rest[0], self._handle)
            name, message, details = (str(part) for part in rest)
        except (ChannelClosed, ValueError, TypeError, LookupError):
            self.finish("ended", "the program ended before the tests did\n")
        if name in ("SystemExit", "KeyboardInterrupt"):
            self.finish("ended", details)
        raise _exception(name, message, details)

    def _namespace(self, names: Any) -> dict[str, object]:
        """The tests' names: the program's, but none that would hide one of Python's own unless they import it."""
        modules = {name: importlib.import_module(module) for name, module in names["modules"].items() if _plain(module)}
        space = {name: value for name, value in (names["values"] | modules).items() if not name.startswith("__")}
        sys.modules[NAME] = ModuleType(NAME)
        vars(sys.modules[NAME]).update(space)
        return {name: value for name, value in space.items() if not hasattr(builtins, name)}

    def _handle(self, number: int) -> Handle:
        return self.handles.setdefault(number, Handle(self, number))


def _tail(file: int) -> str:
    return os.pread(file, TAIL, max(0, os.fstat(file).st_size - TAIL)).decode(errors="replace")


def write_verdict(descriptor: int, status: str, details: str) -> NoReturn:
    """Say what came of the program, and end this process."""
    os.write(descriptor, json.dumps([status, details[-TAIL:]]).encode())
    os._exit(0)


def _number(value: object) -> int:
    if not isinstance(value, Handle):
        raise TypeError(f"tests can pass plain values only; got {type(value).__name__}")
    return value._number


def _plain(module: str) -> bool:
    """Is this a module of the standard library that does nothing by being imported?"""
    first, *rest = module.split(".")
    return first in sys.stdlib_module_names and not first.startswith("__") and "__main__" not in rest


def _exception(name: str, message: str, details: str) -> Exception:
    """An exception of one of Python's own kinds; whoever sent the name, nothing else is called."""
    kind = getattr(builtins, name, Exception)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = Exception
    try:
        error = kind(message)
    except TypeError:  # some want more than a message
        error = Exception(message)
    error.add_note(details)
    return error
