"""The command group: errors come out as one clean line, and any terminal can print what we say and take what comes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from typing import IO, Any

import click
from click.exceptions import Exit

from infogain import startup
from infogain.cli.interrupt import on_interrupt
from infogain.cli.outline import stand_in
from infogain.cli.terminal import harmless, is_text, say
from infogain.errors import ELSEWHERE, InfoGainError
from infogain.options import dashed

FEWER = "Ask for less at once: a smaller --batch-size, --n, --count or --length, or a --ceiling."
BROKEN_PIPE = 141  # 128 + SIGPIPE, as shells have it


class CleanError(click.ClickException):
    """An error that is the user's to mend: one line, no traceback."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(harmless(f"error: {self.message}"), file=file or sys.stderr)


class CleanGroup(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, which imports torch; to complete a line in a shell, what stands for it."""
        if ctx.resilient_parsing:
            return stand_in(cmd_name) if cmd_name in self.commands else None
        command = super().get_command(ctx, cmd_name)
        startup.done()
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if sys.stdout is None:
            raise CleanError("the standard output must be open; it is closed. Send it to a file, or to /dev/null.")
        if odd := [arg for arg in args if not is_text(arg)]:
            raise CleanError(f"an argument must be UTF-8 text; {odd[0]!r:.80} is not. Convert or rename it.")
        with _as_one_line():  # --help and --version print while they are parsed
            return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each summary is the whole first sentence, where click would cut what does not fit on a line."""
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl([(name, stand_in(name).get_short_help_str()) for name in names])

    def invoke(self, ctx: click.Context) -> Any:
        _take_any_text()
        with _as_one_line(), warnings.catch_warnings(), on_interrupt(lambda: ""):
            # for the user, who need not know where in our code it was given
            warnings.showwarning = lambda message, *_, **__: say(f"note: {message}", err=True)
            return super().invoke(ctx)


@contextlib.contextmanager
def _as_one_line() -> Iterator[None]:
    """What a user can mend, and an output that takes nothing, end a command without a traceback."""
    try:
        yield
    except Exit:  # to click a RuntimeError
        raise
    except click.NoSuchOption as error:
        if ours := ELSEWHERE.get(error.option_name.removeprefix("--").replace("-", "_")):
            raise click.UsageError(f"{error.message} Did you mean {dashed(ours)}?", error.ctx) from error
        raise
    except InfoGainError as error:
        raise CleanError(" ".join(str(error).split())) from error
    except BrokenPipeError:  # the reader went away, as in `| head`: nothing is wrong, and nothing can be said
        _discard_output()
        raise Exit(BROKEN_PIPE) from None
    except (MemoryError, RuntimeError) as error:
        from infogain.bench.device_memory import is_lack  # it imports torch, which is there where memory ran out

        if isinstance(error, RuntimeError) and not is_lack(error):
            raise
        raise CleanError(f"memory ran out ({' '.join(str(error).split())[:120]}). {FEWER}") from error
    except OSError as error:
        raise CleanError(f"a file could not be read or written: {error}") from error


def _discard_output() -> None:
    """What is still to be printed would break again when Python ends."""
    with contextlib.suppress(OSError):  # of a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _take_any_text() -> None:
    """H̃ and ✓ come out as ? where the terminal's encoding lacks them, and what comes in may be no text at all.

    Whoever reads it says so (`is_text`): a decoder that raised would end the command.
    """
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "replace"), (sys.stdin, "surrogateescape")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
