"""Finished cells in one file of JSON lines, written as each is done: an interrupted study goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

from infogain.options import Plain

FILE = "cells.jsonl"


class Store:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        folder.mkdir(parents=True, exist_ok=True)
        self.cells: dict[str, Plain] = {}
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # the last line may have been cut short
        for line in whole.splitlines():
            record = json.loads(line)
            self.cells[record["key"]] = record
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")

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
