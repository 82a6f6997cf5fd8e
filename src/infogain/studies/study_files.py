"""The files of a study: NAME.json with everything, NAME.csv, and its figure as PNG and SVG."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

from infogain.options import Plain
from infogain.provenance import versions
from infogain.report import plots
from infogain.report.numbers import six_digits
from infogain.report.tables import Table
from infogain.studies.abstract_study import Study
from infogain.studies.cell import Cell, CellResult, Point
from infogain.studies.subject import Subject

FORMATS = ("png", "svg")
PACKED = ".json.gz"
SIGNED = ("model", "cache", "dtype", "device", "infogain")  # first columns of a CSV: what made the row
# No columns of a CSV.
LONG = (
    *("path", "scores", "quantiles", "hits", "sound_hits", "accuracy_by_seed", "by_seed", "trace", "provenance"),
    *("examples", "pictures"),
)


def save(study: Study, rows: list[CellResult], size: str, subject: Subject, folder: Path) -> list[Path]:
    record = describe(study, rows, size, subject)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{study.name}.json", folder / f"{study.name}.csv"]
    paths[0].write_text(as_text(record), encoding="utf-8")
    save_csv(rows, paths[1])
    return paths + draw(study, rows, folder)


def read_record(folder: Path, name: str) -> Plain | None:
    """What `save` wrote of a study, also where the file has been packed; None where the folder has none."""
    plain, packed = folder / f"{name}.json", folder / f"{name}{PACKED}"
    if plain.exists():
        text = plain.read_text(encoding="utf-8")
    elif packed.exists():
        text = gzip.decompress(packed.read_bytes()).decode()
    else:
        return None
    found: Plain = json.loads(text)
    return found


def pack_records(folder: Path) -> None:
    """Put a gzip file in the place of each study's JSON: an eighth of the bytes, the same ones for the same record."""
    for path in folder.glob("*.json"):
        path.with_suffix(PACKED).write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        path.unlink()


def describe(study: Study, rows: list[CellResult], size: str, subject: Subject) -> Plain:
    """The record of a study: its numbers with their recipes, and the tables, claims and sentences made of them."""
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "claim": study.claim,
        "size": size,
        "points": len(rows),
        "expected": expected(study, size, subject, rows),
        "model": subject.described,
        "versions": versions(),
        "provenance": provenances(rows),
        "devices": sorted({row.numbers["device"] for row in rows}),
        "float32": sorted({row.numbers["float32"] for row in rows}),
        "seconds": round(sum(row.numbers["seconds"] for row in rows), 1),
        "summary": study.summary(rows) if rows else [],
        "checks": [list(check) for check in study.checks(rows)] if rows else [],
        "tables": [_table(table) for table in study.tables(rows)] if rows else [],
        "rows": [_unsigned(row.plain()) for row in rows],
    }


def expected(study: Study, size: str, subject: Subject, rows: list[CellResult]) -> int:
    """How many rows a study will have, as far as those that are finished tell: what follows them counts too."""
    points = study.points_for(size, subject)
    known = {_name(row): row for row in rows}
    while all(_name(point) in known for point in points):
        more = study.follow(size, [known[_name(point)] for point in points])
        if not more:
            break
        points = points + more
    return len(points)


def _name(of: Point | CellResult) -> tuple[str, Cell]:
    return json.dumps(of.labels, sort_keys=True), of.cell


def _table(table: Table) -> Plain:
    return {name: getattr(table, name) for name in ("title", "columns", "rows", "bold", "text_columns")}


def provenances(rows: list[CellResult]) -> list[Plain]:
    """The models that decoded these rows and how they ran, each once. Older cells do not say."""
    found = {json.dumps(row.numbers["provenance"], sort_keys=True) for row in rows if "provenance" in row.numbers}
    return [json.loads(text) for text in sorted(found)]


def _unsigned(row: Plain) -> Plain:
    """A row without its provenance, which stands above all rows; cells.jsonl has each row's own."""
    return {**row, "numbers": {name: value for name, value in row["numbers"].items() if name != "provenance"}}


def as_text(record: Plain) -> str:
    """JSON with a line for each row: small, and differences can be read."""
    head = json.dumps({**record, "rows": []}, ensure_ascii=False, indent=1)
    lines = ",\n".join("  " + json.dumps(six_digits(row), ensure_ascii=False) for row in record["rows"])
    return head.removesuffix("[]\n}") + f"[\n{lines}\n ]\n}}\n"


def save_csv(rows: list[CellResult], path: Path) -> None:
    labels = list(dict.fromkeys(name for row in rows for name in row.labels))
    numbers = [n for n in dict.fromkeys([*SIGNED, *(name for row in rows for name in row.numbers)]) if n not in LONG]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*labels, "recipe", *(name.replace("_95", " 95 %") for name in numbers)])
        for row in rows:
            recipe, told = json.dumps(row.cell.recipe.plain(), ensure_ascii=False), {**_signature(row), **row.numbers}
            values = [_cell(told.get(name, "")) for name in numbers]
            writer.writerow([*(row.labels.get(name, "") for name in labels), recipe, *values])


def _signature(row: CellResult) -> Plain:
    """The model that decoded a row and how it ran; empty for older cells, and those of no model."""
    about = row.numbers.get("provenance", {})
    return {**about, **about.get("versions", {})}


def _cell(value: Any) -> Any:
    """A value of a CSV: an interval becomes one text."""
    return " to ".join(f"{x:.6g}" for x in value) if isinstance(value, list) else six_digits(value)


def draw(study: Study, rows: list[CellResult], folder: Path) -> list[Path]:
    """The figure; nothing where matplotlib is not installed or nothing is to be drawn."""
    paths = [folder / f"{study.name}.{ending}" for ending in FORMATS]
    return plots.draw(paths, study.figure_size, lambda figure: study.draw(figure, rows)) if rows else []
