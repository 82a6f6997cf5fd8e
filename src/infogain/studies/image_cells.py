"""Images of a cell: equally many of each class from every seed, scored at once by the zoo's classifier.

A Fréchet distance is a number of all images of a seed. So intervals go over seeds: of a bootstrap over images it would
be too large, for images that are drawn twice make them look less varied.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import compress, decompress

import torch
from torch import Tensor

from infogain.evals.means import mean
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.studies.cell import Cell
from infogain.studies.cell_observer import CellObserver
from infogain.studies.independent import over_seeds
from infogain.studies.subject import Subject
from infogain.zoo.pictures.written_pictures import WrittenPictures, classes_of, write_classes

COLUMNS = {"cuda": 260_000, "cpu": 20_000}  # in one forward: of all candidates, and of rows without their class
OF_ONE_CLASS = 8  # pictures that are kept of one class, to see how much they differ
SHOWN_CLASS = 6  # its number: shirts, which are the hardest to tell from others


class KeptPictures(NamedTuple):
    """Pictures of a cell: one of each class, then some of one class. [N, H, W] of bytes"""

    by_class: Tensor
    alike: Tensor


def image_scores(subject: Subject, cell: Cell) -> Plain:
    """Scores and costs of each seed, their means with intervals over seeds, and what an observer of the first tells."""
    model, judge = subject.images, subject.picture_judge
    observer = CellObserver(cell.recipe, cell.keep)
    rows = max(1, COLUMNS[subject.device.type] // columns_per_image(cell.recipe, 1 + cells_of(subject)))
    found, pictures = list[Plain](), dict[str, str]()
    for number, seed in enumerate(cell.seeds):
        observe = observer.observer if number == 0 else None
        written = write_classes(model, cell.problems, replace(cell.recipe, seed=seed), rows, observe)
        scores = {**judge.score(written).plain(), **costs(written)}
        found.append({name: value for name, value in scores.items() if name != "n"})
        if number == 0 and "pictures" in cell.keep:
            pictures = {"pictures": pack_pictures(written, len(classes_of(model)))}
    return {**joined(found), **observer.read(), **pictures}


def cells_of(subject: Subject) -> int:
    """How many codes an image of the model has."""
    height, width = (side // subject.images.coder.stride for side in subject.images.size)
    return height * width


def columns_per_image(recipe: Recipe, columns: int) -> int:
    """Columns of a forward for each image: of all its candidates, and without its class where that is compared."""
    traits = recipe.sampler.traits
    return columns * traits.candidates * traits.copies * (2 if recipe.guidance else 1)


def costs(pictures: WrittenPictures) -> Plain:
    """Mean H̃ and token-forwards of an image."""
    written = pictures.written
    return {
        "entropy": float(written.entropy.double().mean()),
        "token_forwards": float(written.token_forwards.double().mean()),
    }


def joined(found: Sequence[Plain]) -> Plain:
    """Each number's mean over seeds with its interval, and its value for each of them."""
    by_seed = {name: [float(one[name]) for one in found] for name in found[0]}
    return {**{name: mean(values) for name, values in by_seed.items()}, **over_seeds(by_seed), "by_seed": by_seed}


def pack_pictures(pictures: WrittenPictures, classes: int) -> str:
    """The first picture of each class and some of one class, as text."""
    alike = [SHOWN_CLASS % classes + classes * i for i in range(OF_ONE_CLASS)]
    chosen = [number for number in (*range(classes), *alike) if number < len(pictures.pixels)]
    some = pictures.pixels[torch.tensor(chosen, device=pictures.pixels.device), 0].float().cpu()
    levels = ((some.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    head = bytes([classes, *levels.shape])
    return b64encode(compress(head + bytes(levels.flatten().tolist()), 9)).decode()


def unpack_pictures(packed: str) -> KeptPictures:
    """What `pack_pictures` was given."""
    content = bytearray(decompress(b64decode(packed)))
    classes, *shape = content[:4]
    levels = torch.frombuffer(content, dtype=torch.uint8, offset=4).view(shape)
    return KeptPictures(levels[:classes], levels[classes:])
