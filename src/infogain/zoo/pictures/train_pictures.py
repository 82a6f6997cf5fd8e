"""`python -m infogain.zoo.pictures.train_pictures --out FOLDER`: train a model that writes pictures, and all it needs.

A classifier first, then the codec where pictures are too large to be written pixel by pixel, then the masked diffusion
model over the codes. One picture in ten is shown to it without its class, which guidance compares with. Run it again
with the same folder and it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.images.codec_weights import load_codec, save_codec
from infogain.images.generate_images import image_recipe
from infogain.images.grey_levels import Coder, GreyLevels
from infogain.images.image_model import CODEC, ImageModel, load_image_model
from infogain.images.image_tokens import ImageTokens
from infogain.models.families.spec import Spec
from infogain.options import Plain
from infogain.zoo.elbo import elbo_loss
from infogain.zoo.folder import save_model
from infogain.zoo.pictures.classifier import FILE as CLASSIFIER
from infogain.zoo.pictures.classifier import Classifier, train_classifier
from infogain.zoo.pictures.codec_training import SMALL_CODEC, train_codec
from infogain.zoo.pictures.picture_card import write_picture_card
from infogain.zoo.pictures.picture_scores import Reference, score_pictures
from infogain.zoo.pictures.picture_sets import DIGITS, FASHION, GREYS, PICTURE_SETS, PictureSet
from infogain.zoo.pictures.short_run import ShortRun
from infogain.zoo.pictures.written_pictures import PictureJudge, write_classes
from infogain.zoo.pool import Pool
from infogain.zoo.run_settings import RunSettings, setting
from infogain.zoo.train import STATE, how_trained, train
from infogain.zoo.trainer import Trainer

COPIES = 10  # of each picture in the pool, one of which is without its class
HELD_OUT = 20  # of all pictures, one in so many is kept for the validation loss
LEARNT = {  # what rows hold, by the set of pictures
    "fashion": ImageTokens(FASHION, SMALL_CODEC.codes, 8, 8, 1),
    "digits": ImageTokens(DIGITS, GREYS, 8, 8, 1),
}
CARD_STEPS = (64, 16, 5)


@dataclass(frozen=True)
class PictureSettings(RunSettings):
    """What a model that writes pictures learns, and how."""

    pictures: str = setting("fashion", f"the set of pictures: {', '.join(PICTURE_SETS)}")
    codec_minutes: float = setting(1.5, "of training, for the codec")
    classifier_minutes: float = setting(0.5, "of training, for the classifier")
    classifier_width: int = setting(24, "of the classifier's first layer")

    @property
    def shares(self) -> dict[str, float]:
        return {self.pictures: 1.0}

    @property
    def tokens(self) -> ImageTokens:
        return LEARNT[self.pictures]

    @property
    def spec(self) -> Spec:
        return self.spec_of(self.tokens.vocabulary.size, self.tokens.mask_id)


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_arguments(arguments)
    settings = PictureSettings(
        **{field.name: getattr(options, field.name) for field in dataclasses.fields(PictureSettings)}
    )
    if options.images < (least := 2 * len(settings.tokens.classes)):
        raise InputError(f"--images must be at least {least}, two of each class; got {options.images}.")
    out, device = Path(options.out), torch.device(options.device)
    out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    pictures = PICTURE_SETS[settings.pictures](Path(options.data) if options.data else None)
    pictures = dataclasses.replace(pictures, train=pictures.train.to(device), test=pictures.test.to(device))
    classifier, reference = classify(settings, pictures, out)
    coder = code(settings, pictures, out)
    loss = torch.compile(elbo_loss) if options.compile else elbo_loss
    trainer = Trainer(settings, {settings.pictures: pool(settings, pictures, coder)}, device, loss)
    if (out / STATE).exists():
        trainer.restore(out / STATE)
        print(f"going on at step {trainer.step}", flush=True)
    losses = train(trainer, {settings.pictures: held_out(settings, pictures, coder)}, out)
    save_model(out, trainer.averaged, settings.tokens, settings.tokens.columns)
    card = {"data": pictures.about, **how_trained(trainer), "validation_loss": losses[settings.pictures]}
    card["codec"] = score_codec(classifier, reference, pictures, coder)
    card["scores"] = score_model(load_image_model(out, device=device), classifier, reference, options.images)
    write_picture_card(out, card)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infogain.zoo.pictures.train_pictures",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--out", required=True, help="folder of the model, and of the state of an unfinished run")
    for field in dataclasses.fields(PictureSettings):
        flag, choices = "--" + field.name.replace("_", "-"), [*LEARNT] if field.name == "pictures" else None
        kind: Any = type(field.default)
        parser.add_argument(flag, type=kind, default=field.default, choices=choices, help=field.metadata["help"])
    parser.add_argument("--data", help="folder of Fashion-MNIST's four files; unset: where Debian's package has them")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    parser.add_argument("--images", type=int, default=10_000, help="images drawn for each score of the card")
    parser.add_argument("--compile", action="store_true", help="fuse kernels with torch.compile; takes a minute first")
    return parser.parse_args(arguments)


def classify(settings: PictureSettings, pictures: PictureSet, out: Path) -> tuple[Classifier, Reference]:
    """The classifier of a set, trained where the folder has none, and what it says of the test pictures."""
    device = pictures.train.pixels.device
    if not (out / CLASSIFIER).exists():
        run = ShortRun(settings.classifier_minutes, rate=2e-3, warm_up=1, seed=settings.seed)
        train_classifier(pictures.train, len(pictures.classes), settings.classifier_width, run).save(out)
    classifier = Classifier.load(out, device)  # as it was saved
    reference = Reference.of(classifier.read(pictures.test.pixels)[0], pictures.test.labels)
    reference.save(out)
    return classifier, reference


def code(settings: PictureSettings, pictures: PictureSet, out: Path) -> Coder:
    """What makes codes of pictures: grey levels, or a codec, trained where the folder has none."""
    if settings.pictures == "digits":
        return GreyLevels(settings.tokens.codes)
    pixels = pictures.train.pixels
    if not (out / CODEC).is_dir():
        run = ShortRun(settings.codec_minutes, rate=1.5e-3, seed=settings.seed)
        save_codec(out / CODEC, train_codec(SMALL_CODEC, pixels, run).half())
    return load_codec(out / CODEC, torch.float32, pixels.device)


def pool(settings: PictureSettings, pictures: PictureSet, coder: Coder) -> Pool:
    """Rows to learn from: each picture ten times, once of them without its class."""
    rows = coded(settings, pictures, coder, held_out=False)
    copies = rows.repeat(COPIES, 1, 1)  # [copy, picture, columns]
    picture = torch.arange(len(rows), device=rows.device)
    copies[picture % COPIES, picture, 0] = settings.tokens.no_class
    return all_but_the_class(copies.flatten(0, 1))


def held_out(settings: PictureSettings, pictures: PictureSet, coder: Coder) -> Pool:
    """Rows that are not learnt from, for the validation loss."""
    return all_but_the_class(coded(settings, pictures, coder, held_out=True))


def coded(settings: PictureSettings, pictures: PictureSet, coder: Coder, held_out: bool) -> Tensor:
    """The training pictures, or those of them that are held out, as rows of tokens."""
    number = torch.arange(len(pictures.train.labels), device=pictures.train.labels.device)
    own = (number % HELD_OUT == 0) == held_out
    pixels, labels = pictures.train.pixels[own], pictures.train.labels[own]
    return settings.tokens.rows(coder.encode(pixels), labels).to(torch.int16)


def all_but_the_class(rows: Tensor) -> Pool:
    holes = torch.ones_like(rows, dtype=torch.bool)
    holes[:, 0] = False
    return Pool(rows, holes)


def score_codec(classifier: Classifier, reference: Reference, pictures: PictureSet, coder: Coder) -> Plain:
    """What is lost between pictures and codes, before any model writes: scores of test pictures that were coded."""
    test, train = pictures.test, pictures.train
    codes = coder.encode(test.pixels)
    some = train.part(slice(0, len(test.labels)))
    scores = {
        "coded": score_pictures(classifier, reference, coder.decode(codes), test.labels).plain(),
        "training pictures": score_pictures(classifier, reference, some.pixels, some.labels).plain(),
        "test pictures": score_pictures(classifier, reference, test.pixels, test.labels).plain(),
        "codes in use": len(set(codes.flatten().tolist())),
    }
    print(scores, flush=True)
    return scores


def score_model(model: ImageModel, classifier: Classifier, reference: Reference, images: int) -> list[Plain]:
    """Scores of equally many images of each class, by the uniform sampler without guidance."""
    scores = []
    for steps in CARD_STEPS:
        began = time.perf_counter()
        recipe = image_recipe(model, None, {"steps": steps, "shape": "cosine"})
        found = PictureJudge(classifier, reference).score(write_classes(model, images, recipe))
        scores.append({"sampler": "uniform", "steps": steps, **found.plain()})
        print(scores[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    return scores


if __name__ == "__main__":
    main()
