"""Pictures of all classes, equally many of each, as a model of the zoo writes them; and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.images.image_model import ImageModel
from infogain.images.image_tokens import ImageTokens
from infogain.images.many_images import ManyImages, write_many
from infogain.loop.batch import Observer
from infogain.recipe import Recipe
from infogain.zoo.pictures.classifier import Classifier
from infogain.zoo.pictures.picture_scores import PictureScores, Reference, score_pictures


@dataclass(frozen=True)
class WrittenPictures:
    """Pictures, the class that each was asked to be of, and what they cost."""

    pixels: Tensor  # [N, C, H, W], about −1 to 1
    labels: Tensor  # [N]
    written: ManyImages


@dataclass(frozen=True)
class PictureJudge:
    """The classifier of a model's folder, and what it says of the test pictures."""

    classifier: Classifier
    reference: Reference

    @classmethod
    def load(cls, folder: Path, device: torch.device) -> PictureJudge:
        return cls(Classifier.load(folder, device), Reference.load(folder))

    def score(self, pictures: WrittenPictures) -> PictureScores:
        return score_pictures(self.classifier, self.reference, pictures.pixels, pictures.labels)


def write_classes(
    model: ImageModel, images: int, recipe: Recipe, rows: int | None = None, observe: Observer | None = None
) -> WrittenPictures:
    """So many images, whose classes take turns; `rows` of them are decoded at a time."""
    classes = classes_of(model)
    prompts = [classes[i % len(classes)] for i in range(images)]
    written = write_many(model, prompts, recipe, rows, observe)
    labels = torch.arange(images, device=written.codes.device) % len(classes)
    return WrittenPictures(model.coder.decode(written.codes), labels, written)


def classes_of(model: ImageModel) -> tuple[str, ...]:
    tokens = getattr(model.layout, "tokens", None)
    if not isinstance(tokens, ImageTokens):
        raise InputError(f"scores by classes need a model of the zoo; {model.name} has no classes.")
    return tokens.classes
