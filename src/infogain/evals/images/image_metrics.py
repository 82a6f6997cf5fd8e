"""FID, sFID and the Inception Score of images that come in batches, while they are generated too: one forward for all.

All three depend on how many images there are, which stands beside each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.evals.images.image_statistics import ImageStatistics, RunningMoments
from infogain.evals.images.inception import FEATURES, InceptionV3, resize
from infogain.evals.images.inception_weights import fingerprint_of
from infogain.images.pixels import to_bytes
from infogain.options import Plain
from infogain.report.numbers import grouped, number
from infogain.report.tables import Table

SPLITS = 10
SHUFFLED_BY = 2020  # torch-fidelity's seed
COLUMNS = {
    "n": "how many images there are; no number compares with one of another n",
    "FID": "Fréchet distance of Inception's last pool from the reference's",
    "sFID": "Fréchet distance of 7 channels at 17×17 positions from the reference's: where things are",
    "IS": "Inception Score: exp of the mean KL divergence of an image's classes from those of all; mean of the splits",
    "± splits": "standard deviation of the Inception Score over its splits",
}


class ImageMeter:
    """Gathers what the scores of a set of images are made of."""

    def __init__(self, inception: InceptionV3) -> None:
        self.inception = inception
        self.pool, self.spatial = RunningMoments(), RunningMoments()
        self.logits: list[Tensor] = []

    @property
    def n(self) -> int:
        """How many images came in."""
        return self.pool.count

    def add(self, images: Tensor | Sequence[Tensor]) -> None:
        """Take in images [C, H, W], a batch of them or several sizes in a list, in colour or grey.

        Bytes (uint8) are taken as they are. Floating-point values, from −1 to 1 as an image codec gives them, become
        the bytes that a file would hold: scores are those of the files.
        """
        pixels = torch.cat([self.resized(image) for image in images])
        found = self.inception.features(pixels)
        self.pool.add(found.pool)
        self.spatial.add(found.spatial)
        self.logits.append(found.logits.cpu())

    def resized(self, image: Tensor) -> Tensor:
        """One image [C, H, W] as [1, 3, 299, 299], its values from 0 to 255."""
        if image.dim() != 3 or image.shape[0] not in (1, 3) or not image.numel():
            raise InputError(f"an image must be [C, H, W] with 1 or 3 channels; got {list(image.shape)}.")
        if image.dtype != torch.uint8 and not image.is_floating_point():
            raise InputError(f"an image must be of uint8, 0 to 255, or of values from −1 to 1; got {image.dtype}.")
        values = to_bytes(image) if image.is_floating_point() else image
        return resize(values.to(self.inception.fc.weight).expand(3, -1, -1)[None])

    def statistics(self) -> ImageStatistics:
        """The moments of all images so far."""
        return ImageStatistics(self.pool.result(), self.spatial.result(), self.n, fingerprint_of(self.inception))

    def scores(self, name: str, reference: ImageStatistics | None = None, splits: int = SPLITS) -> ImageScores:
        """Everything that can be said of the images so far; distances where there is a reference."""
        ours = self.statistics()
        fid, sfid = distances(ours, reference) if reference else (None, None)
        mean, deviation = inception_score(torch.cat(self.logits), splits)
        notes = cautions(self.n, reference)
        return ImageScores(name, self.n, fid, sfid, mean, deviation, reference.n if reference else None, notes)


@dataclass(frozen=True)
class ImageScores:
    """The scores of one set of images."""

    name: str
    n: int
    fid: float | None
    sfid: float | None
    inception_score: float
    inception_deviation: float  # over splits
    reference_n: int | None
    notes: list[str] = field(default_factory=list)

    def plain(self) -> Plain:
        return dict(vars(self))


def distances(ours: ImageStatistics, reference: ImageStatistics) -> tuple[float, float | None]:
    """FID, and sFID where the reference has what it takes."""
    if None not in (ours.inception, reference.inception) and ours.inception != reference.inception:
        raise InputError(
            f"both sides must come from one Inception; the reference is of weights {reference.inception}, and these "
            f"images of {ours.inception}. Compute the reference with the same file."
        )
    spatial = ours.spatial.distance(reference.spatial) if ours.spatial and reference.spatial else None
    return ours.pool.distance(reference.pool), spatial


def inception_score(logits: Tensor, splits: int = SPLITS) -> tuple[float, float]:
    """Mean and standard deviation over splits of exp E KL(p(y|x) ‖ p(y)), of logits [N, classes].

    Images are put in torch-fidelity's order first, for folders are often sorted by class, and a split of one class
    would score 1. The number is torch-fidelity's to the last digits.
    """
    n = len(logits)
    if not 1 <= splits <= n:
        raise InputError(f"splits must be from 1 to the number of images; got {splits} for {n}. Ask for fewer splits.")
    order = np.random.RandomState(SHUFFLED_BY).permutation(n)
    log_p = logits.double()[torch.from_numpy(order).to(logits.device)].log_softmax(1)
    scores = []
    for i in range(splits):
        part = log_p[i * n // splits : (i + 1) * n // splits]
        mean = part.exp().mean(0).clamp(min=torch.finfo(part.dtype).tiny)  # p log p is 0 where p is
        scores.append((part.exp() * (part - mean.log())).sum(1).mean().exp())
    found = torch.stack(scores)
    return float(found.mean()), float(found.std(correction=0))


def cautions(n: int, reference: ImageStatistics | None) -> list[str]:
    """What must be said beside distances of so many images."""
    if reference is None:
        return []
    notes = [_singular("the images", n), _singular("the reference", reference.n) if reference.n else UNKNOWN_N]
    if reference.spatial is None:
        notes.append("the reference has no mu_s and sigma_s, as pytorch-fid's files have none: no sFID.")
    return [note for note in notes if note]


UNKNOWN_N = "the reference does not say how many images it is of."


def _singular(which: str, n: int) -> str:
    if n > FEATURES:
        return ""
    return (
        f"n = {n:,} of {which}: a covariance of {FEATURES:,} features needs more than {FEATURES:,} images, else it is "
        f"singular (here of rank {n - 1:,}) and the distance is far too large. It compares only with distances of "
        "the same n."
    )


def table_of_scores(scores: Sequence[ImageScores]) -> Table:
    """A row for each set of images; columns of distances where there is one."""
    cells = {
        "n": [grouped(one.n) for one in scores],
        "FID": [number(one.fid, 2) for one in scores],
        "sFID": [number(one.sfid, 2) for one in scores],
        "IS": [number(one.inception_score, 2) for one in scores],
        "± splits": [number(one.inception_deviation, 2) for one in scores],
    }
    known = {"FID": any(one.fid is not None for one in scores), "sFID": any(one.sfid is not None for one in scores)}
    shown = [name for name in cells if known.get(name, True)]
    rows = [[one.name, *(cells[name][i] for name in shown)] for i, one in enumerate(scores)]
    return Table(["name", *shown], rows, explained=COLUMNS)
