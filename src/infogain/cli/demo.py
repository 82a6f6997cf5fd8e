"""`infogain demo`: the whole idea in a minute, with the small models that come with the package."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from infogain import view
from infogain.capacity import PROBLEM_BYTES, check_fits
from infogain.cli.demo_live import LiveComparison, compare_live
from infogain.cli.demo_samples import LINES, PICTURE, DemoSamples, show_samples
from infogain.cli.layout import legend_of, plain_table
from infogain.cli.output_files import OVERWRITE, make_folder
from infogain.cli.progress import Label, bar
from infogain.cli.terminal import Terminal
from infogain.options import Plain
from infogain.report.tables import Table as StudyTable
from infogain.studies.cell import CellResult
from infogain.studies.decoding import run_cell
from infogain.studies.demo import DemoStudy
from infogain.studies.report_page import FILE, about, page, provenances, section, viewer_section
from infogain.studies.study_files import FORMATS, as_text, describe, draw, save_csv
from infogain.studies.subject import Subject
from infogain.zoo.tasks import load_task

NUMBERS = ("results.json", "results.csv")
MODEL = "zoo:tiny-reason"
DELAY = 0.25  # seconds per step, on a terminal
WIDTHS = {"sampler": 19, "right %": 13}  # of columns, so that tables stand under each other

EXPLAINED = """\
A small trained model writes a true equation: decimal factors, binary product.
entropy writes what is surest now. info-gain:validated, the default, tries eight
actions and takes the one that leaves the rest least uncertain for its price.
H̃ adds up the entropy of every token as it is written: less is surer.
"""
READING = """\
The best of each column in bold. Most intervals overlap: such differences prove
nothing (docs/results.md has 1,500 draws). Look-ahead (lookum, info-gain) pays
with token-forwards. It picks among draws, so it may be right often with the
same few texts: look at both columns.
"""
PLAYED = (
    "One-way multiplication, seed 0, one token a step: nothing is picked, and one text proves nothing. Cells are "
    "coloured by entropy; the slider or the arrow keys step through both decodes."
)
NEXT = """\
Try next:
  {infogain} generate "C93,3,63=33:" --length 22
  {infogain} generate "Once upon a time" --model zoo:tiny-tales
  {infogain} generate --model zoo:tiny-molecule --count 8
  {infogain} image "ankle boot" --count 8
  {infogain} samplers
  {infogain} study"""


@dataclass(frozen=True)
class DemoReport:
    """All that the demo leaves: what was played, counted and written."""

    study: DemoStudy
    rows: list[CellResult]
    subject: Subject
    played: LiveComparison
    samples: DemoSamples

    def save(self, out: Path) -> list[Path]:
        """The report, the pictures, the texts, the numbers. A picture of an earlier run does not stay."""
        for ending in FORMATS:
            (out / f"{self.study.name}.{ending}").unlink(missing_ok=True)
        record = describe(self.study, self.rows, self.study.size, self.subject)
        drawn = [*draw(self.study, self.rows, out), *self.samples.save(out)]
        report, as_json, as_csv = out / FILE, *(out / name for name in NUMBERS)
        report.write_text(self.page(record, out), encoding="utf-8")
        as_json.write_text(as_text(record), encoding="utf-8")
        save_csv(self.rows, as_csv)
        return [report, *drawn, as_json, as_csv]

    def page(self, record: Plain, out: Path) -> str:
        """The report as HTML, with the pictures that lie in the folder."""
        viewer = view.fragment(self.played.traces, self.subject.zoo[1].word)
        tables = replace(section(record, out), reading=READING)
        sections = [viewer_section(PLAYED, viewer, self.played.verdicts), tables, *self.samples.sections(out)]
        made = [*provenances([record]), *(each.provenance for each in self.samples.all)]
        return page("Decoding small masked diffusion models", about([record]), sections, made)


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="folder for the report, the pictures, the texts and the numbers",
)
@click.option("--count", type=click.IntRange(min=1), default=40, show_default=True, help="draws per sampler and task")
@OVERWRITE
def demo(out: Path, count: int, overwrite: bool) -> None:
    """Watch two samplers decode, then compare six.

    Ends with tables, a few tales and molecules, a report, pictures, and the numbers as files. Uses the small models
    that come with the package: no download, no GPU needed.

    \b
    Examples:
      infogain demo
      infogain demo --count 100 --out big-demo
    """
    console = Terminal()
    check_fits("--count", count, *PROBLEM_BYTES)
    subject, study = Subject(MODEL), DemoStudy(count)
    make_folder(out, (FILE, *NUMBERS, LINES, PICTURE, *(f"{study.name}.{ending}" for ending in FORMATS)), overwrite)
    console.print(EXPLAINED)
    played = compare_live(console, subject, DELAY)
    console.print(f"\nOne text proves nothing: now {study.size}.\n", soft_wrap=True)
    rows = _decode(console, study, subject)
    grids = study.tables(rows)
    for grid, task in zip(grids, dict.fromkeys(row["task"] for row in rows), strict=True):
        console.print(Text(grid.title, "bold") + Text(f": {load_task(task).about}"))
        console.print(_table(grid), "")
    console.print(legend_of(*grids), "", READING, sep="\n")
    report = DemoReport(study, rows, subject, played, show_samples(console))
    files = report.save(out)
    if out / "demo.png" not in files:
        console.print("No picture: matplotlib is not installed. Get it with:")
        console.print("  pip install 'infogain[plot]'")
    console.print(f"Written to {out}: {', '.join(path.name for path in files)}", soft_wrap=True)
    console.print(NEXT.format(infogain=_command()), soft_wrap=True)


def _decode(console: Console, study: DemoStudy, subject: Subject) -> list[CellResult]:
    points, rows = study.points(study.size), []
    columns = (Label("decoding"), BarColumn(), MofNCompleteColumn(), Label())
    with bar(*columns, console=console) as progress:
        task = progress.add_task("", total=len(points))
        for point in points:
            progress.update(task, description=f"{point.labels['task']}, {point.labels['sampler']}")
            rows.append(CellResult(point.labels, point.cell, run_cell(subject, point.cell)))
            progress.advance(task)
    return rows


def _table(grid: StudyTable) -> Table:
    shown = plain_table()
    for i, name in enumerate(grid.columns):
        shown.add_column(name, justify="right" if i else "left", no_wrap=True, min_width=WIDTHS.get(name))
    for i, line in enumerate(grid.rows):
        shown.add_row(*(Text(cell, "bold" if (i, j) in grid.bold else "") for j, cell in enumerate(line)))
    return shown


def _command() -> str:
    """How to call us again: as a module where we run as one, else by name, or by path outside the environment."""
    if Path(sys.argv[0]).name == "__main__.py":
        return "python -m infogain"
    return "infogain" if shutil.which("infogain") else str(Path(sys.argv[0]))
