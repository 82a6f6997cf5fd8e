"""`infogain geneval`: judge generated images by GenEval's rules."""

from __future__ import annotations

import json
from pathlib import Path

import click

from infogain.cli.image_scores import FOLDER, NEW_FILE, watch_images
from infogain.cli.layout import in_parts, legend_of
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.terminal import Terminal, busy, say
from infogain.evals.images.detectors import ClipColors, Mask2FormerDetector
from infogain.evals.images.geneval_prompts import read_samples
from infogain.evals.images.geneval_rules import thresholds
from infogain.evals.images.geneval_scores import GenEvalScores, geneval_scores, judge_sets, table_of_tags
from infogain.images.pixels import check_pillow
from infogain.load import as_device
from infogain.options import Plain
from infogain.provenance import versions
from infogain.report.numbers import six_digits


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--detector", required=True, type=FOLDER, help="folder of a Mask2Former trained on COCO's instances")
@click.option("--clip", required=True, type=FOLDER, help="folder of a CLIP; GenEval's own is ViT-L/14 of OpenAI")
@click.option("--device", help="cpu, cuda, cuda:1 …; unset: the GPU where there is one")
@click.option("--out", type=NEW_FILE, help="write what is said of each image, and all numbers, as JSON; unset: none")
@OVERWRITE
def geneval(folder: Path, detector: Path, clip: Path, device: str | None, out: Path | None, overwrite: bool) -> None:
    """Judge generated images by GenEval's rules.

    FOLDER has GenEval's own layout: for each prompt a folder 00000, 00001 … with metadata.jsonl, the prompt's line of
    evaluation_metadata.jsonl, and samples/0000.png and so on. A detector finds objects and CLIP names colours; numbers
    compare where both are the same. Everything is read from local folders.

    \b
    Examples:
      infogain geneval drawn --detector mask2former-swin-small-coco-instance --clip clip-vit-large-patch14
      infogain geneval drawn --detector ./mask2former --clip ./clip --out geneval.json
    """
    check_pillow()
    check_file(out, overwrite)
    sets = read_samples(folder)
    with busy("loading the detector and CLIP"):
        where = as_device(device)
        finder, namer = Mask2FormerDetector(detector, where), ClipColors(clip, where)
    with watch_images(sum(len(one.images) for one in sets), "judging") as done:
        images = judge_sets(sets, finder, namer, done)
    scores, console = geneval_scores(images), Terminal()
    table = table_of_tags(scores)
    for shown in in_parts(table, console.width):
        console.print(shown)
    console.print("", legend_of(table))
    for line in said_of(scores, finder.name, namer.name):
        say(line, err=True)
    if out:
        about: Plain = {
            "rules": "GenEval",
            "detector": finder.name,
            "clip": namer.name,
            "device": str(where),
            "thresholds": thresholds(),
            "versions": versions(),
        }
        report: Plain = {"about": about, **scores.plain(), "images": [one.plain() for one in images]}
        out.write_text(json.dumps(six_digits(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        say(f"what is said of {len(images):,} images → {out}", err=True)


def said_of(scores: GenEvalScores, detector: str, clip: str) -> list[str]:
    """What the numbers rest on, and what keeps them from being a GenEval score."""
    lines = [f"GenEval's rules, detector {detector}, colours by {clip}"]
    if not scores.complete:
        lines.append("note: not all of GenEval's 553 prompts have images here; the overall score is no GenEval score")
    return lines
