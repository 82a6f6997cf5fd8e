"""Table 4, made again: images by MMaDA, judged by GenEval's program, or by a model of the zoo, by its classifier.

Our numbers stand beside the paper's. Those of the zoo's model are of other things, so no difference is taken.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from infogain.evals.images.geneval_images import COMMAND, read_results, shares
from infogain.evals.images.geneval_prompts import GenEvalPrompt
from infogain.evals.intervals import Interval, average, stored
from infogain.evals.means import mean
from infogain.images.png_recipe import read_png
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.report.numbers import NONE, number
from infogain.report.paper import PaperRow, PaperTable
from infogain.report.tables import Table

BEYOND = ("IS", "FID", "sFID")  # the paper's on ImageNet-512
SCORES = {  # of a model of the zoo: a number's name, its digits and scale, by its title
    "Fréchet": ("frechet", 2, 1.0),
    "as asked %": ("accuracy", 1, 100.0),
    "spread": ("spread", 2, 1.0),
    "H̃": ("entropy", 1, 1.0),
}
LINES = {
    "here": "this package's",
    "95 %": "its interval over prompts",
    "paper": "the paper's",
    "difference": "here less the paper's",
}
MEASURES = "the paper's number on ImageNet-512: Inception score (IS), or distance in Inception's features (FID, sFID)"


def paper_numbers(table: PaperTable, row: PaperRow, beside: str | None) -> dict[str, float]:
    """What the paper has for a row, by group of GenEval, their average, and the measures on ImageNet-512."""
    return dict(zip([*table.order, "average", *BEYOND], row.paper[beside] if beside else [], strict=False))


def heading(table: PaperTable, model: Plain, made: Plain, beside: str | None, extent: Plain) -> Plain:
    return {
        "table": table.name,
        "title": table.title,
        "about": table.about,
        "model": model,
        "provenance": made,
        "beside": table.models[beside].name if beside else None,
        "extent": extent,
        "columns": {column.task: column.title for column in table.columns},
    }


def folder_of(runs: Path, row: PaperRow) -> Path:
    """Where the images of a row are."""
    return runs / f"table4-{row.name}"


def geneval_row(
    table: PaperTable, row: PaperRow, folder: Path, prompts: Sequence[GenEvalPrompt], samples: int, beside: str | None
) -> Plain:
    """The numbers of a row from its folder of images: GenEval's where its program has been run, and H̃ of the images."""
    paper, own = paper_numbers(table, row, beside), {prompt.number for prompt in prompts}
    found = shares(read_results(folder), prompts, samples)
    here = {tag: 100 * found[tag].value for tag in found}
    if len(found) == len(table.order):
        here["average"] = 100 * average(list(found.values())).value
    files = [path for path in folder.glob("*/samples/*.png") if int(path.parent.parent.name) in own]
    return {
        "row": row.name,
        "sampler": row.sampler,
        "folder": str(folder),
        "images": len(files),
        "wanted": samples * len(prompts),
        "here": here,
        "here_95": {tag: each.plain() for tag, each in found.items()},
        "entropy": mean([read_png(path)["cumulative_entropy"] for path in files]) if files else None,
        "paper": paper,
        "difference": {name: value - paper[name] for name, value in here.items() if name in paper},
    }


def geneval_table(found: Plain) -> Table:
    """Lines for each sampler: our number, its interval, the paper's, and their difference."""
    names, rows = [*found["columns"], "average"], list[list[str]]()
    for row in found["rows"]:
        lines = {
            "here": {**_shown(row["here"]), "H̃": number(row["entropy"], 1)},
            "95 %": {tag: _bounds(row["here"][tag], each) for tag, each in row["here_95"].items()},
            "paper": _shown(row["paper"]),
            "difference": _shown(row["difference"], signed=True),
        }
        for what, numbers in lines.items():
            if numbers:
                first = row["sampler"] if what == "here" else ""
                rows.append([first, what, *(numbers.get(name, NONE) for name in (*names, *BEYOND, "H̃"))])
    told = "; ".join(f"{what}: {meaning}" for what, meaning in LINES.items() if what in {row[1] for row in rows})
    titles = found["columns"].values()
    explained = {"number": told, **dict.fromkeys(titles, "GenEval: right images of that group, in per cent")}
    columns = ["sampler", "number", *titles, "Avg.", *BEYOND, "H̃"]
    return Table(columns, rows, text_columns=2, explained={**explained, **dict.fromkeys(BEYOND, MEASURES)})


def _shown(numbers: Mapping[str, float], signed: bool = False) -> dict[str, str]:
    return {name: number(value, signed=signed) for name, value in numbers.items()}


def _bounds(value: float, found: Sequence[float] | None) -> str:
    return stored(value / 100, found).bounds(digits=0, scale=100)


def geneval_notes(found: Plain) -> list[str]:
    """Sentences to print with the table: what was written, what is still to do, and what is not measured here."""
    extent = found["extent"]
    said = [
        f"Here: {found['model']['name']}, {extent['prompts']} prompts of GenEval, {extent['samples']} images of each."
    ]
    unfinished = [row for row in found["rows"] if row["images"] < row["wanted"]]
    said += [f"Unfinished: {row['row']} has {row['images']} of {row['wanted']} images." for row in unfinished]
    if unjudged := [row for row in found["rows"] if not row["here"]]:
        said.append("GenEval's program has not judged these images yet. Run in its folder, then this command again:")
        said += [COMMAND.format(folder=shlex.quote(str(Path(row["folder"]).resolve()))) for row in unjudged]
    said.append("IS, FID and sFID are not measured: they need Inception's weights, which do not come along.")
    made = made_with([found.get("provenance")])
    return [*said, *([made] if made else [])]


def class_row(table: PaperTable, row: PaperRow, numbers: Plain, beside: str | None) -> Plain:
    """The numbers of a row from a cell of the zoo's model."""
    names = [name for name, _, _ in SCORES.values()]
    return {
        "row": row.name,
        "sampler": row.sampler,
        "here": {name: numbers[name] for name in names},
        "here_95": {name: numbers[f"{name}_95"] for name in names},
        "paper": paper_numbers(table, row, beside),
    }


def class_table(found: Plain) -> Table:
    """A line for each sampler: our scores, and the paper's numbers, which are of another model and other measures."""
    paper = {"paper: GenEval": "average", **{f"paper: {name}": name for name in BEYOND}}
    rows = [
        [
            row["sampler"],
            *(_interval(row, name).show(digits, scale) for name, digits, scale in SCORES.values()),
            *(number(row["paper"].get(name)) for name in paper.values()),
        ]
        for row in found["rows"]
    ]
    explained = {**dict.fromkeys(paper, MEASURES), "paper: GenEval": "the paper's average over GenEval, in per cent"}
    return Table(["sampler", *SCORES, *paper], rows, explained=explained)


def _interval(row: Plain, name: str) -> Interval:
    return stored(row["here"][name], row["here_95"][name])


def class_notes(found: Plain) -> list[str]:
    """Sentences to print with the table of a model of the zoo."""
    extent = found["extent"]
    said = [
        f"Here: {found['model']['name']}, {extent['images']} images from each of {extent['seeds']} seeds, without "
        "guidance; intervals are over seeds.",
        "Pictures of clothes stand in for the paper's: the order of samplers may be compared, not the height.",
        "A Fréchet distance depends on how many images it is of: compare those of equally many.",
    ]
    made = made_with([found.get("provenance")])
    return [*said, *([made] if made else [])]
