"""`infogain bench`: time and memory of a decode, beside what the device could do at best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

from infogain.bench import SUITES, Bench, Case, grid, load_suite, records
from infogain.bench.cases import ENGINE, named
from infogain.bench.picture import FILE as PICTURE
from infogain.bench.picture import draw
from infogain.bench.run_cases import Tell, run_cases
from infogain.bench.shapes import SHAPES
from infogain.cli.interrupt import on_interrupt
from infogain.cli.layout import in_terminal, legend_of
from infogain.cli.output_files import OVERWRITE, check_file, make_folder
from infogain.cli.progress import Label, bar
from infogain.cli.terminal import Terminal
from infogain.errors import InputError


class Several(click.ParamType[tuple[Any, ...]]):
    """Values with commas between them."""

    def __init__(self, kind: type) -> None:
        self.kind, self.name = kind, f"{kind.__name__},…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        try:
            return tuple(self.kind(part.strip()) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{self.kind.__name__}s with commas between them; got {value!r}", param, ctx)


OPTIONS = ("n", "gamma", "width", "bypass")  # of samplers
SETTINGS = ("k", "block", "batch", "cache", "refresh", "context", "ragged", "length", "engine")  # of cases
CACHE = "dual, prefix, none, or canvas: none, and logits of every column; unset: what the model does by itself"
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--suite", metavar="NAME", help=f"a named set of cases: {', '.join(SUITES)}; unset: what flags say")
@click.option("--shape", type=Several(str), help=f"{', '.join(SHAPES)}, zoo:NAME or a checkpoint  [default: tiny]")
@click.option("--sampler", type=Several(str), help="names of samplers  [default: entropy,info-gain]")
@click.option("--n", type=Several(int), help="candidates of look-ahead samplers; unset: their own")
@click.option("--gamma", type=Several(float), help="bypass threshold; 1 = off; unset: the sampler's own")
@click.option("--width", type=Several(int), help="hypotheses of info-gain-beam; unset: its own")
@click.option(
    "--bypass", type=Several(float), help="share of steps in which info-gain must not look ahead; unset: as it decides"
)
@click.option("-k", type=Several(int), help="tokens per step  [default: 1]")
@click.option("--block", type=Several(int), help="columns decoded together  [default: 16]")
@click.option("--batch", type=Several(int), help="prompts decoded together  [default: 1]")
@click.option("--cache", type=Several(str), help=CACHE)
@click.option(
    "--refresh", type=Several(int), help="blocks that are decoded before the whole row is read again  [default: 1]"
)
@click.option("--context", type=Several(int), help="columns outside the block: prompt + length − block  [default: 512]")
@click.option("--ragged", type=Several(int), help="columns by which prompts differ in length  [default: 0]")
@click.option("--length", type=Several(int), help="columns to generate  [default: 48]")
@click.option("--engine", type=Several(str), help="eager or graphs; unset: graphs on a GPU, eager elsewhere")
@click.option("--device", help="cpu, cuda, cuda:1 …; unset: the GPU where there is one")
@click.option(
    "--decodes", type=click.IntRange(min=1), default=2, show_default=True, help="decodes that are timed, per case"
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help=f"folder for {records.FILE}, {PICTURE}")
@click.option("--profile", type=click.Path(dir_okay=False, path_type=Path), help="trace a few steps of the first case")
@click.option("--compare", type=EXISTING, nargs=2, metavar="OLD NEW", help="show what changed between two results")
@OVERWRITE
def bench(
    suite: str | None,
    device: str | None,
    decodes: int,
    out: Path | None,
    profile: Path | None,
    compare: tuple[Path, Path] | None,
    overwrite: bool,
    **flags: Any,
) -> None:
    """Measure speed and memory of decoding.

    Whole steps, the forward alone and memory are measured, beside what the device could do at best.

    Flags take several values with commas between them; every combination is a case. Weights of the named shapes are
    random, so the texts mean nothing. A step is one whole iteration of the loop that opens no block.

    \b
    Examples:
      infogain bench
      infogain bench --suite judged --out results
      infogain bench --shape dream-7b --sampler info-gain --n 1,2,4,8 --gamma 1 --context 512,1024
      infogain bench --shape zoo:tiny-reason --sampler info-gain --bypass 0,0.5,0.9 --context 64 --device cpu
      infogain bench --shape dream-7b --profile trace.json
      infogain bench --compare before/bench.json after/bench.json
    """
    console = Terminal()
    given = {"suite": suite, "out": out, "profile": profile, "device": device, **flags}
    if compare:
        alone("--compare", given)
        changes = records.compare(*map(records.load, compare))
        console.print(in_terminal(changes), "", legend_of(changes), sep="\n")
        return
    if profile:
        alone("--profile", {"out": out})
    cases = chosen(suite, flags)
    make_folder(out, (records.FILE, PICTURE), overwrite)
    runner = Bench(device, decodes)
    if profile:
        check_file(profile, overwrite)
        runner.profile(next(iter(cases.values())), profile)
        console.print(f"trace → {profile} (open it in ui.perfetto.dev or chrome://tracing)", soft_wrap=True)
        return
    with on_interrupt(lambda: saved_so_far(out)), watch(len(cases)) as tell:
        found = run_cases(runner, cases, suite, out, tell)
    show(console, found)
    if out:
        made = [records.FILE, *([PICTURE] if found["cases"] and draw(found["cases"], out / PICTURE) else [])]
        console.print(f"→ {', '.join(str(out / name) for name in made)}", soft_wrap=True)


def saved_so_far(out: Path | None) -> str:
    return f"Kept: the cases that were done, in {out / records.FILE}." if out and (out / records.FILE).exists() else ""


def chosen(suite: str | None, flags: dict[str, Any]) -> dict[str, Case]:
    """The cases of a suite, or of all combinations of the flags."""
    given = {name: values for name, values in flags.items() if values is not None}
    if suite:
        if strange := [name for name in given if name != "engine"]:
            raise InputError(f"a suite has its own cases; --{strange[0]} does not go with it. Drop one of them.")
        engine, *others = given.get("engine", (ENGINE,))
        if others:
            raise InputError(f"a suite runs with one engine; got {engine} and {others[0]}. Run it twice and --compare.")
        return load_suite(suite, engine)
    options = {name: given[name] for name in OPTIONS if name in given}
    settings = {name: given[name] for name in SETTINGS if name in given}
    cases = grid(given.get("shape", ("tiny",)), given.get("sampler", ("entropy", "info-gain")), options, settings)
    return named(cases)


def alone(flag: str, others: dict[str, Any]) -> None:
    if strange := [name for name, value in others.items() if value is not None]:
        raise InputError(f"{flag} measures no cases; --{strange[0]} does not go with it. Drop one of them.")


def show(console: Console, found: dict[str, Any]) -> None:
    reasons: dict[str, list[str]] = {}
    for name, reason in found["skipped"].items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        console.print(f"skipped: {'; '.join(names)}. {reason}", soft_wrap=True)
    if found["cases"]:
        console.print(records.heading(found), "", sep="\n", soft_wrap=True)
    made = records.tables(found)
    for table in made:
        console.print(in_terminal(table), "", sep="\n")
    console.print(legend_of(*made), "", sep="\n")
    for line in records.warnings(found):
        console.print(line, soft_wrap=True)


@contextmanager
def watch(total: int) -> Iterator[Tell]:
    """A progress bar over cases, with what is being done, on the error stream."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Label())
    with bar(*columns) as progress:
        task = progress.add_task("", total=total)

        def tell(name: str, what: str) -> None:
            progress.update(task, description=f"{name}: {what or 'done'}")
            if not what or what.startswith("skipped"):
                progress.advance(task)

        yield tell
