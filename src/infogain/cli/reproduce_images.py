"""`infogain reproduce table4`: images of MMaDA for GenEval's program, or of a model of the zoo for its classifier."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infogain.algorithm.noise import row_seeds
from infogain.cli.interrupt import resumable
from infogain.cli.model import IMAGE_DEFAULT, Source
from infogain.cli.output_files import check_record, make_folder
from infogain.cli.progress import watch
from infogain.cli.study import watch as watch_cells
from infogain.cli.table_output import print_and_write
from infogain.errors import InputError
from infogain.evals.fingerprint import fingerprint
from infogain.evals.images.geneval_images import GenEvalImage, find_prompts, missing, prepare
from infogain.evals.images.geneval_prompts import GenEvalPrompt
from infogain.evals.reproduced_images import (
    class_notes,
    class_row,
    class_table,
    folder_of,
    geneval_notes,
    geneval_row,
    geneval_table,
    heading,
)
from infogain.images.generate_images import decode_images, image_job, image_recipe, masks
from infogain.images.image_model import ImageModel, writes_images
from infogain.images.pixels import check_pillow
from infogain.load import find_checkpoint
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.report.paper import PaperTable
from infogain.studies.cell import IMAGES as KIND
from infogain.studies.cell import Cell, Point
from infogain.studies.run_cells import Workers, do, finished
from infogain.studies.run_cells import missing as missing_cells
from infogain.studies.store import Store
from infogain.studies.subject import Subject

CLASS_IMAGES, CLASS_SEEDS = 100, 3  # of a model of the zoo, where it is not said how many
LEAST = 20  # images of ten classes that have a spread
IN_FLIGHT = 4  # images of MMaDA that are decoded together
ABOUT = "about.json"  # in a folder of images: what made them


@dataclass(frozen=True)
class ImageTableFlags:
    """The flags of `reproduce` that a table of images takes."""

    beside: str | None
    data: Path | None
    runs: Path
    out: Path
    seeds: int | None
    limit: int | None
    batch_size: int | None
    codec: str | None
    overwrite: bool


def reproduce_images(table: PaperTable, source: Source, flags: ImageTableFlags) -> None:
    """Make Table 4 again with the model that the source names, or with the one that comes with the package."""
    if source.refresh is not None:
        raise InputError("--refresh is for texts, which are read block by block; table4 is of images. Drop it.")
    name = source.name or IMAGE_DEFAULT
    beside = table.compared_model(name, flags.beside)
    if writes_images(name):
        check_classes(table, source, flags)
        of_classes(table, Subject(name, source.device), beside, flags)
    else:
        of_prompts(table, source, beside, flags)


def check_classes(table: PaperTable, source: Source, flags: ImageTableFlags) -> None:
    """Refuse flags that have no effect on a model of the zoo."""
    given = {**vars(source), **{name: getattr(flags, name) for name in ("data", "batch_size", "codec")}}
    for name, value in given.items():
        if name not in ("name", "device") and value is not None:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} is for MMaDA; a model of the zoo that writes images takes none. Drop it.")
    if len(table.columns) < len(table.order):
        raise InputError(
            "GenEval's groups are for MMaDA; a model of the zoo has none. Name a sampler: --only info-gain."
        )
    if flags.limit is not None and flags.limit < LEAST:
        raise InputError(f"--limit must be at least {LEAST}, for two images of each class; got {flags.limit}.")


def of_classes(table: PaperTable, subject: Subject, beside: str | None, flags: ImageTableFlags) -> None:
    """Decode and score images of all classes, as cells that are kept in the folder of the runs."""
    images, seeds = flags.limit or CLASS_IMAGES, flags.seeds or CLASS_SEEDS
    check_record(flags.out / f"{table.name}.json", {"model": subject.described}, flags.overwrite)
    make_folder(flags.out, (), flags.overwrite)
    cells = [
        Cell("image", replace(row.recipe, guidance=0.0), images, tuple(range(seeds)), kind=KIND) for row in table.rows
    ]
    points = [Point({"row": row.name}, cell) for row, cell in zip(table.rows, cells, strict=True)]
    store = Store(flags.runs)
    todo = missing_cells(points, subject, store)
    kept = resumable(lambda: f"{len(store.cells)} finished rows in {store.path}")
    with kept, watch_cells(table.name, len(todo)) as report:
        do(todo, Workers(subject), store, report)
    rows = finished(points, subject, store)
    extent = {"images": images, "seeds": seeds}
    found = heading(table, subject.described, rows[0].numbers["provenance"], beside, extent)
    found["rows"] = [class_row(table, row, done.numbers, beside) for row, done in zip(table.rows, rows, strict=True)]
    print_and_write(found, class_table(found), class_notes(found), flags.out)


def of_prompts(table: PaperTable, source: Source, beside: str | None, flags: ImageTableFlags) -> None:
    """Write images of GenEval's prompts in the folders that its program reads, and tell what that said of them."""
    check_pillow()
    tags = {column.task for column in table.columns}
    prompts = [prompt for prompt in find_prompts(flags.data) if prompt.tag in tags][: flags.limit]
    samples = flags.seeds or table.seeds
    if not prompts:
        raise InputError(f"{flags.data} must hold prompts of {', '.join(sorted(tags))}; it holds none.")
    model = source.of_images(flags.codec).load()
    told = {"name": model.name, "fingerprint": fingerprint(find_checkpoint(model.name, model.revision))}
    described = {**told, "codec": model.codec}
    check_record(flags.out / f"{table.name}.json", {"model": described}, flags.overwrite)
    make_folder(flags.out, (), flags.overwrite)
    kept = [folder_of(flags.runs, row) for row in table.rows]
    with resumable(lambda: f"{sum(len([*folder.glob('*/samples/*.png')]) for folder in kept)} images in {flags.runs}"):
        for row, folder in zip(table.rows, kept, strict=True):
            recipe = image_recipe(model, row.recipe)
            begin(folder, {"model": described, "recipe": recipe.plain()}, prompts, flags.overwrite)
            write(model, recipe, missing(folder, prompts, samples), folder, flags.batch_size, row.name)
    found = heading(table, described, model.provenance, beside, {"prompts": len(prompts), "samples": samples})
    found["rows"] = [
        geneval_row(table, row, folder, prompts, samples, beside) for row, folder in zip(table.rows, kept, strict=True)
    ]
    print_and_write(found, geneval_table(found), geneval_notes(found), flags.out)


def begin(folder: Path, about: Plain, prompts: Sequence[GenEvalPrompt], overwrite: bool) -> None:
    """Prepare a folder of images; one that holds images of something else is refused, or emptied of them."""
    path = folder / ABOUT
    check_record(path, about, overwrite)
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != about:
        for image in folder.glob("*/samples/*.png"):
            image.unlink()
    prepare(folder, prompts)
    path.write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write(
    model: ImageModel, recipe: Recipe, images: Sequence[GenEvalImage], folder: Path, batch_size: int | None, title: str
) -> None:
    """Write images as soon as each is done. A seed depends on the numbers of prompt and sample alone."""
    if not images:
        return
    job = image_job(model, [image.prompt.prompt for image in images])
    seeds = [row_seeds(image.sample, 1, image.prompt.number)[0] for image in images]
    with watch(masks(job, model.denoiser.mask_id), title) as observe:
        for at, made in decode_images(model, job, recipe, seeds, batch_size or IN_FLIGHT, observe):
            path = images[at].path(folder)
            draft = path.with_suffix(".part")
            made.save(draft)
            draft.replace(path)
