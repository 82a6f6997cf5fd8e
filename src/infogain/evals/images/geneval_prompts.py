"""GenEval's prompts, as its `evaluation_metadata.jsonl` has them, and its layout of generated images in a folder.

A prompt says which objects an image must show: how many, in which colour, and where.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from infogain.errors import InputError, UnknownName
from infogain.images.pixels import write_png
from infogain.options import Plain

METADATA, SAMPLES = "metadata.jsonl", "samples"  # names in the folder of a prompt
TAGS = ("single_object", "two_object", "counting", "colors", "position", "color_attr")
COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")
RELATIONS = ("left of", "right of", "above", "below")


@dataclass(frozen=True)
class Wanted:
    """Objects that an image must show; among those that it must not, so many are too many."""

    name: str  # of the class
    count: int
    color: str | None = None
    position: tuple[str, int] | None = None  # relation, and the number of the wanted objects that it is to


@dataclass(frozen=True)
class GenEvalPrompt:
    """A prompt, the kind of task it is, and what must be seen."""

    tag: str
    prompt: str
    include: tuple[Wanted, ...]
    exclude: tuple[Wanted, ...] = ()
    line: str = ""  # as it stood in the file
    number: int = 0  # of its line there

    @property
    def classes(self) -> set[str]:
        return {wanted.name for wanted in (*self.include, *self.exclude)}


@dataclass(frozen=True)
class GeneratedSet:
    """The images of one prompt."""

    prompt: GenEvalPrompt
    images: list[Path]


def read_prompts(path: str | Path) -> list[GenEvalPrompt]:
    """The prompts of a file of JSON lines."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be GenEval's evaluation_metadata.jsonl; it cannot be read: {error}.") from error
    told = [(i, line) for i, line in enumerate(lines) if line.strip()]
    found = [replace(as_prompt(line, f"{path}, line {i + 1}"), number=i) for i, line in told]
    if not found:
        raise InputError(f"{path} must hold a prompt per line, as GenEval's evaluation_metadata.jsonl; it is empty.")
    return found


def as_prompt(line: str, where: str) -> GenEvalPrompt:
    """A prompt from its line of JSON."""
    try:
        told = json.loads(line)
        include, exclude = (tuple(as_wanted(one) for one in told.get(part, ())) for part in ("include", "exclude"))
        tag, text = str(told["tag"]), str(told["prompt"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{where} must be JSON with tag, prompt and include, as GenEval's evaluation_metadata.jsonl; got "
            f"{line[:80]!r} ({error})."
        ) from error
    if tag not in TAGS:
        raise UnknownName("tag of GenEval", tag, TAGS, f" in {where}")
    if not include or any(one.position and not 0 <= one.position[1] < i for i, one in enumerate(include)):
        raise InputError(f"{where} must include an object, and a position must be to one before it; got {line[:80]!r}.")
    return GenEvalPrompt(tag, text, include, exclude, line)


def as_wanted(told: Any) -> Wanted:
    """Wanted objects from their part of a line."""
    color, position = told.get("color"), told.get("position")
    if color is not None and color not in COLORS:
        raise UnknownName("colour of GenEval", str(color), COLORS)
    if position is not None and position[0] not in RELATIONS:
        raise UnknownName("position of GenEval", str(position[0]), RELATIONS)
    if unknown := sorted(set(told) - {"class", "count", "color", "position"}):
        raise UnknownName("rule of GenEval", unknown[0], ("class", "count", "color", "position"))
    where = (str(position[0]), int(position[1])) if position is not None else None
    return Wanted(str(told["class"]), int(told["count"]), color, where)


def write_samples(folder: str | Path, number: int, prompt: GenEvalPrompt, images: Iterable[Tensor]) -> Path:
    """Write the images [C, H, W] of a prompt as GenEval's own program expects them; returns their folder."""
    place = make_place(Path(folder), number, prompt)
    for i, image in enumerate(images):
        write_png(place / SAMPLES / sample_name(i), image)
    return place


def place_of(folder: Path, number: int) -> Path:
    """The folder of a prompt's images."""
    return folder / f"{number:05}"


def sample_name(sample: int) -> str:
    return f"{sample:04}.png"


def make_place(folder: Path, number: int, prompt: GenEvalPrompt) -> Path:
    """Make the folder of a prompt's images, with its line in it."""
    place = place_of(folder, number)
    (place / SAMPLES).mkdir(parents=True, exist_ok=True)
    (place / METADATA).write_text(prompt.line + "\n", encoding="utf-8")
    return place


def read_samples(folder: str | Path) -> list[GeneratedSet]:
    """All prompts of a folder in GenEval's layout, each with its images: 00000/samples/0000.png and so on."""
    folder = Path(folder)
    places = sorted(path for path in folder.iterdir() if path.is_dir() and path.name.isdigit())
    found = [_read_set(place) for place in places]
    if not found:
        raise InputError(
            f"{folder} must hold a folder per prompt, with {METADATA} and {SAMPLES}/0000.png and so on: 00000, "
            "00001 …; it holds none. `write_samples` writes them."
        )
    return found


def _read_set(place: Path) -> GeneratedSet:
    (prompt, *others) = read_prompts(place / METADATA)
    if others:
        raise InputError(f"{place / METADATA} must hold one prompt; it holds {len(others) + 1}.")
    images = sorted(path for path in (place / SAMPLES).glob("*.png") if path.stem.isdigit())
    if not images:
        raise InputError(f"{place / SAMPLES} must hold images such as 0000.png; it holds none. Generate them first.")
    return GeneratedSet(prompt, images)


def tags_of(prompts: Sequence[GenEvalPrompt]) -> Plain:
    """How many prompts there are of each tag."""
    return {tag: sum(one.tag == tag for one in prompts) for tag in TAGS}
