"""`infogain study`: the paper's figures and tables on a model of yours or of the zoo."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.table import Table

from infogain.capacity import check_fits
from infogain.cli.interrupt import resumable
from infogain.cli.layout import plain_table
from infogain.cli.outline import offering
from infogain.cli.output_files import OVERWRITE, check_record
from infogain.cli.progress import Label, bar
from infogain.cli.terminal import Terminal
from infogain.options import Plain
from infogain.studies import STUDIES, Study, by_model, check_suits, load_study, trace_pair
from infogain.studies.benchmark import check_data
from infogain.studies.cell import Cell, CellResult
from infogain.studies.methods import SIZES
from infogain.studies.report_page import save_report
from infogain.studies.run_cells import Report, Workers, do, finished, missing, run_study
from infogain.studies.scored import waiting
from infogain.studies.store import Store
from infogain.studies.study_files import save
from infogain.studies.subject import Subject

Group = tuple[Subject, list[Study]]  # a model, and the studies that are about it
WORKER_BYTES = 200_000_000  # of a process that has imported torch


def default_models() -> str:
    """The models that studies ask by themselves, as `--help` names them: most ask the first."""
    first, *others = sorted(by_model(STUDIES.values()).items(), key=lambda found: -len(found[1]))
    named = [f"{name} for {' and '.join(study.name for study in asking)}" for name, asking in others]
    return ", or ".join([first[0], *named])


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=offering(STUDIES))
@click.option("--model", "-m", help=f"zoo:NAME, a folder, or a hub id; unset: {default_models()}")
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="medium",
    show_default=True,
    help="how many problems are decoded; full is for a GPU",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("studies"),
    show_default=True,
    help="folder for the results",
)
@click.option("--device", help="cpu, cuda, cuda:1 …; unset: the GPU where there is one")
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    help="folder or file with GSM8K, for utility on a checkpoint outside the zoo; unset: the hub",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="processes that decode")
@click.option("--cached", is_flag=True, help="decode nothing: write what the finished cells give")
@OVERWRITE
def study(
    names: tuple[str, ...],
    model: str | None,
    size: str,
    out: Path,
    device: str | None,
    data: Path | None,
    workers: int,
    cached: bool,
    overwrite: bool,
) -> None:
    """Reproduce the paper's figures and tables. Without a NAME, list the studies; `all` runs them all.

    Each leaves NAME.json, .csv, .png and .svg and a section of report.html. Finished cells are kept in cells.jsonl:
    a study that was interrupted goes on where it stopped, and studies share what they have in common.

    \b
    Examples:
      infogain study
      infogain study oneway judgement
      infogain study all --size full --device cuda --workers 6
      infogain study oneway judgement --model ./dream --size small
      infogain study utility --model ./dream --data ./benchmarks
    """
    console = Terminal()
    if not names:
        console.print(overview())
        return
    check_fits("--workers", workers, WORKER_BYTES, 2 * WORKER_BYTES)
    chosen = list(STUDIES.values()) if names == ("all",) else [load_study(name) for name in names]
    store, groups = Store(out), list[Group]()
    for name, group in by_model(chosen, model).items():
        subject = Subject(name, device, data)
        groups.append((subject, [each for each in group if names != ("all",) or each.suits(subject)]))
    for subject, group in groups:
        check_suits(group, subject)
        check_data(data, [point for each in group for point in each.points_for(size, subject)])
        for each in group:
            check_record(out / f"{each.name}.json", {"size": size, "model": subject.described}, overwrite)
    deadline = time.monotonic() if cached else None  # past: no cell is begun
    with resumable(lambda: f"{len(store.cells)} finished cells in {store.path}"):
        for each_group in groups:
            run_group(each_group, size, store, workers, deadline)
    console.print(f"report → {save_report(out)}", soft_wrap=True)


def run_group(group: Group, size: str, store: Store, workers: int, deadline: float | None) -> None:
    """Run the studies of one model, and write what each gives."""
    subject, studies = group
    out = store.path.parent
    with Workers(subject, workers, deadline) as processes:
        for each in studies:
            with watch(each.name, len(missing(each.points_for(size, subject), subject, store))) as report:
                rows = run_study(each, size, processes, store, report)
            tell(Terminal(), each, rows, save(each, rows, size, subject, out) if rows else [])
            if unjudged := waiting(each.points_for(size, subject), subject, store):
                Terminal().print(f"{each.name}: {unjudged}", soft_wrap=True)
    if trace_pair.suits(subject):
        write_traces(subject, store, out)


def write_traces(subject: Subject, store: Store, out: Path) -> None:
    """Decode one problem step by step, for the report's viewer."""
    traces = trace_pair.points()
    with watch("one problem", len(missing(traces, subject, store))) as report:
        do(missing(traces, subject, store), Workers(subject), store, report)
    trace_pair.save(finished(traces, subject, store), out)


def tell(console: Console, study: Study, rows: list[CellResult], files: Sequence[Path]) -> None:
    if not rows:
        console.print(f"{study.name}: no cell of it is finished.")
        return
    for line in study.summary(rows):
        console.print(f"{study.name}: {line}", soft_wrap=True)
    console.print(f"{study.name} → {', '.join(map(str, files))}", soft_wrap=True)


def overview() -> Table:
    table = plain_table()
    for title in ("study", "in the paper", "what it shows"):
        table.add_column(title, overflow="fold")
    for each in STUDIES.values():
        table.add_row(each.name, each.source, each.title)
    return table


@contextmanager
def watch(title: str, total: int) -> Iterator[Report]:
    """A progress bar over cells, on the error stream."""
    columns = (Label(title), BarColumn(), MofNCompleteColumn(), Label("cells"), TimeRemainingColumn())
    with bar(*columns) as progress:
        task = progress.add_task("", total=total)

        def report(_cell: Cell, _numbers: Plain) -> None:
            progress.advance(task)

        yield report
