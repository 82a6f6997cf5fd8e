"""`infogain results`: the runs of a folder, two of them compared, the texts of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from infogain.cli.layout import in_parts, legend
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.terminal import Terminal, say, write
from infogain.errors import InputError
from infogain.evals.judging.sides import model_outputs
from infogain.evals.listing import listing
from infogain.evals.run_comparison import Change, Comparison, compare, differences, made_differently, unfinished
from infogain.evals.run_page import in_order, prompt_text, run_page, trace_path, view_command
from infogain.evals.runs import RUN, Run, list_runs
from infogain.evals.summary import is_scored
from infogain.options import Plain
from infogain.report.numbers import number
from infogain.report.tables import FORMATS, Table

DECIDED = {
    True: "is higher in the second run",
    False: "is lower in the second run",
    None: "is not decided: the interval of its difference does not leave 0 on one side",
}
NARROW = ("pass@1", "95 %", "words", "distinct-2", "self-BLEU", "texts", "H̃")
MARKS = {1: "✓ ", 0: "✗ ", None: ""}  # of texts, by their score
UNSCORED = "No text is right or wrong here: `infogain judge {} {}` asks a judge whose texts are better."


@click.command()
@click.argument("names", nargs=-1, metavar="[RUN]...")
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="folder of the runs",
)
@click.option("--format", "kind", type=click.Choice(list(FORMATS)), help="format of the table; unset: for a terminal")
@click.option("--right/--wrong", default=None, help="show right or wrong texts of one run")
@click.option("--limit", type=click.IntRange(min=1), help="texts to show, from the first problem on; unset: all")
@click.option(
    "--page", "out", type=click.Path(dir_okay=False, path_type=Path), help="HTML file to write: one run to browse"
)
@click.option(
    "--model-outputs",
    "outputs",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON file to write: texts of a run of writing as AlpacaEval's model_outputs",
)
@OVERWRITE
def results(
    names: tuple[str, ...],
    runs: Path,
    kind: str | None,
    right: bool | None,
    limit: int | None,
    out: Path | None,
    outputs: Path | None,
    overwrite: bool,
) -> None:
    """List runs, compare two, or show the texts of one.

    A RUN is its folder, or any part of its name that no other run in --runs has, such as the signs the list shows. Two
    runs are compared over the problems and seeds both have, by a paired bootstrap over problems.

    \b
    Examples:
      infogain results
      infogain results --format latex > table.tex
      infogain results 3f20a1 9c41d2
      infogain results 3f20a1 --wrong --limit 5
      infogain results 3f20a1 --page run.html
      infogain results 3f20a1 --model-outputs outputs.json
    """
    console = Terminal()
    browses = right is not None or limit is not None or out is not None
    if (browses or outputs) and len(names) != 1:
        flags = "--right, --wrong, --limit, --page and --model-outputs"
        raise InputError(f"{flags} show texts of one run; got {len(names)}. Name one.")
    for file in (out, outputs):
        check_file(file, overwrite)
    chosen = find_runs(runs, names)
    if not chosen:
        raise InputError(
            f"there must be runs in {runs}/, folders with {RUN}; it holds none. `infogain eval` makes them."
        )
    show(console, narrow(chosen) if kind is None else listing(chosen), kind)
    if len(names) == 2:
        show_comparison(console, chosen[0], chosen[1], kind)
    if browses:
        browse(console, chosen[0], right, limit, out)
    if outputs:
        console.print(export(chosen[0], outputs), soft_wrap=True)


def export(run: Run, path: Path) -> str:
    """Write the texts of a run as AlpacaEval's model_outputs; says how many, and which are not among them."""
    made, texts = model_outputs(run), len(run.items())
    path.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", errors="backslashreplace")
    rest = f"; {texts - len(made)} of other seeds are left out" if texts > len(made) else ""
    return f"{len(made)} texts of the first seed → {path}{rest}"


def find_runs(runs: Path, names: Sequence[str]) -> list[Run]:
    """The runs of these names, each its folder or a part of it that no other run has; without names, all there are."""
    folders = {name: folder for name in names for folder in (runs / name, Path(name)) if (folder / RUN).is_file()}
    every = list_runs(runs) if not names or set(names) - set(folders) else []
    return [Run.open(folders[name]) if name in folders else _named(name, every) for name in names] or every


