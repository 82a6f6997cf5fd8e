"""A tiny model that writes pictures of classes, with random weights, and a classifier that looks at them."""

from __future__ import annotations

from pathlib import Path

import torch

from infogain.images.image_tokens import ImageTokens
from infogain.zoo.pictures.classifier import Classifier
from infogain.zoo.pictures.picture_scores import Reference
from tests.image_models import write_classes

TOKENS = ImageTokens(("coat", "bag", "shirt"), codes=5, height=8, width=8, channels=1)


def write_judged_classes(folder: Path) -> Path:
    """A folder as the zoo's: a model whose codes are grey levels, a classifier, and moments of its test pictures."""
    write_classes(folder, TOKENS)
    torch.manual_seed(0)
    classifier = Classifier(4, len(TOKENS.classes))
    classifier.save(folder)
    generator = torch.Generator().manual_seed(0)
    pixels, labels = torch.rand(60, 1, 8, 8, generator=generator) * 2 - 1, torch.arange(60) % 3
    Reference.of(Classifier.load(folder).read(pixels)[0], labels).save(folder)
    return folder
