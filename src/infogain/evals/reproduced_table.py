"""Our numbers beside the paper's, as a table with what must be said about it, and as files."""

from __future__ import annotations

import json
from pathlib import Path

from infogain.evals.intervals import stored
from infogain.evals.listing import cache_label, extent
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.report.numbers import NONE, number
from infogain.report.pages import render
from infogain.report.tables import Table, as_latex, as_markdown, in_markdown, legend_in_markdown

LINES = {
    "here": "this package's",
    "95 %": "its interval over problems",
    "paper": "the paper's",
    "difference": "here less the paper's",
}
STANDS_IN = "Tasks of the zoo stand in for the paper's: the order of samplers may be compared, not the height."


def table_of(found: Plain) -> Table:
    """Lines for each row of the paper's table: our number, its interval, the paper's, and their difference."""
    columns = [column for column in found["columns"] if column["asked"]]
    titles = [c["title"] if c["asked"] == c["task"] else f"{c['title']} ({c['asked']})" for c in columns]
    names = [*(column["task"] for column in columns), "average", "entropy"]
    rows = []
    for row in found["rows"]:
        lines = {
            "here": {name: number(x, 2 if name == "entropy" else 1) for name, x in row["here"].items()},
            "95 %": {task: _interval(cell) for task, cell in row["cells"].items()},
            "paper": {name: number(x) for name, x in row["paper"].items()},
            "difference": {name: number(x, signed=True) for name, x in row["difference"].items()},
        }
        for what, numbers in lines.items():
            first = [str(row["k"]), row["sampler"]] if what == "here" else ["", ""]
            if numbers:
                rows.append([*first, what, *(numbers.get(name, NONE) for name in names)])
    shown = {row[2] for row in rows}
    told = "; ".join(f"{what}: {meaning}" for what, meaning in LINES.items() if what in shown)
    explained = {"number": told, **dict.fromkeys(titles, "pass@1 on that benchmark, in per cent")}
    return Table(["K", "sampler", "number", *titles, "Avg.", "H̃"], rows, text_columns=3, explained=explained)


def _interval(cell: Plain) -> str:
    return stored(cell["accuracy"], cell["accuracy_95"]).bounds(digits=0, scale=100)


def notes(found: Plain) -> list[str]:
    """Sentences to print with the table: what was asked, and what the numbers do not tell."""
    extent = found["extent"]
    much = f"the first {extent['limit']} problems of each task" if extent["limit"] else "all problems"
    said = [f"Here: {found['model']['name']}, {much}, seeds: {extent['seeds']}. Avg. is over the columns shown."]
    if cache_label(found["model"]) not in (NONE, "dual"):
        said.append(f"Cache: {cache_label(found['model'])}; the paper's is dual, and reads the row for every block.")
    if found["beside"]:
        said.append(f"Paper: {found['beside']}; its Avg. and H̃ are over all of its columns.")
    if any(column["asked"] not in (None, column["task"]) for column in found["columns"]):
        said.append(STANDS_IN)
    if len(found["rows"]) > 1:
        said += [f"{title}: all rows have 100 %; the task does not tell them apart." for title in _ceilings(found)]
    if made := made_with([found.get("provenance")]):
        said.append(made)
    said += [f"Unfinished: {name} has {texts} texts." for name, texts in _unfinished(found).items()]
    return [*said, *(f"Not asked: {column['unfit']}" for column in found["columns"] if column["unfit"])]


def _unfinished(found: Plain) -> dict[str, str]:
    """Cells that lack texts, by row and task."""
    cells = {f"{row['row']}, {task}": cell for row in found["rows"] for task, cell in row["cells"].items()}
    return {name: extent(cell) for name, cell in cells.items() if cell["lines"] < cell["wanted"]}


def _ceilings(found: Plain) -> list[str]:
    """Titles of the tasks that every row solves."""
    asked = [column for column in found["columns"] if column["asked"]]
    return [c["title"] for c in asked if all(row["here"][c["task"]] == 100 for row in found["rows"])]


def write_files(found: Plain, table: Table, said: list[str], folder: Path) -> list[Path]:
    """Write a record as JSON and its table, with what is said of it, as Markdown, LaTeX and HTML; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    title = in_markdown(f"{found['title']}: {found['about']}")
    below = "".join(f"- {in_markdown(line)}\n" for line in said)
    texts = {
        "json": json.dumps(found, ensure_ascii=False, indent=1) + "\n",
        "md": f"# {title}\n\n{as_markdown(table)}\n{legend_in_markdown(table)}\n{below}",
        "tex": as_latex(table),
        "html": table_page(found["title"], found["about"], table, said),
    }
    paths = [folder / f"{found['table']}.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def table_page(title: str, about: str, table: Table, said: list[str]) -> str:
    return render("table_page.html", title=title, about=about, table=table, notes=said, assets="")
