"""How good pictures of a model of the zoo are, in the eyes of its classifier: how near to the data, how varied."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from infogain.images.frechet import frechet, moments
from infogain.options import Plain
from infogain.zoo.pictures.classifier import Classifier

REFERENCE = "reference.safetensors"


@dataclass(frozen=True)
class PictureScores:
    """Numbers of n pictures. Fréchet distances depend on n: compare those of equal n."""

    n: int
    frechet: float  # distance of their features from those of the test pictures, both taken for Gaussians
    accuracy: float  # share that the classifier takes for what was asked for
    # how far features of pictures asked to be of one class lie apart, over the same of the test pictures: 1 is as
    # varied. A picture of a wrong class counts as variety, so read it beside the accuracy
    spread: float
    distinct: float  # share of different pictures among all

    def plain(self) -> Plain:
        return asdict(self)


@dataclass(frozen=True)
class Reference:
    """What is kept of the test pictures, since they themselves do not come with the package."""

    mean: Tensor  # [64]
    covariance: Tensor  # [64, 64]
    spread: Tensor  # [] mean over the classes of the summed variances of features

    @classmethod
    def of(cls, features: Tensor, labels: Tensor) -> Reference:
        return cls(*moments(features), within_classes(features, labels))

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        save_file({name: x.float().cpu().contiguous() for name, x in vars(self).items()}, folder / REFERENCE)

    @classmethod
    def load(cls, folder: Path) -> Reference:
        from safetensors.torch import load_file

        return cls(**load_file(folder / REFERENCE))


def within_classes(features: Tensor, labels: Tensor) -> Tensor:
    """The mean over the classes of the summed variances of their features."""
    parts = [features[labels == label].double() for label in set(labels.tolist())]
    return torch.stack([part.var(0).sum() for part in parts if len(part) > 1]).mean()


def score_pictures(classifier: Classifier, reference: Reference, pixels: Tensor, labels: Tensor) -> PictureScores:
    """Scores of pictures [N, 1, H, W] that were asked to be of these classes [N]."""
    features, found = classifier.read(pixels)
    distance = frechet(*moments(features), reference.mean, reference.covariance)
    grey = ((pixels.clamp(-1, 1) + 1) * 127.5).round()  # as a file has it: the last digits depend on the batch
    spread = (within_classes(features, labels).cpu() / reference.spread.cpu()).sqrt()
    return PictureScores(
        n=len(pixels),
        frechet=distance,
        accuracy=float((found == labels).double().mean()),
        spread=float(spread),
        distinct=len(torch.unique(grey.flatten(1), dim=0)) / len(pixels),
    )
