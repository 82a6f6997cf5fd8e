"""Finished cells in one file of JSON lines, written as each is done: an interrupted study goes on where it stopped."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from infogain.evals.run_lines import TABLE, TEXT, Rule, check
from infogain.options import Plain

LOG = logging.getLogger("infogain")
FILE = "cells.jsonl"
FIELDS: dict[str, Rule] = {"key": TEXT, "numbers": TABLE}


class Store:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True)
        self.cells: dict[str, Plain] = {}
        content = self.path.read_bytes() if self.path.exists() else b""
        *lines, cut = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            self._read(line, number)
        if cut:  # by the end of the process that wrote it
            os.truncate(self.path, len(content) - len(cut))

    def _read(self, line: bytes, number: int) -> None:
        try:
            record = json.loads(line)
            check(record, FIELDS)
        except (ValueError, RecursionError) as error:
            LOG.warning(f"{self.path}, line {number}: must be a cell that a study wrote; {error}. It is done again.")
            return
        self.cells[record["key"]] = record

    def __contains__(self, key: str) -> bool:
        return key in self.cells

    def numbers(self, key: str) -> Plain:
        found: Plain = self.cells[key]["numbers"]
        return found

    def add(self, key: str, cell: Plain, model: str, numbers: Plain) -> None:
        record = {"key": key, "model": model, "cell": cell, "numbers": numbers}
        self.cells[key] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
