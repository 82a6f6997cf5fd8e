"""Where the images of `infogain image` go: files, and a line each of what it cost, as JSON into a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from infogain.cli.flags import Flag, gathered
from infogain.cli.image_drawing import LEAST, ImageDrawing
from infogain.cli.interrupt import on_interrupt
from infogain.cli.layout import COST_OF_A_TEXT, explained, plain_table
from infogain.cli.output_files import OVERWRITE, check_file, make_folder
from infogain.cli.planned_images import PlannedImages
from infogain.cli.resumable_file import json_line
from infogain.cli.terminal import Terminal, busy, literal, say
from infogain.errors import InputError
from infogain.images.generate_images import GeneratedImage
from infogain.options import Plain

BULKY = ("codes", "revealed")  # a file holds them, a line does not
FILE = click.Path(dir_okay=False, path_type=Path)
ENDINGS = {"out": ".png", "strip": ".png", "gif": ".gif", "html": ".html", "trace": ".jsonl"}
LONGEST = 40  # letters of a file's name that are taken from a prompt


@dataclass(frozen=True)
class ImageOutput:
    """Where images go, and what else is made of them."""

    out: Path | None
    folder: Path | None
    strip: Path | None
    gif: Path | None
    html: Path | None
    trace: Path | None
    scale: int | None
    batch_size: int | None
    overwrite: bool

    def named(self, prompt: str) -> ImageOutput:
        """This output with a name for its picture, where none was given: the first free one that the prompt makes."""
        if self.out or self.folder:
            return self
        stem = re.sub(r"[^\w]+", "-", prompt.strip().casefold())[:LONGEST].strip("-") or "image"
        names = (Path(f"{stem}{'' if i == 1 else f'-{i}'}.png") for i in range(1, sys.maxsize))
        return replace(self, out=next(name for name in names if not name.exists()))

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by what draws them."""
        return {name: path for name in ENDINGS if (path := getattr(self, name)) is not None}

    def check(self, count: int) -> None:
        """Find out before a model is loaded what cannot be written, or would be lost."""
        for name, path in self.files.items():
            check_ending(name, path)
            check_file(path, self.overwrite)
        if self.trace and count > 1:
            raise InputError(f"--trace saves the steps of one image; {count} are asked for. --html shows several.")
        if len({path.resolve() for path in self.files.values()}) < len(self.files):
            raise InputError(f"every file needs a name of its own; got {', '.join(map(str, self.files.values()))}.")
        make_folder(self.folder, map(_file_name, range(count)), self.overwrite)

    def write(self, planned: PlannedImages) -> None:
        """Decode, and keep what is done, whatever comes next."""
        done: dict[int, GeneratedImage] = {}
        drawing = ImageDrawing(planned, done, self.scale)
        with on_interrupt(lambda: f"{len(done)} of {len(planned.asked)} images are done and kept."):
            try:
                for i, image in planned.decode(
                    self.batch_size, trace=any(map(self.files.get, ENDINGS.keys() - {"out"}))
                ):
                    done[i] = image
                    if self.folder:
                        drawing.single(self.folder / _file_name(i), i)
                    if not sys.stdout.isatty():
                        self._write_line(i, planned.about(image))
            finally:
                if done:
                    self._draw(drawing)

    def _write_line(self, number: int, about: Plain) -> None:
        path = self.folder / _file_name(number) if self.folder else self.out
        line = {key: value for key, value in about.items() if key not in BULKY}
        sys.stdout.write(json_line({"number": number, "file": str(path), **line}, sys.stdout.encoding))
        sys.stdout.flush()

    def _draw(self, drawing: ImageDrawing) -> None:
        if sys.stdout.isatty():
            show_costs(drawing)
        for name, path in self.files.items():
            with busy(f"drawing {path}"):
                getattr(drawing, name)(path)
            say(f"{'picture' if name == 'out' else name} → {path}", err=True)
        if self.folder:
            say(f"{len(drawing.done)} of {len(drawing.planned.asked)} images → {self.folder}", err=True)


def check_ending(name: str, path: Path | None) -> None:
    """Refuse a file whose name says that it is of another kind."""
    if path and path.suffix.lower() != ENDINGS[name]:
        raise InputError(f"--{name} must name a file that ends in {ENDINGS[name]}; got {path}.")


def show_costs(drawing: ImageDrawing) -> None:
    """Print what each image cost, and what the columns mean."""
    table = plain_table()
    table.add_column("image", overflow="fold")
    for title in ("codes", "H̃", "forwards", "token-forwards"):
        table.add_column(title, justify="right", no_wrap=True)
    for i, image in sorted(drawing.done.items()):
        numbers = (image.committed, f"{image.cumulative_entropy:.2f}", image.forwards, image.token_forwards)
        table.add_row(literal(drawing.planned.asked[i].title or image.prompt), *map(str, numbers))
    Terminal().print(explained(table, {**COST_OF_A_TEXT, "codes": "written by the model"}))


def _file_name(number: int) -> str:
    return f"{number:04}.png"


FLAGS: Sequence[Flag] = [
    click.option(
        "--out",
        type=FILE,
        help="PNG file for the image, or for all images in a labelled grid; unset: the prompt's name, or none with "
        "--folder",
    ),
    click.option(
        "--folder", type=click.Path(file_okay=False, path_type=Path), help="folder for every image as a PNG of its own"
    ),
    click.option("--strip", type=FILE, help="PNG file for a strip of the unmasking, a row per image"),
    click.option("--gif", type=FILE, help="GIF file for the unmasking as an animation, heat where codes are masked"),
    click.option("--html", type=FILE, help="page that plays the unmasking in a browser"),
    click.option("--trace", type=FILE, help="JSON lines of every step of one image, for `infogain view`"),
    click.option(
        "--scale",
        type=click.IntRange(min=1),
        help="magnify images so many times; unset: a single image not at all, in grids, strips and animations to at "
        f"least {LEAST} pixels",
    ),
    click.option(
        "--batch-size",
        type=click.IntRange(min=1),
        help="images decoded together; unset: so many that they have 4,096 codes",
    ),
    OVERWRITE,
]
image_output_flags = gathered("output", ImageOutput, FLAGS)
