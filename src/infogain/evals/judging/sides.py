"""The two sides of a comparison: texts of a run or of a file in AlpacaEval's format, paired by their instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from infogain.errors import InputError
from infogain.evals.fingerprint import content_fingerprint
from infogain.evals.run_lines import Key, key_of
from infogain.evals.run_page import in_order
from infogain.evals.runs import ITEMS, RUN, Run
from infogain.evals.source import Record, read_file
from infogain.evals.summary import is_scored
from infogain.options import Plain


class TextKey(NamedTuple):
    """What a text was written for."""

    instruction: str
    seed: int = 0  # number of the seed
    again: int = 0  # a file may pose an instruction several times


@dataclass(frozen=True)
class Side:
    """The texts of a run or file, and what is known of how they were made."""

    name: str
    texts: dict[TextKey, str]
    about: Plain


@dataclass(frozen=True)
class TextPair:
    """Two texts that were written for the same instruction."""

    key: TextKey
    a: str
    b: str

    @property
    def longer_by(self) -> int:
        """How many characters A's text has more than B's."""
        return len(self.a) - len(self.b)


def read_side(path: Path) -> Side:
    """The texts of a run's folder, of its file of lines, or of a JSON file with instructions and outputs."""
    folder = path.parent if path.name == ITEMS and (path.parent / RUN).is_file() else path
    if (folder / RUN).is_file():
        return side_of_run(Run.open(folder))
    if not path.is_file():
        raise InputError(
            f"what is judged is a run of `infogain eval writing` or a JSON file of instructions and outputs; {path} is "
            "neither. Name a folder with run.json, or a file."
        )
    return _side_of_file(path)


def side_of_run(run: Run, asked: Collection[Key] | None = None) -> Side:
    """The texts of a run, whose task must have no right answers; `asked` names items and seeds; unset: all."""
    about = run.about
    lines = [line for line in in_order(run.items()) if asked is None or key_of(line) in asked]
    if not lines:
        raise InputError(f"a run that is judged must hold texts; {run.name} has none yet. `infogain eval` makes them.")
    if is_scored(lines):
        raise InputError(
            f"a judge compares texts that are neither right nor wrong; {run.name} is a run of {about['task']}, whose "
            "texts are. Compare such runs with `infogain results`."
        )
    told = {name: about.get(name) for name in ("task", "model", "protocol", "recipe", "provenance")}
    texts = _keyed((_instruction(line["prompt"]), line["key"]["seed"], line["text"]) for line in lines)
    return Side(run.name, texts, {"name": run.name, **told})


def _side_of_file(path: Path) -> Side:
    records = read_file(path)
    texts = _keyed((record.text("instruction").strip(), 0, record.text("output")) for record in records)
    makers = sorted({maker for record in records if (maker := _generator(record))})
    about: Plain = {"name": path.name, "generators": makers, "fingerprint": content_fingerprint(path)}
    return Side(path.name, texts, about)


def _generator(record: Record) -> str:
    return record.text("generator") if "generator" in record.values else ""


def _instruction(prompt: str | Sequence[Plain]) -> str:
    """What the model was asked: the text, or the last message of the user."""
    said = prompt if isinstance(prompt, str) else [each for each in prompt if each["role"] == "user"][-1]["content"]
    return str(said).strip()


def _keyed(texts: Iterable[tuple[str, int, str]]) -> dict[TextKey, str]:
    seen_before, found = Counter[tuple[str, int]](), dict[TextKey, str]()
    for instruction, seed, text in texts:
        found[TextKey(instruction, seed, seen_before[instruction, seed])] = text
        seen_before[instruction, seed] += 1
    return found


def pair_up(a: Side, b: Side) -> list[TextPair]:
    """The texts that both sides have for an instruction and seed, in the order of the first side."""
    pairs = [TextPair(key, text, b.texts[key]) for key, text in a.texts.items() if key in b.texts]
    if not pairs:
        raise InputError(
            f"texts are judged in pairs that answer the same instruction; {a.name} ({len(a.texts)} texts) and {b.name} "
            f"({len(b.texts)} texts) have none in common. Decode both from the same prompts."
        )
    return pairs


def model_outputs(run: Run) -> list[Plain]:
    """The texts of a run as AlpacaEval's `model_outputs`, which has one text for an instruction: the first seed's."""
    texts = side_of_run(run).texts
    first = min(key.seed for key in texts)
    return [
        {"instruction": key.instruction, "output": text, "generator": run.name}
        for key, text in texts.items()
        if key.seed == first
    ]
