"""GenEval over a folder of generated images: each is looked at, judged by the rules, and counted by its tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from infogain.errors import InputError
from infogain.evals.images.detectors import ColorNamer, ObjectDetector
from infogain.evals.images.geneval_prompts import TAGS, GeneratedSet, GenEvalPrompt
from infogain.evals.images.geneval_rules import Judged, judge
from infogain.evals.images.image_folder import Done, read_bytes
from infogain.evals.intervals import Interval, average, share_interval
from infogain.evals.means import mean
from infogain.options import Plain
from infogain.report.numbers import grouped
from infogain.report.tables import Table

COLUMNS = {
    "tag": "what the prompts are about",
    "prompts": "how many prompts of the tag have images here",
    "of": "how many prompts GenEval has of it",
    "images": "how many images of them were judged",
    "correct %": "images that show what the prompt asks for, in per cent, with the 95 % interval over prompts",
}
PUBLISHED = dict(zip(TAGS, (80, 99, 80, 94, 100, 100), strict=True))  # prompts of each tag, 553 in all
OVERALL = "overall"


@dataclass(frozen=True)
class JudgedImage:
    """An image of a prompt, and what is said of it."""

    prompt: GenEvalPrompt
    path: Path
    judged: Judged

    def plain(self) -> Plain:
        return {
            "file": str(self.path),
            "tag": self.prompt.tag,
            "prompt": self.prompt.prompt,
            "correct": self.judged.correct,
            "reasons": list(self.judged.reasons),
        }


@dataclass(frozen=True)
class GenEvalScores:
    """The shares of right images, by tag and overall."""

    tags: dict[str, Interval]
    prompts: dict[str, int]
    images: dict[str, int]

    @property
    def overall(self) -> Interval:
        """The mean over tags, as GenEval has it: each counts alike, however many prompts it has."""
        return average(list(self.tags.values()))

    @property
    def complete(self) -> bool:
        """Whether every prompt of GenEval has an image; a number of fewer is no GenEval score."""
        return self.prompts == PUBLISHED

    def plain(self) -> Plain:
        tags = {
            tag: {
                "correct": one.value,
                "interval": one.plain(),
                "prompts": self.prompts[tag],
                "images": self.images[tag],
            }
            for tag, one in self.tags.items()
        }
        overall = {"correct": self.overall.value, "interval": self.overall.plain()}
        return {OVERALL: overall, "complete": self.complete, "tags": tags}


def judge_image(prompt: GenEvalPrompt, image: Tensor, detector: ObjectDetector, namer: ColorNamer) -> Judged:
    """Judge an image [3, H, W] of uint8."""
    return judge(prompt, detector.detect(image), lambda objects, name: namer.colors(image, objects, name))


def judge_sets(
    sets: Sequence[GeneratedSet], detector: ObjectDetector, namer: ColorNamer, done: Done | None = None
) -> list[JudgedImage]:
    """Judge all images of all prompts; `done` is told of each."""
    check_classes(sets, detector)
    found = []
    for one in sets:
        for path in one.images:
            found.append(JudgedImage(one.prompt, path, judge_image(one.prompt, read_bytes(path), detector, namer)))
            if done:
                done(1)
    return found


def check_classes(sets: Sequence[GeneratedSet], detector: ObjectDetector) -> None:
    """Refuse a detector that could never find what a prompt asks for: such prompts would silently count as failed."""
    asked = {name for one in sets for name in one.prompt.classes}
    if missing := sorted(asked - detector.classes):
        raise InputError(
            f"the detector must know every class that prompts name; {detector.name} does not know "
            f"{', '.join(missing[:8])}. Use a Mask2Former that was trained on COCO's instances."
        )


def geneval_scores(images: Sequence[JudgedImage]) -> GenEvalScores:
    """Count images by tag. Images of one prompt are one problem of the interval."""
    found = GenEvalScores({}, dict.fromkeys(TAGS, 0), dict.fromkeys(TAGS, 0))
    for tag in TAGS:
        groups: dict[str, list[float]] = {}
        for one in images:
            if one.prompt.tag == tag:
                groups.setdefault(one.prompt.line or one.prompt.prompt, []).append(one.judged.correct)
        count = sum(map(len, groups.values()))
        found.prompts[tag], found.images[tag] = len(groups), count
        if groups:
            value = sum(map(sum, groups.values())) / count
            bounds = share_interval([mean(own) for own in groups.values()], count)
            found.tags[tag] = Interval(value, bounds.low, bounds.high)
    return found


def table_of_tags(scores: GenEvalScores) -> Table:
    """A row for each tag, and the overall score."""
    rows = [
        [tag, grouped(scores.prompts[tag]), str(PUBLISHED[tag]), grouped(scores.images[tag]), one.show(1, 100)]
        for tag, one in scores.tags.items()
    ]
    sums = [sum(part.values()) for part in (scores.prompts, PUBLISHED, scores.images)]
    rows.append([OVERALL, *map(grouped, sums), scores.overall.show(1, 100)])
    return Table(list(COLUMNS), rows, explained=COLUMNS)
