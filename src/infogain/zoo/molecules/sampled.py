"""Files of texts to be judged as molecules: of `infogain generate` and `infill`, or a SMILES in each line."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

from infogain.errors import InputError
from infogain.options import Plain
from infogain.zoo.molecules.scaffolds import read_scaffolds

COSTS = ("cumulative_entropy", "forwards", "token_forwards")


@dataclass(frozen=True)
class SampledTexts:
    """Texts of one recipe."""

    name: str
    texts: list[str]
    canvases: list[str]  # what was given of each; empty where nothing was
    costs: dict[str, list[float]] = field(default_factory=dict)  # of each text, by name
    about: Plain = field(default_factory=dict)  # recipe, provenance and whatever else is known of all

    @property
    def scaffolds(self) -> list[str | None]:
        """The scaffold that each text was to keep; None where its canvas is none of the task `scaffold`."""
        known = {one.canvas: one.scaffold for found in read_scaffolds().values() for one in found}
        return [known.get(canvas) for canvas in self.canvases]


def read_sampled(path: Path) -> SampledTexts:
    """The texts of a file; a file without JSON holds a text per line."""
    lines = _lines(path)
    if not lines[0].startswith("{"):
        return SampledTexts(_stem(path), lines, [""] * len(lines))
    try:
        tables = [json.loads(line) for line in lines]
        about = {key: tables[0].get(key) for key in ("recipe", "provenance")}
        texts, canvases = ([_text(table.get(name, "")) for table in tables] for name in ("text", "prompt"))
        costs = {name: [float(table[name]) for table in tables] for name in COSTS if all(name in one for one in tables)}
        return SampledTexts(_stem(path), texts, canvases, costs, about)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"a file of texts must hold a SMILES per line, or JSON lines with a text in each, as infogain generate "
            f"writes them; {path}: {error}."
        ) from error


def _lines(path: Path) -> list[str]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = [line for line in raw.decode("utf-8-sig").splitlines() if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"a file of texts must be UTF-8 text, plain or .gz; {path}: {error}.") from error
    if not lines:
        raise InputError(f"a file of texts must hold a text per line; {path} is empty.")
    return lines


def _text(value: object) -> str:
    """A text, or nothing for a conversation, which is no canvas."""
    return value if isinstance(value, str) else ""


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
