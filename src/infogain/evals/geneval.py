"""GenEval: its prompts, images in the folders that its own program reads, and what that program says of them.

The program, its detector and its prompts are GenEval's (github.com/djghosh13/geneval) and do not come with the package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from infogain.errors import InputError
from infogain.evals.intervals import Interval, share_interval

METADATA = "evaluation_metadata.jsonl"
RESULTS = "results.jsonl"
COMMAND = "python evaluation/evaluate_images.py {folder} --outfile {folder}/" + RESULTS + " --model-path DETECTOR"


class GenEvalPrompt(NamedTuple):
    """A prompt, its number in the file, and its line there."""

    number: int
    tag: str  # the group that its score counts for
    prompt: str
    line: str


class GenEvalImage(NamedTuple):
    """An image to write: one of several of a prompt."""

    prompt: GenEvalPrompt
    sample: int

    def path(self, folder: Path) -> Path:
        return folder / f"{self.prompt.number:05}" / "samples" / f"{self.sample:04}.png"


def read_prompts(data: Path | None) -> list[GenEvalPrompt]:
    """The prompts of GenEval's file, or of the file of that name in a folder."""
    path = data / METADATA if data is not None and data.is_dir() else data
    if path is None or not path.is_file():
        raise InputError(
            f"GenEval's prompts must be given with --data: its file prompts/{METADATA} "
            f"(github.com/djghosh13/geneval), or the folder that holds it; got {data}."
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_prompt(path, number, line) for number, line in enumerate(lines) if line.strip()]


def _prompt(path: Path, number: int, line: str) -> GenEvalPrompt:
    try:
        told = json.loads(line)
        return GenEvalPrompt(number, str(told["tag"]), str(told["prompt"]), line)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}, line {number + 1}: must be JSON with tag and prompt, as GenEval has it; got {line[:60]!r}."
        ) from error


def missing(folder: Path, prompts: Iterable[GenEvalPrompt], samples: int) -> list[GenEvalImage]:
    """The images that are not there yet, sample by sample: what is there after a while is of all prompts."""
    prompts = list(prompts)
    every = (GenEvalImage(prompt, sample) for sample in range(samples) for prompt in prompts)
    return [image for image in every if not image.path(folder).exists()]


def prepare(folder: Path, prompts: Iterable[GenEvalPrompt]) -> None:
    """Make a folder for each prompt, with what GenEval's program needs to know of it."""
    for prompt in prompts:
        own = folder / f"{prompt.number:05}"
        (own / "samples").mkdir(parents=True, exist_ok=True)
        (own / "metadata.jsonl").write_text(prompt.line + "\n", encoding="utf-8")


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
