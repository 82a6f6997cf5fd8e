"""The command group: errors come out as one clean line, and any terminal can print what we say."""

from __future__ import annotations

import errno
import io
import sys
import warnings
from typing import IO, Any

import click

from infogain.cli.terminal import harmless, say
from infogain.errors import InfoGainError


class CleanError(click.ClickException):
    """An error that is the user's to mend: one line, no traceback."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(harmless(f"error: {self.message}"), file=file or sys.stderr)


class CleanGroup(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each summary is the whole first sentence, where click would cut what does not fit on a line."""
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl([(name, self.commands[name].get_short_help_str(sys.maxsize)) for name in names])

    def invoke(self, ctx: click.Context) -> Any:
        _print_anywhere()
        try:
            with warnings.catch_warnings():
                # for the user, who need not know where in our code it was given
                warnings.showwarning = lambda message, *_, **__: say(f"note: {message}", err=True)
                return super().invoke(ctx)
        except InfoGainError as error:
            raise CleanError(" ".join(str(error).split())) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader went away, as in `| head`; click ends quietly
                raise
            raise CleanError(f"a file could not be read or written: {error}") from error


def _print_anywhere() -> None:
    """H̃ and ✓ come out as ? where the terminal's encoding lacks them, instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
