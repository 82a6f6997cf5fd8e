"""`infogain image-scores`: FID, sFID and the Inception Score of folders of images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

from infogain.cli.layout import in_parts, legend_of
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.progress import Label, bar
from infogain.cli.terminal import Terminal, busy, say
from infogain.errors import InputError
from infogain.evals.images.image_folder import BATCH, Done, image_files, measure_files
from infogain.evals.images.image_metrics import SPLITS, ImageMeter, table_of_scores
from infogain.evals.images.image_statistics import ImageStatistics, load_statistics
from infogain.evals.images.inception import InceptionV3
from infogain.evals.images.inception_weights import PUBLIC, fingerprint_of, load_inception
from infogain.load import as_device
from infogain.options import Plain
from infogain.provenance import versions
from infogain.report.numbers import six_digits

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("folders", metavar="FOLDER...", nargs=-1, required=True, type=FOLDER)
@click.option(
    "--inception",
    "weights",
    required=True,
    type=FILE,
    help=f"weights of FID's Inception-v3: {PUBLIC}, as pickle or safetensors",
)
@click.option(
    "--reference",
    type=click.Path(exists=True, path_type=Path),
    help="folder of images, or statistics in an .npz file (pytorch-fid's, OpenAI's or --save's); unset: no distances",
)
@click.option("--save", type=NEW_FILE, help="write the statistics of one FOLDER as .npz; unset: none")
@click.option("--splits", type=click.IntRange(min=1), default=SPLITS, show_default=True, help="parts of the IS")
@click.option("--batch-size", type=click.IntRange(min=1), default=BATCH, show_default=True, help="images in a forward")
@click.option("--device", help="cpu, cuda, cuda:1 …; unset: the GPU where there is one")
@click.option("--out", type=NEW_FILE, help="write all numbers and what they rest on as JSON; unset: none")
@OVERWRITE
def image_scores(
    folders: tuple[Path, ...],
    weights: Path,
    reference: Path | None,
    save: Path | None,
    splits: int,
    batch_size: int,
    device: str | None,
    out: Path | None,
    overwrite: bool,
) -> None:
    """Judge folders of images by FID, sFID and Inception Score.

    Every image of a FOLDER and of those below it counts, scaled to 299×299 as FID's own program does. Distances are
    those from the --reference. All numbers depend on how many images there are: compare equal n.

    \b
    Examples:
      infogain image-scores val512 --inception weights.pth --save val512.npz
      infogain image-scores drawn --inception weights.pth --reference val512.npz
      infogain image-scores greedy info-gain --inception weights.pth --reference val512 --out scores.json
    """
    check_request(folders, save)
    for path in (save, out):
        check_file(path, overwrite)
    files = {folder: image_files(folder) for folder in folders}
    check_splits(files, splits)
    with busy("loading Inception"):
        inception = load_inception(weights, as_device(device))
    held = read_reference(inception, reference, batch_size) if reference else None
    meters = {folder: measured(inception, files[folder], batch_size, str(folder)) for folder in folders}
    with busy("computing distances"):
        scores = [meter.scores(str(folder), held, splits) for folder, meter in meters.items()]
    console, table = Terminal(), table_of_scores(scores)
    for shown in in_parts(table, console.width):
        console.print(shown)
    console.print("", legend_of(table))
    for note in dict.fromkeys(note for one in scores for note in one.notes):
        say(f"note: {note}", err=True)
    if save:
        meters[folders[0]].statistics().save(save)
        say(f"statistics of {meters[folders[0]].n:,} images → {save}", err=True)
    if out:
        about = {**about_scores(inception, weights, held, reference), "splits": splits}
        report: Plain = {"about": about, "folders": [one.plain() for one in scores]}
        out.write_text(json.dumps(six_digits(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        say(f"scores → {out}", err=True)


def check_request(folders: Sequence[Path], save: Path | None) -> None:
    """Refuse to save the statistics of several folders in one file, and a folder that is named twice."""
    if save and len(folders) > 1:
        raise InputError(f"--save writes the statistics of one FOLDER; got {len(folders)}. Call it once for each.")
    if len(set(folders)) < len(folders):
        raise InputError("each FOLDER must be named once; one is there twice.")


def check_splits(files: dict[Path, list[Path]], splits: int) -> None:
    """Refuse more splits than a folder has images, before any is read."""
    for folder, paths in files.items():
        if len(paths) < splits:
            raise InputError(
                f"{folder} must hold an image for each of {splits} splits; it holds {len(paths)}. Set fewer --splits."
            )


def read_reference(inception: InceptionV3, path: Path, batch: int) -> ImageStatistics:
    """The statistics that distances are taken from: those in a file, or those of a folder's images."""
    if path.is_file():
        return load_statistics(path)
    return measured(inception, image_files(path), batch, f"{path} (reference)").statistics()


def measured(inception: InceptionV3, paths: Sequence[Path], batch: int, name: str) -> ImageMeter:
    """A meter that took in these files, with a bar meanwhile."""
    meter = ImageMeter(inception)
    with watch_images(len(paths), name) as done:
        measure_files(meter, paths, batch, done)
    return meter


@contextmanager
def watch_images(count: int, title: str) -> Iterator[Done]:
    """Gives what moves a bar by so many images."""
    with bar(Label(title), BarColumn(), MofNCompleteColumn(), Label("images"), TimeRemainingColumn()) as progress:
        task = progress.add_task("", total=count)
        yield lambda images: progress.update(task, advance=images)


def about_scores(inception: InceptionV3, weights: Path, held: ImageStatistics | None, reference: Path | None) -> Plain:
    """What the numbers rest on."""
    return {
        "inception": fingerprint_of(inception),
        "weights": weights.name,
        "device": str(inception.fc.weight.device),
        "reference": str(reference) if reference else None,
        "reference_n": held.n if held else None,
        "versions": versions(),
    }
