"""`infogain view`: a saved trace as a page to play in a browser."""

from __future__ import annotations

import dataclasses
import webbrowser
from pathlib import Path

import click

from infogain import view as viewer
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.saved_trace import load_trace, token_texts
from infogain.cli.terminal import say
from infogain.errors import InputError
from infogain.loop.trace import Trace


@click.command()
@click.argument(
    "paths", metavar="TRACE...", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--toy",
    metavar="NAME",
    help="toy that was decoded, to show its characters; unset: the texts that the trace carries, or token ids",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="page to write  [default: TRACE.html]")
@OVERWRITE
@click.option("--open/--no-open", "show", default=False, help="open the page in a browser")
def view(paths: tuple[Path, ...], toy: str | None, out: Path | None, overwrite: bool, show: bool) -> None:
    """Write a page that replays traces in any browser. Nothing is fetched from elsewhere.

    Several traces are played side by side, step by step together.

    \b
    Examples:
      infogain toy one-way --sampler info-gain -k 2 --trace trace.jsonl
      infogain view trace.jsonl --toy one-way --open
      infogain view greedy.jsonl info-gain.jsonl --out duel.html
    """
    out = out or paths[0].with_suffix(".html")
    if out.resolve() in [path.resolve() for path in paths]:
        raise InputError(f"the page must not replace a trace; {out} is one. Name another file with --out.")
    check_file(out, overwrite)
    traces = [_load(path, toy) for path in paths]
    page = viewer.page(list(zip(_titles(paths), traces, strict=True)))
    out.write_text(page, encoding="utf-8")
    say(f"page → {out}")
    if show and not webbrowser.open(out.resolve().as_uri()):
        say("no browser was found to open it in", err=True)


def _load(path: Path, toy: str | None) -> Trace:
    trace = load_trace(path)
    return dataclasses.replace(trace, words=token_texts(trace, toy, path))


def _titles(paths: tuple[Path, ...]) -> list[str]:
    """File names without their endings, or whole paths where these would be the same."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
