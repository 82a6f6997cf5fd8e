"""Reads a benchmark's items from its own file, or from the hub. A mistake is named by file, line and field."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.options import Plain


@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub."""

    path: str
    config: str | None = None
    split: str = "test"
    file: str | None = None  # a JSON file of the data set, to be read by itself


@dataclass(frozen=True)
class Record:
    """One entry of a benchmark, and where it stands."""

    where: str
    values: Plain

    def text(self, field: str) -> str:
        value = self._get(field)
        if not isinstance(value, str):
            raise self.wrong(field, "a text")
        return value

    def whole(self, field: str) -> int:
        value = self._get(field)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(field, "a whole number")
        return value

    def texts(self, field: str) -> list[str]:
        value = self._get(field)
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise self.wrong(field, "a list of texts")
        return value

    def wrong(self, field: str, must: str) -> InputError:
        return InputError(f"{self.where}, field {field!r}: must be {must}; got {self.values[field]!r:.80}.")

    def _get(self, field: str) -> Any:
        if field not in self.values:
            raise InputError(
                f"{self.where}, field {field!r}: is missing; there are {', '.join(map(str, self.values)) or 'none'}. "
                "Is it the file of another benchmark?"
            )
        return self.values[field]


def read_file(path: Path) -> list[Record]:
    """The entries of JSON lines, of a JSON list, of CSV with a header, or of plain text with a prompt per line."""
    if path.suffix not in READERS:
        raise InputError(f"a benchmark's file ends in {', '.join(READERS)}; got {path.name}.")
    try:
        text = path.read_text(encoding="utf-8-sig")  # some tools put a mark before the first line
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8 text; it is not: {error}.") from error
    records = [_table(where, value) for where, value in READERS[path.suffix](text, path)]
    if not records:
        raise InputError(f"{path} must hold at least one entry; it is empty.")
    return records


def _json_lines(text: str, path: Path) -> Iterable[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):  # splitlines would also split at characters inside a text
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _parse(line, where)


def _json_list(text: str, path: Path) -> Iterable[tuple[str, Any]]:
    value = _parse(text, str(path)) if text.strip() else []
    if not isinstance(value, list):
        raise InputError(f"{path} must hold a list; got {value!r:.80}.")
    return ((f"{path}, entry {number}", entry) for number, entry in enumerate(value, 1))


def _csv(text: str, path: Path) -> Iterable[tuple[str, Any]]:
    reader = csv.DictReader(text.splitlines())
    try:
        for row in reader:
            cells = {name: cell for name, cell in row.items() if name and cell is not None}
            yield f"{path}, line {reader.line_num}", cells
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num + 1}: must be CSV; it is not: {error}.") from error


def _plain_lines(text: str, path: Path) -> Iterable[tuple[str, Any]]:
    lines = enumerate(text.split("\n"), 1)
    return ((f"{path}, line {number}", line.strip()) for number, line in lines if line.strip())


READERS = {".jsonl": _json_lines, ".json": _json_list, ".csv": _csv, ".txt": _plain_lines}


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: must be JSON; it is not: {error}.") from error


def _table(where: str, value: Any) -> Record:
    """An entry with its fields; a text by itself is a prompt."""
    if isinstance(value, str):
        return Record(where, {"prompt": value})
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be a table of fields; got {value!r:.80}.")
    return Record(where, value)


def find_file(data: Path, names: tuple[str, ...], task: str) -> Path:
    """The task's file in a folder; a file is what it is."""
    if data.is_file():
        return data
    found = [data / name for name in names if (data / name).is_file()]
    if not found:
        raise InputError(f"{task} is read from {' or '.join(names)}; there is none in {data}.")
    return found[0]


def read_hub(hub: Hub) -> list[Record]:
    try:
        from datasets import load_dataset
    except ModuleNotFoundError as error:
        raise InputError(
            f"fetching {hub.path} needs datasets: pip install 'infogain[eval]'. Or name a folder that has it (--data)."
        ) from error
    try:
        rows = _load(load_dataset, hub)
    except Exception as error:  # the hub's client raises its own, its transport's and the system's
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"fetching {hub.path} from the hub failed: {reason} Check the connection, or name a folder with its file "
            "(--data)."
        ) from error
    return [_table(f"{hub.path}, {hub.split}, row {number}", dict(row)) for number, row in enumerate(rows)]


def _load(load_dataset: Callable[..., Any], hub: Hub) -> Any:
    """The rows of a data set; a file of it is read by itself, for some data sets have a script that no longer runs."""
    if hub.file is None:
        return load_dataset(hub.path, hub.config, split=hub.split)
    return load_dataset("json", data_files=f"hf://datasets/{hub.path}/{hub.file}", split="train")
