"""One problem, two samplers, every step: what the report lets people play."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from infogain import view
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.studies.cell import Cell, CellResult, Point
from infogain.studies.methods import METHODS, recipe
from infogain.studies.subject import Subject
from infogain.zoo.tasks import load_task

FILE = "duel.json"
TASK, K = "countdown", 2
LABELS = ("entropy", "info-gain")


def points() -> list[Point]:
    """The first test problem from the first seed: nothing is picked."""
    cells = {label: Cell(TASK, recipe(METHODS[label], K), 1, (0,), kind="trace") for label in LABELS}
    return [Point({"sampler": label}, cell) for label, cell in cells.items()]


def save(rows: list[CellResult], folder: Path) -> Plain:
    record = {"task": TASK, "K": K, "rows": [row.plain() for row in rows if "trace" in row.numbers]}
    (folder / FILE).write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    return record


def load(folder: Path) -> Plain | None:
    """What `save` wrote to a folder; None where it did not."""
    path = folder / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def explanation(record: Plain) -> str:
    return (
        f"The first {record['task']} problem of the test split, K = {record['K']}. Cells are coloured by entropy; "
        "the slider or the arrow keys step through both decodes."
    )


def suits(subject: Subject) -> bool:
    """Whether a model knows the task of the problem; one that is asked in chat leaves no trace."""
    if subject.writes_images:
        return False
    return not subject.is_zoo or subject.alphabet == load_task(TASK).alphabet


def provenances(record: Plain) -> list[Plain]:
    return [row["numbers"]["provenance"] for row in record["rows"] if "provenance" in row["numbers"]]


def viewer(record: Plain) -> str:
    """The two traces side by side, as a fragment of a page."""
    traces = []
    symbols = record["rows"][0]["numbers"]["symbols"]
    for row in record["rows"]:
        numbers = row["numbers"]
        title = f"{row['labels']['sampler']}: {'right' if numbers['right'] else 'wrong'}"
        traces.append((title, load_trace(numbers["trace"])))
    return view.fragment(traces, symbols.__getitem__)


def load_trace(text: str) -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        path.write_text(text)
        return Trace.load(path)