def _named(name: str, every: Sequence[Run]) -> Run:
    found = [run for run in every if name in run.name]
    if len(found) != 1:
        these = ", ".join(run.name for run in found or every) or "none"
        which = "several have it" if found else "none has it"
        raise InputError(f"a run is named by its folder or a part of its name; {name!r}: {which}. There are: {these}.")
    return found[0]


def narrow(runs: list[Run]) -> Table:
    """A listing narrow enough for a terminal: the main columns of several runs, or all of a single run as lines."""
    if len(runs) > 1:
        return listing(runs, found=NARROW)
    table = listing(runs)
    return Table(
        ["", runs[0].name], [list(pair) for pair in zip(table.columns, table.rows[0], strict=True)], text_columns=2
    )


def show(console: Console, table: Table, kind: str | None) -> None:
    if kind is None:
        for part in in_parts(table, console.width):
            console.print(part, "", sep="\n")
        console.print(legend([*table.columns, *(row[0] for row in table.rows)], table.explained))
    else:
        say(FORMATS[kind](table), nl=False)


def show_comparison(console: Console, first: Run, second: Run, kind: str | None) -> None:
    found = compare(first, second)
    say()
    show(console, changes(found), kind)
    say()
    asks = [] if found.accuracy else [UNSCORED.format(first.folder, second.folder)]
    for line in [*verdicts(found), *asks, *unfinished(first, second), *differences(first.about, second.about)]:
        console.print(line, soft_wrap=True)


def changes(found: Comparison) -> Table:
    rows = [_row("pass@1", found.accuracy, 100, 1)] if found.accuracy else []
    rows.append(_row("H̃", found.entropy, 1, 2))
    return Table(["", "first", "second", "second − first", "95 %"], rows)


def _row(name: str, change: Change, factor: float, digits: int) -> list[str]:
    values = [number(x, digits, factor) for x in (change.first, change.second)]
    difference = number(change.difference.value, digits, factor, signed=True)
    return [name, *values, difference, change.difference.bounds(digits, factor, signed=True)]


def verdicts(found: Comparison) -> list[str]:
    """Whether pass@1 changed, and how the texts of both runs fell out."""
    lines = [f"compared: {found.texts} texts of {found.problems} problems"]
    if found.accuracy:
        of = f"of {found.texts} texts of {found.problems} problems"
        lines = [
            f"pass@1 {DECIDED[found.accuracy.difference.rounded(3).above()]}",
            f"right in the second run only: {found.gained}; in the first only: {found.lost}; "
            f"in both: {found.both_right}; in neither: {found.both_wrong} ({of})",
        ]
    return [*lines, f"left out, as one run lacks them: {found.unpaired} texts"] if found.unpaired else lines


def browse(console: Console, run: Run, right: bool | None, limit: int | None, out: Path | None) -> None:
    every = run.items()
    if right is not None and not is_scored(every):
        raise InputError(f"--right and --wrong are for texts that are one of them; those of {run.name} are neither.")
    lines = in_order(every, right, limit)
    if out:
        out.write_text(run_page(run, lines), encoding="utf-8")
        console.print(f"page of {len(lines)} text{'' if len(lines) == 1 else 's'} → {out}", soft_wrap=True)
        return
    for line in lines:
        show_text(console, run, line)
    if not lines:
        console.print("no such text.")


def show_text(console: Console, run: Run, line: Plain) -> None:
    console.print(f"\n{MARKS[line['score']]}{line['key']['item']}, seed {line['key']['seed']}", style="bold")
    write(console, prompt_text(line["prompt"]), "dim")
    for part in [line["text"], *ends(run, line)]:
        write(console, part)


def ends(run: Run, line: Plain) -> Sequence[str]:
    answer = "nothing" if line["answer"] is None else line["answer"]
    parts = [] if line["score"] is None else [f"answer: {answer}", f"gold: {line['gold']}"]
    if line.get("note"):
        parts.append(f"why it is wrong: {line['note']}")
    if line.get("provenance"):
        parts.append(f"made otherwise than the run began: {made_differently(run.about, line)}")
    if line.get("trace"):
        parts.append(f"trace: {view_command(trace_path(run, line))}")
    return parts
