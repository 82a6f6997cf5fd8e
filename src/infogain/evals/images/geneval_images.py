"""GenEval's images that are still to be written, where its own program looks for them, and what that says of them.

The program, its detector and its prompts are GenEval's (github.com/djghosh13/geneval) and do not come with the package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from infogain.errors import InputError
from infogain.evals.images.geneval_prompts import (
    SAMPLES,
    GenEvalPrompt,
    make_place,
    place_of,
    read_prompts,
    sample_name,
)
from infogain.evals.intervals import Interval, share_interval

PROMPTS = "evaluation_metadata.jsonl"
RESULTS = "results.jsonl"
COMMAND = "python evaluation/evaluate_images.py {folder} --outfile {folder}/" + RESULTS + " --model-path DETECTOR"


class GenEvalImage(NamedTuple):
    """An image to write: one of several of a prompt."""

    prompt: GenEvalPrompt
    sample: int

    def path(self, folder: Path) -> Path:
        return place_of(folder, self.prompt.number) / SAMPLES / sample_name(self.sample)


def find_prompts(data: Path | None) -> list[GenEvalPrompt]:
    """The prompts of GenEval's file, or of the file of that name in a folder."""
    path = data / PROMPTS if data is not None and data.is_dir() else data
    if path is None or not path.is_file():
        raise InputError(
            f"GenEval's prompts must be given with --data: its file prompts/{PROMPTS} "
            f"(github.com/djghosh13/geneval), or the folder that holds it; got {data}."
        )
    return read_prompts(path)


def missing(folder: Path, prompts: Iterable[GenEvalPrompt], samples: int) -> list[GenEvalImage]:
    """The images that are not there yet, sample by sample: what is there after a while is of all prompts."""
    prompts = list(prompts)
    every = (GenEvalImage(prompt, sample) for sample in range(samples) for prompt in prompts)
    return [image for image in every if not image.path(folder).exists()]


def prepare(folder: Path, prompts: Iterable[GenEvalPrompt]) -> None:
    """Make a folder for each prompt, with what GenEval's program needs to know of it."""
    for prompt in prompts:
        make_place(folder, prompt.number, prompt)


def read_results(folder: Path) -> dict[GenEvalImageKey, bool]:
    """Whether each image is right, by the numbers of its prompt and sample; nothing before GenEval's program ran."""
    path = folder / RESULTS
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            told = json.loads(line)
            where = Path(told["filename"])
            found[int(where.parent.parent.name), int(where.stem)] = bool(told["correct"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}, line {number}: must be what GenEval's program writes; got {line[:60]!r}."
            ) from error
    return found


GenEvalImageKey = tuple[int, int]


def shares(found: dict[GenEvalImageKey, bool], prompts: Sequence[GenEvalPrompt], samples: int) -> dict[str, Interval]:
    """The share of right images of each group, with its interval over prompts; none of groups that lack images."""
    groups: dict[str, list[list[bool]]] = {}
    for prompt in prompts:
        own = [found[prompt.number, i] for i in range(samples) if (prompt.number, i) in found]
        groups.setdefault(prompt.tag, []).append(own)
    whole = {tag: own for tag, own in groups.items() if all(len(each) == samples for each in own)}
    return {
        tag: share_interval([sum(each) / samples for each in own], samples * len(own)) for tag, own in whole.items()
    }
